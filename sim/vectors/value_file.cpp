// SPDX-License-Identifier: Apache-2.0
// Defines one reading function per format: see value_file.hpp.
#include "starling/sim/vectors/value_file.hpp"

#include <cmath>
#include <cstddef>
#include <optional>

#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/mapped_file.hpp"
#include "starling/sim/files/npy_header.hpp"
#include "starling/sim/files/number_text.hpp"
#include "starling/sim/vectors/vector_formats.hpp"
#include "starling/sim/vectors/vector_text.hpp"

namespace starling::sim {
namespace {

double checked_value(double value, const std::string& place) {
  if (!std::isfinite(value)) throw InputError(place + " is not finite; a mean needs finite values");
  return value;
}

std::vector<double> read_npy(const std::string& path) {
  const MappedFile file(path);
  const NpyHeader header = parse_npy_header(file.bytes(), path);
  const bool is_column =
      header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1);
  if (!is_column)
    throw InputError(path +
                     ": values are an array of shape (rows,) or (rows, 1), one number per row");
  std::vector<double> values(checked_rows(header.shape[0], path));
  const std::byte* at = file.bytes().data() + header.size_bytes;
  for (std::size_t row = 0; row < values.size(); ++row, at += header.type.bytes)
    values[row] = checked_value(read_number(header.type, at),
                                path + ": row " + std::to_string(row) + " (counted from 0)");
  return values;
}

std::vector<double> read_csv(const std::string& path) {
  TextInput input(path);
  NumberRecords records(input);
  std::vector<Field> fields;
  std::vector<double> values;
  while (records.next(fields)) {
    if (fields.size() > 1)
      throw InputError(path, fields[1].line, fields[1].column,
                       "a second column begins here; a file of values has one column");
    const Field& field = fields.front();
    const std::optional<double> value = parse_number(without_plus(trim(field.text)));
    if (!value) refuse_number(path, field, "a number");
    values.push_back(checked_value(*value, path + ":" + std::to_string(field.line) + ":" +
                                               std::to_string(field.column) + ": the number"));
    checked_rows(values.size(), path);
  }
  return values;
}

}  // namespace

std::vector<double> read_values(const std::string& path) {
  switch (array_format_of(path)) {
    case ArrayFormat::npy:
      return read_npy(path);
    case ArrayFormat::csv:
      return read_csv(path);
    case ArrayFormat::fvecs:
    case ArrayFormat::bvecs:
    case ArrayFormat::ivecs:
      break;
  }
  throw InputError(path + ": values are read from .npy or .csv");
}

}  // namespace starling::sim
