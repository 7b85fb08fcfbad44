// The CSV family: finds the columns in the header, then hands every record's fields on.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "sim/csv_reader.hpp"
#include "sim/record_readers.hpp"
#include "sim/row_parser.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t no_column = ~std::size_t{0};
using ColumnIndices = std::array<std::size_t, 6>;

std::size_t index_in(const std::vector<Field>& header, const std::string& name,
                     const std::string& path) {
  const auto found =
      std::ranges::find(header, name, [](const Field& field) { return trim(field.text); });
  if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  std::string have;
  for (const Field& field : header) have += (have.empty() ? "" : ", ") + std::string(field.text);
  throw TraceError(path, header.front().line, 1,
                   "there is no column '" + name + "'; the header has: " + have);
}

std::size_t index_of_number(const std::string& number) {
  std::size_t column = 0;
  std::from_chars(number.data(), number.data() + number.size(), column);
  return column - 1;
}

}  // namespace

void read_csv_records(TextInput& input, const RecordOptions& options,
                      const RecordHandler& handler) {
  CsvReader reader(input);
  std::vector<Field> fields;
  const Columns& columns = options.columns;
  if (!columns.by_number && !reader.next(fields))
    throw TraceError(input.path(), 1, 1, "the file is empty; a header is needed");
  ColumnIndices indices;
  indices.fill(no_column);
  for (std::size_t part = 0; part < indices.size(); ++part) {
    const std::string& name = columns.names[part];
    if (name.empty()) continue;
    indices[part] =
        columns.by_number ? index_of_number(name) : index_in(fields, name, input.path());
  }
  while (reader.next(fields)) {
    const Field absent{{}, fields.back().line, fields.back().column + fields.back().text.size()};
    const auto field = [&](std::size_t part) {
      return indices[part] < fields.size() ? fields[indices[part]] : absent;
    };
    handler({field(0), field(1), field(2), field(3), field(4), field(5)});
  }
}

}  // namespace starling::sim
