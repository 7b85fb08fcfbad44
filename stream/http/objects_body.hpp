// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/objects: one object, an array of objects, or one object a line (NDJSON). Any
// thread may read a body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/http/json_reader.hpp"

namespace starling::stream {

struct PostedObject {
  ObjectId id{};
  Position position{};
  std::optional<std::int64_t> time_us{};
  std::optional<std::uint32_t> tags{};
  std::string name{};  ///< the text of which `id` is the hash; empty: none
};

/// Reads a body. Throws BadRequest if anything in it cannot be used; the sentence names the object
/// by its index in the body, from 0. `limits.space` must have positions.
std::vector<PostedObject> read_objects(std::string_view body, bool is_lines,
                                       const protocol::Limits& limits);

/// Returns the object id of a text. Throws BadRequest, with `what` as the subject of its sentence,
/// if the text is empty, too long or has a NUL.
ObjectId read_object_id(std::string_view what, std::string_view text,
                        const protocol::Limits& limits);

/// Returns the names of the coordinates in the space, in the order of Position. The last may be
/// left out in wgs84.
std::vector<std::string_view> coordinate_names(Space space);

/// Returns the coordinates that `fields` has. Throws BadRequest if one is missing.
Position read_position(const JsonFields& fields, Space space);

}  // namespace starling::stream
