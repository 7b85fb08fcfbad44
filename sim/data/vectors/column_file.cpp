// SPDX-License-Identifier: Apache-2.0
// Checks that a file has one column, and passes on its numbers: see column_file.hpp.
#include "starling/sim/data/vectors/column_file.hpp"

#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/mapped_file.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"
#include "starling/sim/data/vectors/vector_text.hpp"

namespace starling::sim {

std::string place_of_row(const std::string& path, std::size_t row) {
  return path + ": row " + std::to_string(row) + " (counted from 0)";
}

std::string place_of_field(const std::string& path, const Field& field) {
  return path + ":" + std::to_string(field.line) + ":" + std::to_string(field.column) +
         ": the number";
}

void read_npy_column(const std::string& path, const ColumnWords& words,
                     const std::function<void(const NpyHeader&, std::size_t rows)>& begin,
                     const std::function<void(std::size_t row, const std::byte*)>& take) {
  const MappedFile file(path);
  const NpyHeader header = parse_npy_header(file.bytes(), path);
  const bool is_column =
      header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1);
  if (!is_column)
    throw InputError(path + ": " + std::string(words.items) +
                     " are an array of shape (rows,) or (rows, 1), one " +
                     std::string(words.number) + " per row");
  const std::size_t rows = checked_rows(header.shape[0], path);
  begin(header, rows);
  const std::byte* at = file.bytes().data() + header.size_bytes;
  for (std::size_t row = 0; row < rows; ++row, at += header.type.bytes) take(row, at);
}

void read_csv_column(const std::string& path, const ColumnWords& words,
                     const std::function<void(const Field&)>& take) {
  TextInput input(path);
  NumberRecords records(input);
  std::vector<Field> fields;
  for (std::size_t rows = 1; records.next(fields); ++rows) {
    if (fields.size() > 1)
      throw InputError(
          path, fields[1].line, fields[1].column,
          "a second column begins here; a file of " + std::string(words.items) + " has one column");
    take(fields.front());
    checked_rows(rows, path);
  }
}

}  // namespace starling::sim
