// SPDX-License-Identifier: Apache-2.0
// Reads the columns of a CSV file by name or number. CsvTable finds the header, skips the comments
// before it, and returns the fields of each record. The readers of CSV layouts use CsvTable. The
// table of layouts uses has_columns() to recognise a header.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/traces/layout.hpp"

namespace starling::sim {

/// Returns true if `header` has every column that `columns` names. The columns of altitude and tags
/// may be missing.
bool has_columns(std::span<const std::string> header, const Columns& columns);

/// Returns the file's name without folders, endings and `prefix`. For a file of GeoLife, returns
/// the name of the user's folder.
std::string id_in_file_name(const std::string& path, std::string_view prefix);

class CsvTable {
 public:
  /// Reads the header and stops before the first record. Both arguments must outlive the table.
  /// Throws InputError if a column is missing.
  CsvTable(TextInput& input, const RecordOptions& options);

  /// Fills `row` with the next record and returns true, or returns false at the end. The record is
  /// valid until the next call. A field beyond the end of a short record has empty text. If blanks
  /// separate the fields, a date and the clock time after it are returned as one field.
  bool next(RowText& row);

  char separator() const { return reader_.separator(); }

 private:
  void find_header(std::size_t head_records);
  void find_columns(std::span<const std::string> header);
  std::size_t find_index(std::span<const std::string> header, const std::string& name) const;
  bool has_all_fields() const;
  void join_time();

  const std::string& path_;
  const Columns& columns_;
  CsvReader reader_;
  std::vector<Field> fields_;
  bool has_pending_ = false;  ///< fields_ holds a record that next() has not returned yet
  std::string file_name_;
  std::array<std::size_t, 6> indices_;
  std::size_t clock_index_;
  std::size_t width_ = 0;  ///< the number of columns that the header names; 0: there is no header
  std::string time_;       ///< the record's date and clock time, if they are two fields
};

}  // namespace starling::sim
