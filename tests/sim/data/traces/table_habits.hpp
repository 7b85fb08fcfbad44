// SPDX-License-Identifier: Apache-2.0
// The habits of the author of a generated table: separator, quotes, line ends, the columns and the
// style of its times. generated_table.cpp draws them once per table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/traces/trace_files.hpp"
#include "tests/sim/data/traces/spelled_values.hpp"

namespace starling::sim {

/// What a column holds. `date` is there only if date and clock time are two columns.
enum class Part : std::uint8_t { id, date, time, x, y, tags, note, other };
inline constexpr std::size_t part_count = 8;

struct TableHabits {
  bool is_json = false;
  bool is_array = false;  ///< JSON is one array; otherwise JSON lines
  char separator = ',';
  bool is_blank = false;  ///< blanks separate the fields
  bool names_separator = false;
  std::vector<std::string> line_ends;
  bool has_header = true;
  bool has_hash = false;  ///< the header begins with '#'
  bool has_comma = false;
  bool quotes_all = false;
  bool is_spaced = false;  ///< a space follows the separator
  bool is_planar = false;
  bool shows_day = false;    ///< the first row shows that dates begin with the day
  bool counts_both = false;  ///< column numbers count a date and its clock time as two
  TimeStyle time;
  std::vector<Part> columns;
  std::vector<std::string> names;  ///< names of the columns
  TraceOptions options;            ///< options that the reader needs

  bool has(Part part) const { return index_of(part) < columns.size(); }
  /// Returns the column of the part, or columns.size().
  std::size_t index_of(Part part) const;
  /// Returns true if the separator occurs most often outside quotes.
  bool is_shown_by(std::string_view line) const;
  bool must_quote(std::string_view field) const;
};

TableHabits draw_habits(test::Random& random);

}  // namespace starling::sim
