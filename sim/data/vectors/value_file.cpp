// SPDX-License-Identifier: Apache-2.0
// Defines one reading function per format: see value_file.hpp.
#include "starling/sim/data/vectors/value_file.hpp"

#include <cmath>
#include <cstddef>
#include <optional>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/vectors/column_file.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"
#include "starling/sim/data/vectors/vector_text.hpp"

namespace starling::sim {
namespace {

constexpr ColumnWords value_words{"values", "number"};

double checked_value(double value, const std::string& place) {
  if (!std::isfinite(value)) throw InputError(place + " is not finite; a mean needs finite values");
  return value;
}

std::vector<double> read_npy_values(const std::string& path) {
  std::vector<double> values;
  NumberType type;
  const auto begin = [&](const NpyHeader& header, std::size_t rows) {
    type = header.type;
    values.resize(rows);
  };
  read_npy_column(path, value_words, begin, [&](std::size_t row, const std::byte* at) {
    values[row] = checked_value(read_number(type, at), place_of_row(path, row));
  });
  return values;
}

std::vector<double> read_csv_values(const std::string& path) {
  std::vector<double> values;
  read_csv_column(path, value_words, [&](const Field& field) {
    const std::optional<double> value = parse_number(without_plus(trim(field.text)));
    if (!value) refuse_number(path, field, "a number");
    values.push_back(checked_value(*value, place_of_field(path, field)));
  });
  return values;
}

}  // namespace

std::vector<double> read_values(const std::string& path) {
  switch (array_format_of(path)) {
    case ArrayFormat::npy:
      return read_npy_values(path);
    case ArrayFormat::csv:
      return read_csv_values(path);
    case ArrayFormat::fvecs:
    case ArrayFormat::bvecs:
    case ArrayFormat::ivecs:
      break;
  }
  throw InputError(path + ": values are read from .npy or .csv");
}

}  // namespace starling::sim
