// SPDX-License-Identifier: Apache-2.0
// Writes the lists of the wire as JSON. The answers and events of a stream are made with these
// functions, so they have the same content as the wire's messages.
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
  std::vector<std::string_view> coordinates;  ///< names of axes, in the order of Position
  /// Returns the name of an object; empty: the object has no name. Any thread may call it.
  std::function<std::string_view(ObjectId)> name_of;
};

/// Appends the list at `index` as a JSON object.
void append_list(JsonText& json, const protocol::ListChunk& lists, std::size_t index,
                 const ListForm& form);
/// Appends the removed list at `index` as a JSON object of its query and, if any, its subject.
void append_removed(JsonText& json, const protocol::ListChunk& lists, std::size_t index);

}  // namespace starling::stream
