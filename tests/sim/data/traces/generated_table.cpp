// SPDX-License-Identifier: Apache-2.0
// Makes dirty tables: see generated_table.hpp. TableMaker draws the habits of one author, then
// writes the head and row after row.
#include "tests/sim/data/traces/generated_table.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "tests/sim/data/traces/spelled_values.hpp"
#include "tests/sim/data/traces/table_habits.hpp"
#include "tests/sim/data/traces/text_coding.hpp"

namespace starling::sim {
namespace {

using test::Random;
using Texts = std::vector<std::string>;

const Texts plain_ids{"7", "bus-5", "Müller", "日本", "🚌8", "0042", "x1e5"};
const Texts odd_ids{"#101", "NA",     "null", "-",    "N/A",         "0x5",        "sep=",
                    "a b",  "5\" p",  "a,b",  "a;b",  "a|b",         "tab\there",  "two\nlines",
                    "#",    "cr\rid", "None", "\\N",  "say \"hi\"",  "crlf\r\nid", "\"\"",
                    "1.50", "+8",     "NaN",  "#\"7", "\"in\" front"};
const Texts missing_words{"",     "NaN",  "nan", "NA",  "N/A", "n/a", "null",
                          "NULL", "None", "nil", "\\N", "-",   "--",  "---"};
const Texts notes{"",      "",  "x", "a \"quote\"", "\"", "# 5", "a;b,c|d", "two\r\nlines",
                  "tab\t", "5'"};
// The last text is a number in a table with decimal commas.
const Texts bad_numbers{"abc",   "12x", "1,2,3", "1e",  "0x10", "1 2", "--5",
                        "1.2.3", ".",   "+",     "+-5", "e5",   "5..", "1,234"};
const Texts bad_times{"noon",
                      "12x",
                      "2022-13-01 00:00",
                      "2022-02-30T00:00:00Z",
                      "2022-01-03 25:00:00",
                      "2022-01-03 00:61",
                      "2022-01-03T",
                      "2022-01",
                      "20220103T00",
                      "03/20/2021",
                      "2022-01-03 00:10 XYZ",
                      "1,2,3"};
const Texts bad_dates{"noon", "2022-13-01", "2022-02-30", "03/20/2021", "1.2"};
const Texts bad_clocks{"noon", "25:00:00", "00:61", "00:10:61", "::", "600"};
const Texts bad_tags{"2.5", "-1", "4294967296", "0x", "abc", "1e10", "0x1FFFFFFFF", "1 2"};
const Texts too_large{"91.5", "-90.001", "404.97812", "1000", "-1e3"};

unsigned day_of(std::int64_t time_us) {
  const auto days = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(time_us)));
  return static_cast<unsigned>(std::chrono::year_month_day(days).day());
}

class TableMaker {
 public:
  explicit TableMaker(std::uint64_t seed) : random_(seed), habits_(draw_habits(random_)) {}

  GeneratedTable make() {
    table_.options = habits_.options;
    if (!habits_.is_json) write_head();
    const std::uint64_t count = 1 + random_.below(12);
    for (std::uint64_t row = 0; row < count; ++row) add_row(row == 0, row + 1 == count);
    if (habits_.is_array) text_ += ']';
    table_.bytes = coded(random_, text_);
    return std::move(table_);
  }

 private:
  const std::string& pick(const Texts& texts) { return random_.pick(texts); }
  bool chance(double probability) { return random_.chance(probability); }
  const std::string& line_end() { return pick(habits_.line_ends); }
  std::string& value_of(Part part) { return values_[static_cast<std::size_t>(part)]; }

  void write_head() {
    if (habits_.names_separator) text_ += std::string("sep=") + habits_.separator + line_end();
    while (chance(0.1)) {
      if (chance(0.5)) text_ += habits_.has_header ? "# a,b;\tmade \"by hand" : "# \"made\"";
      text_ += line_end();
    }
    if (!habits_.has_header) return;
    std::string line = header();
    while (!habits_.names_separator && !habits_.is_shown_by(line)) {
      for (std::size_t at = 0; at < habits_.columns.size(); ++at)
        if (habits_.columns[at] >= Part::note)
          habits_.names[at] = habits_.columns[at] == Part::note ? "n" : "m";
      line = header();
    }
    text_ += (habits_.has_hash ? "#" : "") + line + line_end();
  }

  std::string header() {
    std::string line;
    for (std::size_t at = 0; at < habits_.names.size(); ++at) {
      const std::string& name = habits_.names[at];
      if (at > 0) line += habits_.separator;
      if (at > 0 && habits_.is_spaced && !habits_.must_quote(name))
        line += ' ' + name;
      else
        line += habits_.has_hash ? name : quoted(name);
    }
    return line;
  }

  /// Adds a row. If the first row must show the author's habits, it is a plain one.
  void add_row(bool is_first, bool is_last) {
    if (is_first)
      is_undecided_ = !habits_.has_header || habits_.has_hash;
    else
      is_undecided_ = is_undecided_ && value_of(Part::id) == "#101";
    is_plain_ =
        is_undecided_ || (is_first && (habits_.has_comma || habits_.shows_day || habits_.is_json));
    joins_clock_ = habits_.is_blank;
    cut_ = habits_.columns.size();
    beyond_.clear();
    KnownRow row = good_row(is_first);
    const std::optional<SkipReason> fault = !is_plain_ && chance(0.2) ? spoil(row) : std::nullopt;
    if (habits_.is_json)
      add_object(is_first, is_last);
    else
      add_line(is_last);
    if (fault)
      ++table_.skipped[static_cast<std::size_t>(*fault)];
    else
      table_.rows.push_back(std::move(row));
  }

  KnownRow good_row(bool is_first) {
    KnownRow row;
    row.id = is_plain_ || chance(0.6) ? pick(plain_ids) : pick(odd_ids);
    if (is_undecided_ && !habits_.has_header && chance(0.2)) row.id = "#101";
    value_of(Part::id) = row.id;
    draw_time(row, is_first);
    row.x = draw_coordinate(Part::x, is_first);
    row.y = draw_coordinate(Part::y, is_first);
    value_of(Part::note) = is_plain_ ? "x" : pick(notes);
    if (!is_plain_ && chance(0.0003))  // longer than the head of a file, or than one read
      value_of(Part::note).append((chance(0.5) ? 65'000 : 261'600) + random_.below(1'000), 'n');
    value_of(Part::other) = "5";
    value_of(Part::tags) = pick(missing_words);
    if (habits_.has(Part::tags) && chance(0.6)) {
      constexpr std::array<std::uint32_t, 6> some{0, 1, 5, 10, 123'456, 4'294'967'295};
      row.tags = some[random_.below(some.size())];
      value_of(Part::tags) =
          spelled_tags(random_, *row.tags, habits_.has_comma && !is_plain_ ? ',' : '.');
    }
    return row;
  }

  void draw_time(KnownRow& row, bool is_first) {
    TimeStyle style = habits_.time;
    if (!is_plain_) {
      style.mark = habits_.has_comma ? ',' : '.';
      style.has_comma = chance(0.1);
      if (!style.is_apart && !habits_.counts_both && chance(0.1))
        style.form = static_cast<TimeForm>(random_.below(4));
    }
    do row.time_us = draw_time_us(random_, style);
    while (is_first && habits_.shows_day &&
           (day_of(row.time_us) < 14 || day_of(row.time_us) > 27));  // the day is above 12 in every
                                                                     // zone
    const SpelledTime time = spelled_time(random_, row.time_us, style);
    value_of(style.is_apart ? Part::date : Part::time) = time.text;
    if (style.is_apart) value_of(Part::time) = time.clock;
  }

  /// Draws a coordinate, puts its text into the row, and returns its value. A latitude is never 0
  /// by chance.
  double draw_coordinate(Part part, bool is_first) {
    const bool shows_comma = is_first && habits_.has_comma;
    const std::uint64_t limit = habits_.is_planar ? 1'000'000 : part == Part::x ? 180 : 90;
    const std::size_t decimals = shows_comma ? 5 : random_.below(chance(0.1) ? 25 : 9);
    Decimal number;
    do number = draw_decimal(random_, chance(0.1) ? 1 : limit, decimals);
    while (part == Part::y && number.value() == 0);
    const char mark = habits_.has_comma ? ',' : '.';
    value_of(part) = shows_comma ? number.plain(mark) : spelled(random_, number, mark);
    return number.value();
  }

  /// Puts one fault, or one oddity, into the row. Returns why the row is skipped, if it is.
  std::optional<SkipReason> spoil(KnownRow& row) {
    switch (random_.below(habits_.has_header && !habits_.is_json ? 8 : 7)) {
      case 0:
        return leave_out_value();
      case 1:
        value_of(chance(0.5) ? Part::x : Part::y) = pick(
            habits_.has_comma ? Texts(bad_numbers.begin(), bad_numbers.end() - 1) : bad_numbers);
        return SkipReason::unparsable;
      case 2:
        return spoil_time();
      case 3:
        if (!habits_.has(Part::tags)) return std::nullopt;
        value_of(Part::tags) = pick(bad_tags);
        return SkipReason::unparsable;
      case 4:
        value_of(Part::y) = habits_.is_planar ? "1e12" : pick(too_large);
        if (habits_.has_comma) std::ranges::replace(value_of(Part::y), '.', ',');
        return SkipReason::out_of_range;
      case 5:
        row.x = row.y = 0;
        value_of(Part::x) = value_of(Part::y) = pick({"0", "00", "0e0", "+0"});
        if (habits_.is_planar || habits_.options.keep_null_island) return std::nullopt;
        return SkipReason::null_island;
      case 6:
        return habits_.is_json ? std::nullopt : cut(row);
      default:
        if (chance(0.5)) beyond_.push_back(habits_.is_blank ? "\"\"" : "");
        if (chance(0.5)) return std::nullopt;
        beyond_.push_back("more");
        return SkipReason::too_many_fields;
    }
  }

  SkipReason leave_out_value() {
    std::vector<Part> needed{Part::id, Part::x, Part::y};
    if (!habits_.counts_both) needed.push_back(Part::time);
    if (habits_.time.is_apart) needed.push_back(Part::date);
    const Part part = random_.pick(needed);
    value_of(part) = part == Part::id ? "" : pick(missing_words);
    joins_clock_ = joins_clock_ && part != Part::time;
    return SkipReason::missing_field;
  }

  std::optional<SkipReason> spoil_time() {
    if (habits_.counts_both) return std::nullopt;
    const bool month_is_first = habits_.time.order == DateOrder::month_first;
    joins_clock_ = false;
    if (!habits_.time.is_apart)
      value_of(Part::time) = month_is_first ? "20/03/2021" : pick(bad_times);
    else if (chance(0.5))
      value_of(Part::time) = pick(bad_clocks);
    else
      value_of(Part::date) = month_is_first ? "2022-13-01" : pick(bad_dates);
    return SkipReason::unparsable;
  }

  /// Leaves out the last columns. Returns why the row is skipped, if it is.
  std::optional<SkipReason> cut(KnownRow& row) {
    const std::vector<Part>& columns = habits_.columns;
    const bool is_comment = !habits_.has_header && row.id.starts_with('#');
    if (value_of(columns[0]).empty() || is_comment) return std::nullopt;
    cut_ = 1 + random_.below(columns.size());
    // After a date, the clock time may also be a column that the header names.
    const std::size_t behind = habits_.index_of(Part::time) + 1;
    if (joins_clock_ && behind < columns.size() && columns[behind] >= Part::note)
      cut_ = std::min(cut_, behind);
    const auto is_left_out = [&](Part part) {
      return habits_.has(part) && habits_.index_of(part) >= cut_;
    };
    if (is_left_out(Part::tags)) row.tags.reset();
    for (const Part part : {Part::id, Part::date, Part::time, Part::x, Part::y})
      if (is_left_out(part)) return SkipReason::missing_field;
    return std::nullopt;
  }

  std::string quoted(const std::string& field) {
    if (!habits_.must_quote(field) && !habits_.quotes_all && !chance(0.03)) return field;
    std::string result = "\"";
    for (const char byte : field) result.append(byte == '"' ? 2 : 1, byte);
    return result + '"';
  }

  /// Returns the field with quotes if it needs them. Some fields have a space in front.
  std::string field_of(Part part, bool is_first) {
    const std::string& value = value_of(part);
    if (part == Part::time && joins_clock_ && (habits_.counts_both || !chance(0.1))) return value;
    const std::string field = quoted(value);
    const bool may_pad = !is_first && part < Part::note && !field.starts_with('"');
    return may_pad && habits_.is_spaced ? ' ' + field : field;
  }

  std::string between() {
    std::string marks{habits_.separator};
    // A tab in the line that shows the separator would be the separator.
    while (habits_.is_blank && !is_undecided_ && chance(0.2)) marks += chance(0.5) ? ' ' : '\t';
    return marks;
  }

  void add_line(bool is_last) {
    if (habits_.is_blank && chance(0.1)) text_ += ' ';
    for (std::size_t at = 0; at < cut_; ++at)
      text_ += (at > 0 ? between() : "") + field_of(habits_.columns[at], at == 0);
    for (const std::string& field : beyond_) text_ += between() + field;
    if (!is_last || chance(0.7)) text_ += line_end();
    while (chance(0.05)) text_ += line_end();
  }

  void add_object(bool is_first, bool is_last) {
    std::string object;
    for (std::size_t at = 0; at < habits_.columns.size(); ++at) {
      const Part part = habits_.columns[at];
      const std::string& value = value_of(part);
      const bool may_lack = value.empty() && !is_first;
      if (may_lack && chance(0.3)) continue;
      object += (object.empty() ? "" : ",") + json_string(random_, habits_.names[at]);
      object += chance(0.5) ? ": " : ":";
      if (part == Part::other)
        object += R"([1,{"lat":5,"id":"n"}])";
      else if (may_lack && chance(0.5))
        object += "null";
      else
        object += is_json_number(value) && chance(0.7) ? value : json_string(random_, value);
    }
    if (habits_.is_array) text_ += is_first ? "[" : ",";
    text_ += '{' + object + '}' + (is_last && chance(0.5) ? "" : line_end());
  }

  Random random_;
  TableHabits habits_;
  GeneratedTable table_;
  std::string text_;
  // The row that is being made.
  std::array<std::string, part_count> values_;
  Texts beyond_;               ///< fields without a column
  std::size_t cut_ = 0;        ///< number of columns that are written
  bool is_undecided_ = false;  ///< this row's line may show the separator
  bool is_plain_ = false;
  bool joins_clock_ = false;  ///< blanks may stand between date and clock time without quotes
};

}  // namespace

GeneratedTable generated_table(std::uint64_t seed) {
  return TableMaker(seed).make();
}

}  // namespace starling::sim
