// SPDX-License-Identifier: Apache-2.0
// Writes the lists of the wire as JSON. The answers and events of a stream are made with these
// functions, so they carry what the wire's messages carry.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "starling/knn/base/json_text.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/list_chunk.hpp"

namespace starling::stream {

/// What the lists of one server have in common.
struct ListForm {
  std::vector<std::string_view> coordinates;  ///< their names, in the order of Position
  /// Returns the name of an object; empty: it has none. Any thread may call it.
  std::function<std::string_view(ObjectId)> name_of;
};

/// Appends the list of this index as an object.
void append_list(JsonText& json, const protocol::ListChunk& lists, std::size_t index,
                 const ListForm& form);
/// Appends the query, and if it has one the subject, of a removed list as an object.
void append_removed(JsonText& json, const protocol::ListChunk& lists, std::size_t index);

}  // namespace starling::stream
