// SPDX-License-Identifier: Apache-2.0
// Draws the habits of an author: see table_habits.hpp.
#include "tests/sim/data/traces/table_habits.hpp"

#include <algorithm>
#include <utility>

namespace starling::sim {
namespace {

using test::Random;
using Texts = std::vector<std::string>;

const Texts extra_names{"note", "p;q;r;s;t;u;v", "f,g,h,i,j,k,l", "Speed (km/h)", "a,b", "x;y;z",
                        "",     "Größe|cm",      "altitude",      "heading\""};

void draw_format(Random& random, TableHabits& habits) {
  habits.is_json = random.chance(0.15);
  habits.is_array = habits.is_json && random.chance(0.5);
  habits.separator = ",,;\t| "[random.below(6)];
  habits.is_blank = !habits.is_json && habits.separator == ' ';
  habits.names_separator = !habits.is_json && !habits.is_blank && random.chance(0.05);
  const std::vector<Texts> line_ends{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n", "\r"}};
  habits.line_ends = random.pick(line_ends);
  habits.has_header = habits.is_json || random.chance(0.8);
  // Where blanks separate, the first row of a table without header must not have commas.
  habits.has_comma =
      !habits.is_json && (habits.has_header || !habits.is_blank) && random.chance(0.3);
  habits.quotes_all = random.chance(0.2);
  habits.is_spaced = !habits.is_blank && random.chance(0.2);
  habits.is_planar = random.chance(0.2);
  habits.options.keep_null_island = random.chance(0.1);
  habits.options.from_us = -(std::int64_t{1} << 61);  // any time: a whole table may be from before
                                                      // 1980
}

void draw_time_style(Random& random, TableHabits& habits) {
  TimeStyle& time = habits.time;
  time.form = static_cast<TimeForm>(random.below(5));
  time.unit = static_cast<TimeUnit>(1 + random.below(4));
  time.unit_is_told = random.chance(0.3);
  time.is_narrow = habits.is_blank;
  const bool has_date = time.form != TimeForm::number && time.form != TimeForm::basic;
  time.is_apart = has_date && random.chance(0.3);
  if (random.chance(0.3)) time.utc_offset_us = random.between(-48, 48) * 900'000'000;
  habits.options.utc_offset_us = time.utc_offset_us;
  if (time.form == TimeForm::year_last) {
    time.order = random.chance(0.2) ? DateOrder::month_first : DateOrder::day_first;
    habits.shows_day = !habits.is_json && time.order == DateOrder::day_first && random.chance(0.7);
    if (!habits.shows_day) habits.options.date_order = time.order;
  }
  // Without a header, date and clock time are two fields in every row, or one field in every row.
  if (!habits.is_blank || habits.has_header || time.is_apart) return;
  habits.counts_both = has_date && random.chance(0.5);
  time.glue = habits.counts_both ? ' ' : 'T';
}

void draw_columns(Random& random, TableHabits& habits) {
  std::vector<Part>& columns = habits.columns;
  columns = {Part::id, Part::time, Part::x, Part::y};
  if (habits.time.is_apart) columns.push_back(Part::date);
  if (random.chance(0.5)) columns.push_back(Part::tags);
  if (random.chance(0.4)) columns.push_back(Part::note);
  if (random.chance(0.1)) columns.push_back(Part::other);
  for (std::size_t at = columns.size(); at > 1; --at)
    std::swap(columns[at - 1], columns[random.below(at)]);
  // Below a header that begins with '#', the first row shows the separator.
  habits.has_hash = habits.has_header && !habits.is_json &&
                    !(habits.is_blank && habits.has_comma) && columns[0] == Part::id &&
                    random.chance(0.1);
}

std::string in_capitals(std::string name) {
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

/// Returns a name of a column from the table in docs/traces.md.
std::string common_name(Random& random, const TableHabits& habits, Part part, bool has_unit) {
  static const std::array<Texts, part_count> names{
      Texts{"id", "icao24", "object_id", "mmsi", "vehicle_id", "device_id", "track"},
      Texts{"date"},
      Texts{"time", "timestamp", "ts", "t", "datetime", "date_time", "base_date_time"},
      Texts{"lon", "lng", "long", "longitude"},
      Texts{"lat", "latitude"},
      Texts{"tags"}};
  std::string name = random.pick(names[static_cast<std::size_t>(part)]);
  if (habits.is_planar && (part == Part::x || part == Part::y))
    name = std::string(part == Part::x ? "x" : "y") + (random.chance(0.3) ? "_m" : "");
  if (part == Part::time && has_unit) {
    const Texts stems{"time", "timestamp", "ts"};
    const Texts units{"_s", "_ms", "_us", "_ns"};
    name = habits.time.unit == TimeUnit::nanoseconds ? "time" : random.pick(stems);
    name += units[static_cast<std::size_t>(habits.time.unit) - 1];
  }
  return random.chance(0.3) ? in_capitals(name) : name;
}

/// Names the columns in options.columns.
void tell_columns(TableHabits& habits) {
  const auto at = [&](Part part) {
    const std::size_t column = habits.index_of(part);
    const bool is_behind = habits.counts_both && column > habits.index_of(Part::time);
    return habits.has_header ? habits.names[column] : std::to_string(column + (is_behind ? 2 : 1));
  };
  std::string& told = habits.options.columns;
  told = "id=" + at(Part::id) + ",time=";
  told += (habits.time.is_apart ? at(Part::date) + '+' : "") + at(Part::time);
  told += (habits.is_planar ? ",x=" : ",lon=") + at(Part::x);
  told += (habits.is_planar ? ",y=" : ",lat=") + at(Part::y);
  if (habits.has(Part::tags)) told += ",tags=" + at(Part::tags);
}

void draw_names(Random& random, TableHabits& habits) {
  const bool has_own_names = habits.has_header && random.chance(0.15);
  const bool is_told = !habits.has_header || has_own_names || random.chance(0.3);
  if (habits.time.unit_is_told && is_told) habits.options.time_unit = habits.time.unit;
  const bool has_unit = habits.time.unit_is_told && !is_told && !habits.time.is_apart;
  const std::size_t first = random.below(extra_names.size());
  for (const Part part : habits.columns) {
    if (part >= Part::note && habits.has_hash)
      habits.names.push_back(part == Part::note ? "n" : "m");
    else if (part >= Part::note)
      habits.names.push_back(
          extra_names[(first + (part == Part::note ? 0 : 1)) % extra_names.size()]);
    else if (has_own_names)
      habits.names.push_back("c" + std::to_string(static_cast<int>(part)));
    else
      habits.names.push_back(common_name(random, habits, part, has_unit));
  }
  if (has_own_names || !habits.has_header) tell_columns(habits);
}

}  // namespace

std::size_t TableHabits::index_of(Part part) const {
  return static_cast<std::size_t>(std::ranges::find(columns, part) - columns.begin());
}

bool TableHabits::is_shown_by(std::string_view line) const {
  constexpr std::string_view marks = ";,\t|";  // the first wins if two occur as often
  std::array<std::size_t, marks.size()> counts{};
  bool is_quoted = false;
  char before = separator;
  for (const char byte : line) {
    if (byte == '"' && (is_quoted || before == separator)) is_quoted = !is_quoted;
    const std::size_t mark = marks.find(byte);
    if (!is_quoted && mark != std::string_view::npos) ++counts[mark];
    before = byte;
  }
  const auto most = std::ranges::max_element(counts);
  if (is_blank) return *most == 0;
  return marks[static_cast<std::size_t>(most - counts.begin())] == separator;
}

bool TableHabits::must_quote(std::string_view field) const {
  if (field.starts_with('"') || field.find_first_of("\r\n") != std::string_view::npos) return true;
  if (is_blank) return field.empty() || field.find_first_of(" \t") != std::string_view::npos;
  return field.find(separator) != std::string_view::npos;
}

TableHabits draw_habits(Random& random) {
  TableHabits habits;
  draw_format(random, habits);
  draw_time_style(random, habits);
  draw_columns(random, habits);
  draw_names(random, habits);
  return habits;
}

}  // namespace starling::sim
