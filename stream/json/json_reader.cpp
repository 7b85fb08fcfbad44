// SPDX-License-Identifier: Apache-2.0
// Parses JSON of limited depth, and names the field at fault: see json_reader.hpp.
#include "starling/stream/json/json_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "starling/knn/base/assert.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

constexpr std::size_t depth_max = 8;  // no body needs more than 4

std::string sentence_of(simdjson::error_code error) {
  if (error == simdjson::DEPTH_ERROR)
    return "The body is nested deeper than " + std::to_string(depth_max) +
           " levels; no request needs that.";
  if (error == simdjson::UTF8_ERROR) return "The body is not UTF-8.";
  if (error == simdjson::EMPTY) return "The body is empty; send JSON.";
  return std::string("The body is not valid JSON: ") + simdjson::error_message(error) + ".";
}

}  // namespace

JsonElement JsonReader::parse(std::string_view text) {
  padded_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded_.assign(text);
  auto error = simdjson::SUCCESS;
  if (parser_.capacity() < text.size() || parser_.max_depth() != depth_max)
    error = parser_.allocate(std::max<std::size_t>(text.size(), 1024), depth_max);
  JsonElement element;
  if (!error) error = parser_.parse(padded_.data(), padded_.size(), false).get(element);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error) throw BadRequest{sentence_of(error)};
  return element;
}

JsonElement JsonReader::parse_short(std::string_view text, std::uint32_t dimension) {
  constexpr std::size_t component_bytes = 32;
  const std::size_t bytes_max = 16384 + dimension * component_bytes;
  if (text.size() <= bytes_max) return parse(text);
  throw BadRequest{"The body of a stream, a query or a question has at most " +
                       std::to_string(bytes_max) + " bytes.",
                   413};
}

JsonFields::JsonFields(const JsonElement& element, std::span<const std::string_view> known,
                       std::string_view what)
    : known_(known), what_(what) {
  check_invariant(known.size() <= fields_max, "JsonFields has room for all known fields");
  JsonObject object;
  if (element.get(object)) throw BadRequest{std::string(what) + " must be a JSON object."};
  for (const auto& [name, value] : object) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      std::string list;
      for (const std::string_view each : known) list.append(list.empty() ? "" : ", ").append(each);
      throw BadRequest{std::string(what) + " has the unknown field \"" + std::string(name) +
                       "\"; its fields may be " + list + "."};
    }
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (given_[index]) refuse(name, "is given twice; give it once");
    given_[index] = true;
    elements_[index] = value;
  }
}

double JsonFields::number(std::string_view name) const {
  double value = 0;
  if (at(name, "must be a number").get(value)) refuse(name, "must be a number");
  return value;
}

std::uint32_t JsonFields::uint32(std::string_view name) const {
  constexpr std::string_view is = "must be a whole number from 0 to 4294967295";
  std::uint64_t value = 0;
  if (at(name, is).get(value) || value > std::numeric_limits<std::uint32_t>::max())
    refuse(name, is);
  return static_cast<std::uint32_t>(value);
}

std::string_view JsonFields::text(std::string_view name) const {
  std::string_view value;
  if (at(name, "must be a string").get(value)) refuse(name, "must be a string");
  return value;
}

bool JsonFields::boolean(std::string_view name) const {
  bool value = false;
  if (at(name, "must be true or false").get(value)) refuse(name, "must be true or false");
  return value;
}

std::int64_t JsonFields::time_us(std::string_view name) const {
  constexpr std::string_view is =
      "must be an ISO 8601 time with a zone, such as \"2026-03-01T12:00:00Z\", or whole "
      "microseconds since 1970";
  const JsonElement& element = at(name, is);
  std::int64_t number = 0;
  if (!element.get(number)) return number;
  std::string_view text;
  if (element.get(text)) refuse(name, is);
  const auto time_us = parse_iso_time_us(text);
  if (!time_us) refuse(name, is);
  return *time_us;
}

std::int64_t JsonFields::duration_us(std::string_view name) const {
  constexpr std::string_view is = "must be a duration such as \"30s\", or whole microseconds";
  const JsonElement& element = at(name, is);
  std::int64_t number = 0;
  if (!element.get(number)) return number;
  std::string_view text;
  if (element.get(text)) refuse(name, is);
  const auto duration_us = parse_duration_us(text);
  if (!duration_us) refuse(name, is);
  return *duration_us;
}

simdjson::dom::array JsonFields::array(std::string_view name) const {
  simdjson::dom::array value;
  if (at(name, "must be an array").get(value)) refuse(name, "must be an array");
  return value;
}

std::int64_t JsonFields::int64(std::string_view name) const {
  constexpr std::string_view is = "must be a whole number within 64 bits";
  std::int64_t value = 0;
  if (at(name, is).get(value)) refuse(name, is);
  return value;
}

std::vector<float> JsonFields::components(std::string_view name, std::uint32_t dimension) const {
  const simdjson::dom::array numbers = array(name);
  std::vector<float> components;
  components.reserve(dimension);
  for (const JsonElement element : numbers) {
    double number = 0;
    const auto component = element.get(number) ? std::optional<float>() : to_component(number);
    if (!component)
      refuse(name, "component " + std::to_string(components.size()) +
                       " (from 0) must be a number within the range of float32");
    components.push_back(*component);
    if (components.size() > dimension) break;
  }
  if (components.size() != dimension)
    refuse(name, "must have " + std::to_string(dimension) + " components, not " +
                     (components.size() > dimension ? "more" : std::to_string(components.size())));
  return components;
}

bool JsonFields::is_null(std::string_view name) const {
  const JsonElement* element = find(name);
  return element != nullptr && element->is_null();
}

void JsonFields::refuse(std::string_view name, std::string_view is) const {
  throw BadRequest{std::string(what_) + ": " + std::string(name) + " " + std::string(is) + "."};
}

const JsonElement* JsonFields::find(std::string_view name) const {
  const auto found = std::ranges::find(known_, name);
  check_invariant(found != known_.end(), "only known fields are read");
  const auto index = static_cast<std::size_t>(found - known_.begin());
  return given_[index] ? &elements_[index] : nullptr;
}

const JsonElement& JsonFields::at(std::string_view name, std::string_view is) const {
  const JsonElement* element = find(name);
  if (element == nullptr) refuse(name, std::string("is missing; it ") + std::string(is));
  return *element;
}

}  // namespace starling::stream
