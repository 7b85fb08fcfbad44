// A CSV file's columns by name or number: finds the header, passes over the comments in front of
// it, and hands out each record's parts. The readers of CSV layouts stand on it; the table of
// layouts asks it what a header has.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/files/csv_reader.hpp"
#include "sim/traces/layout.hpp"

namespace starling::sim {

/// Where the column of this name stands in a header; a '#' that the header begins with is not part
/// of the first name, unless `name` has it too.
std::optional<std::size_t> find_column(std::span<const std::string> header, std::string_view name);

/// Whether the header has every column that has a name, but perhaps not those of altitude and tags.
bool has_columns(std::span<const std::string> header, const Columns& columns);

class CsvTable {
 public:
  /// Reads up to the first record. Both arguments must outlive the table. Throws TraceError if a
  /// column is not there.
  CsvTable(TextInput& input, const RecordOptions& options);

  /// The next record, valid until the next call; what it is too short for has empty text. False at
  /// the end.
  bool next(RowText& row);

 private:
  void find_header();
  void find_columns(std::span<const std::string> header);

  const std::string& path_;
  const Columns& columns_;
  CsvReader reader_;
  std::vector<Field> fields_;
  bool has_pending_ = false;  ///< fields_ holds a record that next() has not handed out
  std::string file_name_;
  std::array<std::size_t, 6> indices_;
};

}  // namespace starling::sim
