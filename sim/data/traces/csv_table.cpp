// SPDX-License-Identifier: Apache-2.0
// Finds the header and the columns of a CSV file: see csv_table.hpp.
#include "starling/sim/data/traces/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t names_shown = 50;  // greatest number of column names in an error message
constexpr std::size_t no_index = ~std::size_t{0};
constexpr std::size_t id_part = 0;
constexpr std::size_t time_part = 1;
constexpr std::size_t z_part = 4;  // parts 4 and 5, altitude and tags, are optional

std::size_t index_of_number(const std::string& number) {
  std::size_t column = 0;
  std::from_chars(number.data(), number.data() + number.size(), column);
  return column - 1;
}

}  // namespace

std::string id_in_file_name(const std::string& path, std::string_view prefix) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  // GeoLife has a folder for each user, with a folder Trajectory, and names files by their times.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (name.extension() == ".plt" && folder.filename() == "Trajectory")
    return folder.parent_path().filename().string();
  std::string id = name.stem().string();
  if (id.starts_with(prefix)) id.erase(0, prefix.size());
  return id;
}

bool has_columns(std::span<const std::string> header, const Columns& columns) {
  for (std::size_t part = 0; part < columns.names.size(); ++part) {
    const std::string& name = columns.names[part];
    const bool may_be_absent = name.empty() || name == file_name_column || part >= z_part;
    if (!may_be_absent && !find_column(header, name)) return false;
  }
  return columns.clock.empty() || find_column(header, columns.clock).has_value();
}

CsvTable::CsvTable(TextInput& input, const RecordOptions& options)
    : path_(input.path()), columns_(options.columns), reader_(input, options.separator) {
  if (columns_.id() == file_name_column)
    file_name_ = id_in_file_name(path_, options.file_name_prefix);
  find_header(options.head_records);
}

void CsvTable::find_header(std::size_t head_records) {
  if (columns_.by_number) {
    for (std::size_t line = 0; line < head_records; ++line) reader_.next(fields_);
    find_columns({});
    has_pending_ = reader_.next(fields_);
    while (has_pending_ && fields_.front().text.starts_with('#') && !has_all_fields())
      has_pending_ = reader_.next(fields_);
    return reader_.end_comments();
  }
  std::vector<std::string> header;
  do {
    if (!reader_.next(fields_)) {
      const std::string what = header.empty() ? "the file is empty" : "the file has only comments";
      throw InputError(path_, 1, 1, what + "; a header is needed");
    }
    header = texts_of(fields_);
  } while (header.front().starts_with('#') && !has_columns(header, columns_));
  find_columns(header);
  width_ = header.size();
  reader_.end_comments();
}

/// Returns true if the record has the fields of id, time and position. Above a table without
/// header, a line that begins with '#' is a comment only if it lacks one of these fields.
bool CsvTable::has_all_fields() const {
  for (std::size_t part = 0; part < z_part; ++part)
    if (indices_[part] != no_index && indices_[part] >= fields_.size()) return false;
  return true;
}

void CsvTable::find_columns(std::span<const std::string> header) {
  indices_.fill(no_index);
  for (std::size_t part = 0; part < indices_.size(); ++part)
    if (part != id_part || columns_.id() != file_name_column)
      indices_[part] = find_index(header, columns_.names[part]);
  clock_index_ = find_index(header, columns_.clock);
}

std::size_t CsvTable::find_index(std::span<const std::string> header,
                                 const std::string& name) const {
  if (name.empty()) return no_index;
  if (columns_.by_number) return index_of_number(name);
  if (const std::optional<std::size_t> index = find_column(header, name)) return *index;
  std::string sentence = "there is no column " + quoted_text(name) + "; the header has";
  const char* before = ": ";
  for (const std::string& text : header.first(std::min(header.size(), names_shown)))
    sentence.append(std::exchange(before, ", ")).append(printable_text(text));
  if (header.size() > names_shown)
    sentence += " and " + std::to_string(header.size() - names_shown) + " more";
  throw InputError(path_, fields_.front().line, 1, sentence);
}

/// Joins a date and the clock time after it, which are two fields if blanks separate the fields.
/// Below a header the joined fields become one, because the header has one name for both. Both keep
/// their places if columns are given by number, or if the record is no longer than the header: the
/// clock time then has a column of its own.
void CsvTable::join_time() {
  const std::size_t date = indices_[time_part];
  if (reader_.separator() != ' ' || clock_index_ != no_index) return;
  const bool is_next_unused = std::ranges::find(indices_, date + 1) == indices_.end();
  const bool keeps_places = width_ == 0 || (fields_.size() <= width_ && is_next_unused);
  join_split_time(fields_, date, keeps_places, time_);
}

bool CsvTable::next(RowText& row) {
  if (!has_pending_ && !reader_.next(fields_)) return false;
  has_pending_ = false;
  join_time();
  const Field& last = fields_.back();
  const Field absent{{}, last.line, last.column + last.text.size()};
  const auto field = [&](std::size_t index) {
    return index < fields_.size() ? fields_[index] : absent;
  };
  row = {field(indices_[0]),
         field(indices_[1]),
         field(indices_[2]),
         field(indices_[3]),
         field(indices_[4]),
         field(indices_[5]),
         {}};
  if (columns_.id() == file_name_column)
    row.id = {file_name_, fields_.front().line, fields_.front().column};
  if (clock_index_ != no_index)
    row.time.text = time_of(row.time.text, field(clock_index_).text, time_);
  if (const Field* const beyond = width_ == 0 ? nullptr : find_beyond(fields_, width_))
    row.beyond = *beyond;
  return true;
}

}  // namespace starling::sim
