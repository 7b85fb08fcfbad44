// SPDX-License-Identifier: Apache-2.0
// Finds the header and the columns of a CSV file: see csv_table.hpp.
#include "starling/sim/traces/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "starling/sim/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t names_shown = 50;  // greatest number of column names in an error message
constexpr std::size_t no_index = ~std::size_t{0};
constexpr std::size_t id_part = 0;
constexpr std::size_t z_part = 4;  // parts 4 and 5, altitude and tags, are optional

std::size_t index_of_number(const std::string& number) {
  std::size_t column = 0;
  std::from_chars(number.data(), number.data() + number.size(), column);
  return column - 1;
}

/// Returns the file's name without folders, endings and `prefix`.
std::string id_in_file_name(const std::string& path, std::string_view prefix) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  std::string id = name.stem().string();
  if (id.starts_with(prefix)) id.erase(0, prefix.size());
  return id;
}

}  // namespace

bool has_columns(std::span<const std::string> header, const Columns& columns) {
  for (std::size_t part = 0; part < columns.names.size(); ++part) {
    const std::string& name = columns.names[part];
    const bool may_be_absent = name.empty() || name == file_name_column || part >= z_part;
    if (!may_be_absent && !find_column(header, name)) return false;
  }
  return true;
}

CsvTable::CsvTable(TextInput& input, const RecordOptions& options)
    : path_(input.path()), columns_(options.columns), reader_(input) {
  if (columns_.id() == file_name_column)
    file_name_ = id_in_file_name(path_, options.file_name_prefix);
  find_header();
}

void CsvTable::find_header() {
  std::vector<std::string> header;
  for (;;) {
    has_pending_ = reader_.next(fields_);
    if (!has_pending_) break;
    header = texts_of(fields_);
    const bool is_comment = header.front().starts_with('#');
    if (!is_comment || (!columns_.by_number && has_columns(header, columns_))) break;
  }
  if (columns_.by_number) return find_columns({});
  if (!has_pending_) throw InputError(path_, 1, 1, "the file is empty; a header is needed");
  find_columns(header);
  has_pending_ = false;
}

void CsvTable::find_columns(std::span<const std::string> header) {
  indices_.fill(no_index);
  for (std::size_t part = 0; part < indices_.size(); ++part) {
    const std::string& name = columns_.names[part];
    if (name.empty() || (part == id_part && name == file_name_column)) continue;
    if (columns_.by_number) {
      indices_[part] = index_of_number(name);
      continue;
    }
    const std::optional<std::size_t> index = find_column(header, name);
    if (!index) {
      std::string sentence = "there is no column " + quoted_text(name) + "; the header has";
      const char* before = ": ";
      for (const std::string& text : std::span(header).first(std::min(header.size(), names_shown)))
        sentence.append(std::exchange(before, ", ")).append(printable_text(text));
      if (header.size() > names_shown)
        sentence += " and " + std::to_string(header.size() - names_shown) + " more";
      throw InputError(path_, fields_.front().line, 1, sentence);
    }
    indices_[part] = *index;
  }
}

bool CsvTable::next(RowText& row) {
  if (!has_pending_ && !reader_.next(fields_)) return false;
  has_pending_ = false;
  const Field& last = fields_.back();
  const Field absent{{}, last.line, last.column + last.text.size()};
  const auto field = [&](std::size_t part) {
    return indices_[part] < fields_.size() ? fields_[indices_[part]] : absent;
  };
  row = {field(0), field(1), field(2), field(3), field(4), field(5)};
  if (columns_.id() == file_name_column)
    row.id = {file_name_, fields_.front().line, fields_.front().column};
  return true;
}

}  // namespace starling::sim
