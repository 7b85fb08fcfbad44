// SPDX-License-Identifier: Apache-2.0
// Reads JSON bodies with simdjson, which converts numbers exactly and checks UTF-8. Code that reads
// an object lists the fields that it knows. Other fields are refused by their names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace starling::stream {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

class JsonReader {
 public:
  /// Parses `text`. Throws BadRequest if it is not JSON, or nested deeper than any body needs. The
  /// element is valid until the next call.
  JsonElement parse(std::string_view text);
  /// Parses the body of one stream, query or question, which the loop itself reads. Throws
  /// BadRequest, with status 413, if the body is longer than 16 KiB plus 32 bytes for each
  /// component of a vector.
  JsonElement parse_short(std::string_view text, std::uint32_t dimension);

 private:
  simdjson::dom::parser parser_;
  std::string padded_;
};

/// The fields of an object. `what` is the object's name in sentences, such as "Object 3".
class JsonFields {
 public:
  /// Throws BadRequest if `element` is no object, has a field that is not in `known`, or has a
  /// field twice. `known` and `what` must outlive this object.
  JsonFields(const JsonElement& element, std::span<const std::string_view> known,
             std::string_view what);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// All functions from number() to components() throw BadRequest if the field is absent or of
  /// another type.
  double number(std::string_view name) const;
  std::uint32_t uint32(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  bool boolean(std::string_view name) const;
  /// A time: ISO 8601 text with a zone, or whole microseconds since the epoch.
  std::int64_t time_us(std::string_view name) const;
  /// A duration: text such as "30s", or whole microseconds.
  std::int64_t duration_us(std::string_view name) const;
  simdjson::dom::array array(std::string_view name) const;
  std::int64_t int64(std::string_view name) const;
  /// A vector, as an array of `dimension` numbers. They are rounded to float32.
  std::vector<float> components(std::string_view name, std::uint32_t dimension) const;
  bool is_null(std::string_view name) const;

  /// Throws BadRequest with a sentence about `name`. `is` is the end of the sentence, for example
  /// "must be a string".
  [[noreturn]] void refuse(std::string_view name, std::string_view is) const;

 private:
  const JsonElement* find(std::string_view name) const;
  const JsonElement& at(std::string_view name, std::string_view is) const;

  static constexpr std::size_t fields_max = 16;
  std::span<const std::string_view> known_;
  std::string_view what_;
  JsonElement elements_[fields_max];  ///< values in the order of known_
  bool given_[fields_max] = {};
};

}  // namespace starling::stream
