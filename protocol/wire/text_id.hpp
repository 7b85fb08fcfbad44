// SPDX-License-Identifier: Apache-2.0
// Converts the text by which users know an object to the 64-bit id that everything else uses. The
// trace readers, `starling subscribe` and the server's check of PutNames call these functions.
#pragma once

#include <string_view>

#include "starling/knn/words/types.hpp"

namespace starling::protocol {

/// Returns true if the text is a decimal number that fits in 64 bits. The text's id is then that
/// number.
bool is_decimal_id(std::string_view text);

/// Returns the number of a decimal text, or the XXH64 hash (seed 0) of any other text. Leading
/// zeros do not count: "007" and "7" are the same object. Two texts may have the same hash; only
/// PutNames detects this.
ObjectId id_of_text(std::string_view text);

}  // namespace starling::protocol
