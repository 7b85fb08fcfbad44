// From the text that users know an object by to the 64-bit id that everything else uses.
// Called by the trace readers, the clients, and the server where it checks PutNames.
#pragma once

#include <string_view>

#include "starling/knn/words/types.hpp"

namespace starling::protocol {

/// True when the text is decimal digits alone and their number fits 64 bits: its id is the number.
bool is_decimal_id(std::string_view text);

/// The number of decimal text, the XXH64 (seed 0) of any other. Leading zeros don't count: "007"
/// and "7" are one object. Two texts may share a hash; only PutNames notices.
ObjectId id_of_text(std::string_view text);

}  // namespace starling::protocol
