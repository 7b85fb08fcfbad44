// Numbers in tables of text: records behind an optional header, and refusals with their place. The
// readers of vectors and of labels as CSV share it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/files/csv_reader.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

/// The nearest float32, "nan" and "inf" included; a finite number beyond float32 is its largest.
/// Nothing if the text is no number.
std::optional<float> parse_component(std::string_view text);

/// A number's text without the plus sign that it may begin with, which from_chars does not know.
std::string_view without_plus(std::string_view number);

/// The records of a table of numbers: without blank lines, without those that begin with '#', and
/// without the first if none of its fields is a number, which makes it a header.
class NumberRecords {
 public:
  explicit NumberRecords(TextInput& input) : reader_(input) {}

  /// As CsvReader::next.
  bool next(std::vector<Field>& fields);

 private:
  static bool is_header(const std::vector<Field>& fields);

  CsvReader reader_;
  bool is_past_header_ = false;
};

/// Throws TraceError unless there are `count` fields, as in the file's first row.
void check_field_count(const std::string& path, const std::vector<Field>& fields,
                       std::size_t count);

/// Throws TraceError: this is not `wanted`, such as "a number".
[[noreturn]] void refuse_number(const std::string& path, const Field& field,
                                std::string_view wanted);

}  // namespace starling::sim
