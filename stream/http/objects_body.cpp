// SPDX-License-Identifier: Apache-2.0
// Reads posted objects, and names the object and the field at fault: see objects_body.hpp.
#include "starling/stream/http/objects_body.hpp"

#include <algorithm>
#include <utility>

#include "starling/protocol/wire/check.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/json/bad_request.hpp"

namespace starling::stream {

namespace {

std::vector<std::string_view> fields_of(Space space) {
  std::vector<std::string_view> fields{"id", "time", "tags", "name"};
  const auto place = place_names(space);
  fields.insert(fields.begin() + 1, place.begin(), place.end());
  if (space == Space::vector) fields.insert(fields.end(), {"label", "value"});
  return fields;
}

/// Returns the text whose hash is the object's id; empty: the id was given as a number.
std::string_view name_of(const JsonFields& fields, std::string_view id_text, ObjectId id) {
  const bool is_text = !protocol::is_decimal_id(id_text);
  if (!fields.has("name")) return is_text ? id_text : std::string_view();
  const std::string_view name = fields.text("name");
  if (protocol::id_of_text(name) != id)
    fields.refuse("name",
                  "must be the text whose id this is; leave it out if the id is that text already");
  return protocol::is_decimal_id(name) ? std::string_view() : name;
}

void read_targets(const JsonFields& fields, PostedObject& object) {
  if (fields.has("label")) {
    object.label = fields.is_null("label") ? no_label : fields.int64("label");
    if (*object.label == no_label && !fields.is_null("label"))
      fields.refuse("label", "must be greater than -2^63; null removes the label");
  }
  if (fields.has("value"))
    object.value = fields.is_null("value") ? no_value : fields.number("value");
}

PostedObject read_object(const JsonElement& element, std::span<const std::string_view> known,
                         std::size_t index, const protocol::Limits& limits) {
  const std::string what = "Object " + std::to_string(index);
  const JsonFields fields(element, known, what);
  PostedObject object;
  const std::string_view id_text = fields.text("id");
  object.id = read_object_id(what + ": id", id_text, limits);
  if (limits.space == Space::vector) {
    object.vector = fields.components("vector", limits.dimension);
    read_targets(fields, object);
  } else {
    object.position = read_position(fields, limits.space);
  }
  if (fields.has("time")) object.time_us = fields.time_us("time");
  if (fields.has("tags")) object.tags = fields.uint32("tags");
  object.name = name_of(fields, id_text, object.id);
  if (!object.name.empty()) read_object_id(what + ": name", object.name, limits);
  return object;
}

class ObjectsReader {
 public:
  explicit ObjectsReader(const protocol::Limits& limits)
      : limits_(limits), known_(fields_of(limits.space)) {}

  void add(const JsonElement& element) {
    if (objects_.size() >= limits_.credit_rows)
      throw BadRequest{"The body has more objects than credit-rows (" +
                           std::to_string(limits_.credit_rows) +
                           ") allows; send it in several requests.",
                       413};
    objects_.push_back(read_object(element, known_, objects_.size(), limits_));
  }

  std::vector<PostedObject> take() {
    if (objects_.empty()) throw BadRequest{"The body has no object; send at least one."};
    return std::move(objects_);
  }

 private:
  const protocol::Limits& limits_;
  std::vector<std::string_view> known_;
  std::vector<PostedObject> objects_;
};

}  // namespace

std::vector<PostedObject> read_objects(std::string_view body, bool is_lines,
                                       const protocol::Limits& limits) {
  ObjectsReader objects(limits);
  JsonReader reader;
  if (!is_lines) {
    const JsonElement root = reader.parse(body);
    simdjson::dom::array array;
    if (root.get(array)) {
      objects.add(root);
    } else {
      for (const JsonElement element : array) objects.add(element);
    }
    return objects.take();
  }
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) objects.add(reader.parse(line));
  }
  return objects.take();
}

ObjectId read_object_id(std::string_view what, std::string_view text,
                        const protocol::Limits& limits) {
  if (const auto problem =
          protocol::check_text(what, text, {"text-bytes-max", limits.text_bytes_max}))
    throw BadRequest{problem->sentence};
  return protocol::id_of_text(text);
}

std::vector<std::string_view> coordinate_names(Space space) {
  switch (space) {
    case Space::planar2:
      return {"x", "y"};
    case Space::planar3:
      return {"x", "y", "z"};
    case Space::wgs84:
      return {"lon", "lat", "alt"};
    case Space::vector:
      break;
  }
  return {};
}

std::vector<std::string_view> place_names(Space space) {
  if (space == Space::vector) return {"vector"};
  return coordinate_names(space);
}

std::string_view distance_max_name(Space space) {
  return space == Space::vector ? "distance_max" : "distance_max_m";
}

}  // namespace starling::stream
