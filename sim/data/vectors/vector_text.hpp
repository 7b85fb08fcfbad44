// SPDX-License-Identifier: Apache-2.0
// Reads numbers from text tables. These functions skip an optional header and report errors with
// the place in the file. The CSV readers of vectors and of labels use them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {

/// The float64 and the float32 nearest to the number in a text.
struct Component {
  double exact = 0;
  float rounded = 0;
};

/// Returns the number in `text`, or std::nullopt if `text` is not a number. The number may be "nan"
/// or "inf". A finite number beyond the range of float32 becomes the largest float32 of the same
/// sign.
std::optional<Component> parse_component(std::string_view text);

/// Returns `number` without a leading plus sign, because std::from_chars accepts no plus sign.
std::string_view without_plus(std::string_view number);

/// Reads the records of a table of numbers. Skips blank lines, lines that begin with '#', and a
/// header. The first record is a header if none of its fields is a number and not all are empty.
class NumberRecords {
 public:
  explicit NumberRecords(TextInput& input) : reader_(input) {}

  /// As CsvReader::next(), but without the skipped records.
  bool next(std::vector<Field>& fields);

 private:
  static bool is_header(const std::vector<Field>& fields);

  CsvReader reader_;
  bool is_past_header_ = false;
};

/// Throws InputError unless the row has `count` fields. `count` is the number of fields in the
/// file's first row.
void check_field_count(const std::string& path, const std::vector<Field>& fields,
                       std::size_t count);

/// Throws InputError. The message says that the field is empty or that it is not `wanted`. `wanted`
/// is for example "a number".
[[noreturn]] void refuse_number(const std::string& path, const Field& field,
                                std::string_view wanted);

}  // namespace starling::sim
