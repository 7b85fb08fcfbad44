// SPDX-License-Identifier: Apache-2.0
// Converts the text by which users know an object to the 64-bit id that everything else uses.
// Called by the trace readers, the clients, and the server where it checks PutNames.
#pragma once

#include <string_view>

#include "starling/knn/words/types.hpp"

namespace starling::protocol {

/// True if the text is a decimal number that fits in 64 bits. The text's id is then that number.
bool is_decimal_id(std::string_view text);

/// The number of a decimal text, or the XXH64 (seed 0) of any other text. Leading zeros do not
/// count: "007" and "7" are the same object. Two texts may have the same hash; only PutNames
/// detects this.
ObjectId id_of_text(std::string_view text);

}  // namespace starling::protocol
