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
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/json/json_reader.hpp"

namespace starling::stream {

struct PostedObject {
  ObjectId id{};
  Position position{};
  std::vector<float> vector{};  ///< components; only in a vector space
  std::optional<std::int64_t> time_us{};
  std::optional<std::uint32_t> tags{};
  std::optional<Label> label{};   ///< no_label removes the label
  std::optional<double> value{};  ///< no_value removes the value
  std::string name{};             ///< the text whose hash is `id`; empty: there is none
};

/// Reads a body. Throws BadRequest if anything in it cannot be used; the sentence names the object
/// by its index in the body, from 0.
std::vector<PostedObject> read_objects(std::string_view body, bool is_lines,
                                       const protocol::Limits& limits);

/// Returns the object id of a text. Throws BadRequest, with `what` as the subject of its sentence,
/// if the text is empty, too long or has a NUL.
ObjectId read_object_id(std::string_view what, std::string_view text,
                        const protocol::Limits& limits);

/// Returns the names of the coordinates in the space, in the order of Position. In wgs84, a request
/// may leave the last coordinate out. A vector space has no coordinates.
std::vector<std::string_view> coordinate_names(Space space);

/// Returns the names of the fields for the place of an object or an anchor: the coordinates, or
/// "vector".
std::vector<std::string_view> place_names(Space space);

/// Returns the name of the field for the greatest distance. Distances between vectors have no unit.
std::string_view distance_max_name(Space space);

/// Returns the coordinates that `fields` has. Throws BadRequest if one is missing. Fields is
/// JsonFields, or a class with the same functions. Do not call it in a vector space.
template <class Fields>
Position read_position(const Fields& fields, Space space) {
  const auto names = coordinate_names(space);
  const bool has_last = space == Space::planar3 || (space == Space::wgs84 && fields.has(names[2]));
  return {fields.number(names[0]), fields.number(names[1]), has_last ? fields.number(names[2]) : 0};
}

/// Reads "vote" and "regress", which queries and questions may have in a vector space.
template <class Fields>
void read_predictions(const Fields& fields, protocol::QuerySpec& query) {
  if (fields.has("vote")) query.vote = fields.boolean("vote");
  if (!fields.has("regress")) return;
  const auto weights = fields.text("regress");
  if (weights == "uniform")
    query.regress = RegressionWeights::uniform;
  else if (weights == "distance")
    query.regress = RegressionWeights::distance;
  else
    fields.refuse("regress", "must be \"uniform\" or \"distance\"");
}

}  // namespace starling::stream
