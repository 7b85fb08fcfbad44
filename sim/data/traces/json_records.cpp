// SPDX-License-Identifier: Apache-2.0
// Reads one JSON array, or JSON lines, of flat objects or of GeoJSON's features: see
// record_readers.hpp. ArrayReader splits the array into elements, so that a file of any length
// needs little memory. simdjson parses each element. Numbers are passed on as text, so that no
// digit is lost.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "starling/sim/data/files/byte_reader.hpp"
#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/traces/common_headers.hpp"
#include "starling/sim/data/traces/record_readers.hpp"

namespace starling::sim {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t record_bytes_max = 1 << 20;

bool is_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/// Splits a JSON array, or JSON lines, into the texts of the elements.
class ArrayReader {
 public:
  explicit ArrayReader(TextInput& input) : bytes_(input) {}

  /// Skips to the array that is the member `key` of the top-level object.
  void enter_member(std::string_view key) {
    is_member_ = true;
    std::string last;  // the last string read, which is the key before a ':'
    for (int depth = 0;; bytes_.take()) {
      const int byte = bytes_.peek();
      if (byte == ByteReader::end_of_file) fail("it has no member \"" + std::string(key) + "\"");
      if (byte == '{' || byte == '[') ++depth;
      if (byte == '}' || byte == ']') --depth;
      if (byte == ':' && depth == 1 && last == key) break;
      if (byte == '"') read_string(last);
    }
    bytes_.take();
    skip_spaces();
  }

  /// Return the place in the file where the element of the last next() begins.
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

  /// Fills `element` with the text of the next element and returns true, or returns false at the
  /// end of the array. `element` has spare capacity, because simdjson reads beyond the end of the
  /// text.
  bool next(std::string& element) {
    skip_spaces();
    const bool first = !std::exchange(begun_, true);
    if (first) {
      const int byte = bytes_.peek();
      has_lines_ = byte == '{' && !is_member_;
      if (byte != '[' && !has_lines_) fail("it does not begin with [ or {");
      if (byte == '[') bytes_.take();
      skip_spaces();
    }
    if (has_lines_) {
      if (bytes_.peek() == ByteReader::end_of_file) return false;
      if (bytes_.peek() != '{') fail("an object is needed here");
      read_element(element);
      return true;
    }
    if (bytes_.peek() == ']') {
      bytes_.take();
      if (is_member_) leave_object();
      skip_spaces();
      if (bytes_.peek() != ByteReader::end_of_file) fail("there is text after its end");
      return false;
    }
    if (!first) {
      if (bytes_.peek() != ',') fail("a comma or ] is needed here");
      bytes_.take();
      skip_spaces();
    }
    read_element(element);
    return true;
  }

  [[noreturn]] void fail(const std::string& sentence) const {
    throw InputError(bytes_.path(), bytes_.line(), bytes_.column(),
                     "the JSON is damaged or not an array of records: " + sentence);
  }

 private:
  void skip_spaces() {
    while (is_space(bytes_.peek())) bytes_.take();
  }

  /// Reads the rest of the object that contains the array.
  void leave_object() {
    std::string text;
    for (int depth = 1; depth > 0; bytes_.take()) {
      const int byte = bytes_.peek();
      if (byte == ByteReader::end_of_file) fail("the file ends here");
      if (byte == '{' || byte == '[') ++depth;
      if (byte == '}' || byte == ']') --depth;
      if (byte == '"') read_string(text);
    }
  }

  /// Fills `text` with a string's bytes and stops at its closing quote. Does not decode escapes.
  void read_string(std::string& text) {
    text.clear();
    bool escaped = false;
    for (bytes_.take();; bytes_.take()) {
      const int byte = bytes_.peek();
      if (byte == ByteReader::end_of_file) fail("the file ends in a string");
      if (byte == '"' && !escaped) return;
      escaped = byte == '\\' && !escaped;
      if (text.size() < record_bytes_max) text.push_back(static_cast<char>(byte));
    }
  }

  /// Reads up to the element's closing bracket or, if the element is a scalar, up to the comma or
  /// bracket after it. Commas and brackets inside strings do not count.
  void read_element(std::string& element) {
    line_ = bytes_.line();
    column_ = bytes_.column();
    element.clear();
    bool in_string = false;
    bool escaped = false;
    for (int depth = 0;; bytes_.take()) {
      const int byte = bytes_.peek();
      if (byte == ByteReader::end_of_file) fail("the file ends here");
      if (!in_string && depth == 0 && (byte == ',' || byte == ']')) break;
      if (byte == '"' && !escaped) in_string = !in_string;
      escaped = byte == '\\' && !escaped;
      if (!in_string && (byte == '{' || byte == '[')) ++depth;
      if (!in_string && (byte == '}' || byte == ']')) --depth;
      if (element.size() == record_bytes_max)
        throw InputError(bytes_.path(), line_, column_,
                         "the record that begins here is longer than " +
                             std::to_string(record_bytes_max) + " bytes");
      element.push_back(static_cast<char>(byte));
      if (!in_string && depth == 0 && (byte == '}' || byte == ']')) {
        bytes_.take();
        break;
      }
    }
    element.reserve(element.size() + simdjson::SIMDJSON_PADDING);
  }

  ByteReader bytes_;
  bool begun_ = false;
  bool is_member_ = false;  ///< the array is a member of an object
  bool has_lines_ = false;  ///< the text is JSON lines: objects without brackets and commas
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 1;
};

/// Replaces NaN, Infinity and -Infinity outside strings by null. Python writes these words, but
/// they are not JSON. Returns false if `text` has none of them.
bool without_bare_words(std::string& text) {
  std::string mended;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    std::size_t length = 0;
    if (!in_string)
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
        if (length == 0 && rest.starts_with(word)) length = word.size();
    if (length > 0) {
      mended += "null";
      at += length;
      continue;
    }
    if (rest[0] == '"') in_string = !in_string;
    const std::size_t taken = in_string && rest[0] == '\\' && rest.size() > 1 ? 2 : 1;
    mended += rest.substr(0, taken);
    at += taken;
  }
  const bool is_mended = mended != text;
  text = std::move(mended);
  return is_mended;
}

/// Reads the elements of an array one by one.
class Elements {
 public:
  explicit Elements(TextInput& input) : path_(input.path()), array_(input) {}
  virtual ~Elements() = default;
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  void read() {
    while (array_.next(text_)) {
      try {
        parse_element();
      } catch (const simdjson::simdjson_error& error) {
        if (!without_bare_words(text_)) fail(error);
        parse_mended();
      }
    }
  }

 protected:
  virtual void read_record(ondemand::document& record) = 0;

  /// Returns the text of a scalar: without quotes for a string, empty for null.
  std::string_view text_of(ondemand::value value) {
    switch (value.type().value()) {
      case ondemand::json_type::string: {
        if (strings_used_ == strings_.size()) strings_.emplace_back();
        std::string& copy = strings_[strings_used_++];
        copy = std::string_view(value.get_string());
        return copy;
      }
      default: {
        const std::string_view token = value.raw_json_token();
        const std::string_view text = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
        return text == "null" ? std::string_view() : text;
      }
    }
  }

  /// Returns an empty field with the place of `token` in the file. `token` must be a part of text_.
  Field place_of(std::string_view token) const {
    const std::string_view before(text_.data(),
                                  static_cast<std::size_t>(token.data() - text_.data()));
    const std::size_t line_end = before.rfind('\n');
    if (line_end == std::string_view::npos)
      return {{}, array_.line(), array_.column() + before.size()};
    const auto lines = static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
    return {{}, array_.line() + lines, before.size() - line_end};
  }

  const std::string& path_;
  ArrayReader array_;
  ondemand::parser parser_;
  std::string text_;

 private:
  void parse_element() {
    ondemand::document document =
        parser_.iterate(simdjson::padded_string_view(text_.data(), text_.size(), text_.capacity()));
    strings_used_ = 0;
    read_record(document);
  }

  void parse_mended() {
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
    try {
      parse_element();
    } catch (const simdjson::simdjson_error& error) {
      fail(error);
    }
  }

  [[noreturn]] void fail(const simdjson::simdjson_error& error) const {
    throw InputError(
        path_, array_.line(), array_.column(),
        std::string("the JSON of the record that begins here is damaged: ") + error.what());
  }

  std::deque<std::string> strings_;  ///< decoded strings; the record uses the first strings_used_
  std::size_t strings_used_ = 0;
};

/// Flat objects, whose keys are columns.
class JsonRecords final : public Elements {
 public:
  JsonRecords(TextInput& input, const Columns& columns, const RecordHandler& handler)
      : Elements(input), columns_(columns), handler_(handler) {}

 private:
  void read_record(ondemand::document& record) override {
    RowText row;
    const std::array<Field*, 6> parts{&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags};
    for (Field* const part : parts) *part = place_of(text_);
    std::string_view clock;
    if (record.type() == ondemand::json_type::object)
      for (auto member : record.get_object()) {
        const std::string_view key = member.unescaped_key();
        if (!key.empty() && key == columns_.clock) {
          clock = text_of(member.value());
          continue;
        }
        const auto column = std::ranges::find(columns_.names, key);
        if (column == columns_.names.end() || key.empty()) continue;
        Field& field = *parts[static_cast<std::size_t>(column - columns_.names.begin())];
        ondemand::value value = member.value();
        field = place_of(value.raw_json_token());
        field.text = text_of(value);
      }
    if (!columns_.clock.empty()) row.time.text = time_of(row.time.text, clock, time_);
    handler_(row);
  }

  const Columns& columns_;
  const RecordHandler& handler_;
  std::string time_;  ///< the record's date and clock time, if they are two members
};

/// The features of a GeoJSON FeatureCollection.
class GeoJsonRecords final : public Elements {
 public:
  GeoJsonRecords(TextInput& input, const RecordHandler& handler)
      : Elements(input), handler_(handler) {
    array_.enter_member("features");
  }

 private:
  void read_record(ondemand::document& record) override {
    RowText row;
    for (Field* const part : {&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags})
      *part = place_of(text_);
    Field feature_id = place_of(text_);
    if (record.type() == ondemand::json_type::object)
      for (auto member : record.get_object()) {
        const std::string_view key = member.unescaped_key();
        ondemand::value value = member.value();
        const auto type = value.type().value();
        if (key == "id" && type != ondemand::json_type::object)
          feature_id.text = text_of(value);
        else if (key == "geometry" && type == ondemand::json_type::object)
          read_geometry(value.get_object(), row);
        else if (key == "properties" && type == ondemand::json_type::object)
          read_properties(value.get_object(), row);
      }
    if (row.id.text.empty()) row.id = feature_id;
    handler_(row);
  }

  /// If the geometry is not a point, stores its kind in place of the coordinates, so that the error
  /// about the coordinates shows the kind.
  void read_geometry(ondemand::object geometry, RowText& row) {
    for (auto member : geometry) {
      const std::string_view key = member.unescaped_key();
      ondemand::value value = member.value();
      if (key == "type") {
        const std::string_view kind = text_of(value);
        if (kind != "Point") row.x.text = row.y.text = kind;
      } else if (key == "coordinates" && value.type() == ondemand::json_type::array) {
        const std::array<Field*, 3> axes{&row.x, &row.y, &row.z};
        std::size_t axis = 0;
        for (auto coordinate : value.get_array()) {
          if (axis == axes.size() || coordinate.type() == ondemand::json_type::array) break;
          Field& field = *axes[axis++];
          if (field.text.empty()) field.text = text_of(coordinate.value());
        }
      }
    }
  }

  void read_properties(ondemand::object properties, RowText& row) {
    for (auto member : properties) {
      const std::string_view key = member.unescaped_key();
      ondemand::value value = member.value();
      const auto type = value.type().value();
      if (type == ondemand::json_type::object || type == ondemand::json_type::array) continue;
      Field* field = nullptr;
      switch (common_column_of(key)) {
        case CommonColumn::id:
          field = &row.id;
          break;
        case CommonColumn::time:
          field = &row.time;
          break;
        case CommonColumn::tags:
          field = &row.tags;
          break;
        case CommonColumn::date:
        case CommonColumn::other:
          break;
      }
      if (field != nullptr && field->text.empty()) field->text = text_of(value);
    }
  }

  const RecordHandler& handler_;
};

}  // namespace

std::vector<std::string> keys_of_first_record(std::string_view text) {
  std::vector<std::string> keys;
  try {
    TextInput input("", text);
    ArrayReader array(input);
    std::string element;
    if (!array.next(element)) return keys;
    ondemand::parser parser;
    ondemand::document document = parser.iterate(
        simdjson::padded_string_view(element.data(), element.size(), element.capacity()));
    for (auto member : document.get_object()) {
      const std::string_view key = member.unescaped_key();
      keys.emplace_back(key);
    }
  } catch (const InputError&) {  // the text is not JSON, or it ends inside its first record
  } catch (const simdjson::simdjson_error&) {
  }
  return keys;
}

void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  JsonRecords(input, options.columns, handler).read();
}

void read_geojson_records(TextInput& input, const RecordOptions&, const RecordHandler& handler) {
  GeoJsonRecords(input, handler).read();
}

}  // namespace starling::sim
