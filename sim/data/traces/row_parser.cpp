// SPDX-License-Identifier: Apache-2.0
// Checks id, time, position and tags of a row: see row_parser.hpp.
#include "starling/sim/data/traces/row_parser.hpp"

#include <array>
#include <cmath>
#include <string>

#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim {
namespace {

constexpr std::int64_t year_1980_us = 315'532'800'000'000;
constexpr std::int64_t day_us = 86'400'000'000;
constexpr std::string_view position_at = "position at";

std::string advice_out_of_range(const RowRules& rules, std::string_view what,
                                std::string_view text) {
  if (what == position_at && rules.keep_far) return "; without --max-speed-mps it is kept";
  if (what == position_at && rules.geographic)
    return "; replay may reach it with a coarser --resolution";
  if (what == position_at)
    return "; replay may reach it with an --origin near the positions or a coarser --resolution";
  constexpr double longitude_max = 180;
  const auto value = parse_number(text);
  const bool may_be_longitude = value && std::abs(*value) <= longitude_max;
  return what == "latitude" && may_be_longitude ? "; are longitude and latitude swapped?" : "";
}

std::string sentence(const RowRules& rules, SkipReason reason, std::string_view what,
                     std::string_view text) {
  switch (reason) {
    case SkipReason::missing_field:
      return "the " + std::string(what) + " is missing";
    case SkipReason::unparsable:
      return "the " + std::string(what) + " " + quoted_text(text) + " cannot be understood" +
             (what == "time" && text.find_first_of("/-") == text.find_first_not_of("0123456789") &&
                      text.find_first_of("/-") - 1 < 2
                  ? "; --date-order says whether the day or the month comes first"
                  : "");
    case SkipReason::out_of_range:
      return "the " + std::string(what) + " " + quoted_text(text) + " is out of range" +
             advice_out_of_range(rules, what, text);
    case SkipReason::null_island:
      return "the position is exactly 0, 0, which --keep-null-island would keep";
    case SkipReason::too_fast:
      return "the position is farther from the object's last than --max-speed-mps allows";
    case SkipReason::too_many_fields:
      return beyond_the_header(text);
  }
  return "";
}

}  // namespace

std::optional<TraceRow> RowParser::parse(const RowText& text, std::string_view path) {
  TraceRow row;
  if (const std::optional<Fault> fault = parse_values(text, row)) {
    skip(*fault, path);
    return std::nullopt;
  }
  const std::string_view id = trim(text.id.text);
  const NameTable::Interned interned = names_.intern(id);
  if (interned.collides) {
    NameTable::NumberText buffer;
    throw InputError(path, text.id.line, text.id.column,
                     "the ids " + quoted_text(id) + " and " +
                         quoted_text(names_.text_of(interned.id, buffer)) +
                         " have the same 64-bit hash; rename one of them");
  }
  row.id = ObjectId{interned.id};
  if (speed_limit_ && !speed_limit_->keeps(row)) {
    skip({SkipReason::too_fast, &text.x, ""}, path);
    return std::nullopt;
  }
  if (interned.is_latin1 && counts_.latin1_rows++ == 0)
    counts_.first_latin1 =
        InputError(path, text.id.line, text.id.column, "the id " + quoted_text(to_utf8(id))).what();
  ++counts_.rows;
  note_time(row, text.time, path);
  return row;
}

void RowParser::note_time(const TraceRow& row, const Field& time, std::string_view path) {
  ++rows_;
  if (!rules_.geographic || (row.time_us >= year_1980_us && row.time_us <= rules_.newest_time_us))
    return;
  if (odd_times_++ == 0)
    first_odd_time_ =
        InputError(path, time.line, time.column, "the time " + quoted_text(trim(time.text))).what();
  if (row.time_us >= 0 && row.time_us <= day_us) ++times_from_zero_;
  if (counts_.odd_times++ == 0) counts_.first_odd_time = first_odd_time_;
}

void RowParser::refuse_odd_times(std::string_view path) const {
  if (odd_times_ == 0 || odd_times_ < rows_ || times_from_zero_ == rows_ || rules_.any_time) return;
  throw InputError(std::string(path) +
                   ": all times are from before 1980 or from more than a year " +
                   "ahead; --time-unit may mend that, and --from reads them as they are; the " +
                   "first: " + first_odd_time_);
}

std::optional<RowParser::Fault> RowParser::parse_values(const RowText& text, TraceRow& row) const {
  if (!text.beyond.text.empty()) return Fault{SkipReason::too_many_fields, &text.beyond, ""};
  if (trim(text.id.text).empty()) return Fault{SkipReason::missing_field, &text.id, "id"};
  const std::string_view time = trim(text.time.text);
  if (is_missing(time)) return Fault{SkipReason::missing_field, &text.time, "time"};
  std::string changed;
  const std::optional<std::int64_t> time_us =
      parse_time_us(with_decimal_point(time, rules_.decimal_mark, changed), rules_.time);
  if (!time_us) return Fault{SkipReason::unparsable, &text.time, "time"};
  row.time_us = *time_us;
  if (const std::optional<Fault> fault = parse_position(text, row)) return fault;
  const std::string_view tags_text = trim(text.tags.text);
  if (is_missing(tags_text)) return std::nullopt;
  const std::optional<std::uint32_t> tags =
      parse_tag_bits(with_decimal_point(tags_text, rules_.decimal_mark, changed));
  if (!tags) return Fault{SkipReason::unparsable, &text.tags, "tag number"};
  row.tags = *tags;
  row.has_tags = true;
  return std::nullopt;
}

std::optional<RowParser::Fault> RowParser::parse_position(const RowText& text,
                                                          TraceRow& row) const {
  const std::array<const Field*, 3> fields{&text.x, &text.y, &text.z};
  const std::array<std::string_view, 3> words =
      rules_.geographic ? std::array<std::string_view, 3>{"longitude", "latitude", "altitude"}
                        : std::array<std::string_view, 3>{"x", "y", "z"};
  for (std::size_t axis = 0; axis < (rules_.needs_z ? 3 : 2); ++axis) {
    const std::string_view value_text = trim(fields[axis]->text);
    if (is_missing(value_text)) return Fault{SkipReason::missing_field, fields[axis], words[axis]};
    const std::optional<double> value = parse_number(value_text, rules_.decimal_mark);
    if (!value) return Fault{SkipReason::unparsable, fields[axis], words[axis]};
    if (rules_.ais_positions && *value == (axis == 0 ? 181 : 91))
      return Fault{SkipReason::missing_field, fields[axis], words[axis]};
    row.position[axis] = *value;
  }
  row.position[2] *= rules_.z_unit_m;
  switch (lattice_.error_of(row.position)) {
    case PositionError::none:
      break;
    case PositionError::latitude_out_of_range:
      return Fault{SkipReason::out_of_range, fields[1], words[1]};
    case PositionError::longitude_out_of_range:
      return Fault{SkipReason::out_of_range, fields[0], words[0]};
    case PositionError::out_of_range:
      if (rules_.keep_far && !speed_limit_) break;
      return Fault{SkipReason::out_of_range, fields[0], position_at};
    case PositionError::not_finite: {
      std::size_t axis = 0;
      while (std::isfinite(row.position[axis])) ++axis;
      return Fault{SkipReason::out_of_range, fields[axis], words[axis]};
    }
  }
  if (rules_.geographic && !rules_.keep_null_island && row.position[0] == 0 && row.position[1] == 0)
    return Fault{SkipReason::null_island, fields[0], ""};
  return std::nullopt;
}

void RowParser::skip(const Fault& fault, std::string_view path) {
  std::string& first = counts_.first_skipped[static_cast<std::size_t>(fault.reason)];
  if (rules_.strict || first.empty()) {
    const InputError error(path, fault.field->line, fault.field->column,
                           sentence(rules_, fault.reason, fault.what, trim(fault.field->text)) +
                               (rules_.strict ? " (--strict stops here)" : ""));
    if (rules_.strict) throw error;
    first = error.what();
  }
  ++counts_[fault.reason];
}

}  // namespace starling::sim
