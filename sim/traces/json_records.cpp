// SPDX-License-Identifier: Apache-2.0
// Reads one JSON array of flat objects: see record_readers.hpp. ArrayReader splits the array into
// elements, so that a file of any length needs little memory. simdjson parses each element. Numbers
// are passed on as text, so that no digit is lost.
#include <algorithm>
#include <array>
#include <string>

#include <simdjson.h>

#include "starling/sim/files/byte_reader.hpp"
#include "starling/sim/files/errors.hpp"
#include "starling/sim/traces/record_readers.hpp"

namespace starling::sim {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t record_bytes_max = 1 << 20;

bool is_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/// Splits a JSON array into the texts of its elements.
class ArrayReader {
 public:
  explicit ArrayReader(TextInput& input) : bytes_(input) {}

  /// Return the place in the file at which the element of the last next() begins.
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

  /// Fills `element` with the text of the next element and returns true, or returns false at the
  /// end of the array. `element` has spare capacity, because simdjson reads beyond the end of the
  /// text.
  bool next(std::string& element) {
    skip_spaces();
    const int byte = bytes_.peek();
    if (!begun_) {
      if (byte != '[') fail("it does not begin with [");
      bytes_.take();
      skip_spaces();
    }
    const bool first = !begun_;
    begun_ = true;
    if (bytes_.peek() == ']') {
      bytes_.take();
      skip_spaces();
      if (bytes_.peek() != ByteReader::end_of_file) fail("there is text after the array's end");
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
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 1;
};

class JsonRecords {
 public:
  JsonRecords(TextInput& input, const Columns& columns, const RecordHandler& handler)
      : path_(input.path()), columns_(columns), handler_(handler), array_(input) {}

  void read() {
    while (array_.next(text_)) {
      try {
        ondemand::document document = parser_.iterate(
            simdjson::padded_string_view(text_.data(), text_.size(), text_.capacity()));
        read_record(document);
      } catch (const simdjson::simdjson_error& error) {
        throw InputError(
            path_, array_.line(), array_.column(),
            std::string("the JSON of the record that begins here is damaged: ") + error.what());
      }
    }
  }

 private:
  void read_record(ondemand::document& record) {
    RowText row;
    const std::array<Field*, 6> parts{&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags};
    for (Field* const part : parts) *part = place_of(text_);
    strings_used_ = 0;
    if (record.type() == ondemand::json_type::object)
      for (auto member : record.get_object()) {
        const std::string_view key = member.unescaped_key();
        const auto column = std::ranges::find(columns_.names, key);
        if (column == columns_.names.end() || key.empty()) continue;
        Field& field = *parts[static_cast<std::size_t>(column - columns_.names.begin())];
        ondemand::value value = member.value();
        field = place_of(value.raw_json_token());
        field.text = text_of(value);
      }
    handler_(row);
  }

  /// Returns the text of a scalar: without quotes for a string, empty for null.
  std::string_view text_of(ondemand::value value) {
    switch (value.type().value()) {
      case ondemand::json_type::string: {
        std::string& copy = strings_[strings_used_++ % strings_.size()];
        copy = std::string_view(value.get_string());
        return copy;
      }
      case ondemand::json_type::null:
        return {};
      default: {
        const std::string_view token = value.raw_json_token();
        return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
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
  const Columns& columns_;
  const RecordHandler& handler_;
  ArrayReader array_;
  ondemand::parser parser_;
  std::string text_;
  std::array<std::string, 6> strings_;  ///< the record's strings without escapes
  std::size_t strings_used_ = 0;
};

}  // namespace

void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  JsonRecords(input, options.columns, handler).read();
}

}  // namespace starling::sim
