// SPDX-License-Identifier: Apache-2.0
// The table of names, and the rules that choose among them: see common_headers.hpp.
#include "starling/sim/data/traces/common_headers.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

enum HeaderPart : std::size_t {
  of_id,
  of_time,
  of_x,
  of_y,
  of_z,
  of_lon,
  of_lat,
  of_alt,
  of_tags,
  of_date,
  part_count
};

struct CommonName {
  std::string_view name;  ///< the name in lower case
  HeaderPart part;
  std::optional<TimeUnit> unit{};
};

constexpr std::array<CommonName, 45> common_names{{
    {"id", of_id},
    {"object_id", of_id},
    {"mmsi", of_id},
    {"icao24", of_id},
    {"vehicle_id", of_id},
    {"vehicle", of_id},
    {"taxi_id", of_id},
    {"driver_id", of_id},
    {"device_id", of_id},
    {"trip_id", of_id},
    {"track_id", of_id},
    {"track", of_id},
    {"time", of_time},
    {"timestamp", of_time},
    {"ts", of_time},
    {"t", of_time},
    {"datetime", of_time},
    {"date_time", of_time},
    {"basedatetime", of_time},
    {"base_date_time", of_time},
    {"time_ns", of_time, TimeUnit::nanoseconds},
    {"time_us", of_time, TimeUnit::microseconds},
    {"time_ms", of_time, TimeUnit::milliseconds},
    {"time_s", of_time, TimeUnit::seconds},
    {"timestamp_us", of_time, TimeUnit::microseconds},
    {"timestamp_ms", of_time, TimeUnit::milliseconds},
    {"timestamp_s", of_time, TimeUnit::seconds},
    {"ts_us", of_time, TimeUnit::microseconds},
    {"ts_ms", of_time, TimeUnit::milliseconds},
    {"ts_s", of_time, TimeUnit::seconds},
    {"lat", of_lat},
    {"latitude", of_lat},
    {"lon", of_lon},
    {"lng", of_lon},
    {"long", of_lon},
    {"longitude", of_lon},
    {"alt", of_alt},
    {"altitude", of_alt},
    {"x", of_x},
    {"y", of_y},
    {"z", of_z},
    {"x_m", of_x},
    {"y_m", of_y},
    {"tags", of_tags},
    {"date", of_date},
}};

constexpr std::array<std::string_view, part_count> part_words{
    "the id",       "the time",     "x",        "y",       "z", "the longitude",
    "the latitude", "the altitude", "the tags", "the date"};

/// The columns that each part may come from.
struct Candidates {
  std::array<std::vector<std::string>, part_count> names;
  std::optional<TimeUnit> time_unit;

  bool has(HeaderPart part) const { return !names[part].empty(); }
  bool is_geographic() const { return has(of_lat) || has(of_lon); }
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

Candidates candidates_in(std::span<const std::string> header) {
  Candidates candidates;
  for (const std::string& column : header) {
    std::string_view text = trim(column);
    if (&column == header.data() && text.starts_with('#')) text = trim(text.substr(1));
    const auto known = std::ranges::find(common_names, lower_case(text), &CommonName::name);
    if (known == common_names.end()) continue;
    candidates.names[known->part].emplace_back(text);
    if (known->part == of_time) candidates.time_unit = known->unit;
  }
  return candidates;
}

std::string fault_of(const Candidates& candidates) {
  if (std::ranges::all_of(candidates.names, [](const auto& names) { return names.empty(); }))
    return {};
  for (const HeaderPart part : {of_id, of_time})
    if (!candidates.has(part))
      return "its header has no column for " + std::string(part_words[part]);
  const bool geographic = candidates.is_geographic();
  const bool planar = candidates.has(of_x) || candidates.has(of_y);
  if (geographic && planar) return "its header has columns of degrees and columns of metres";
  const std::array<HeaderPart, 2> position = geographic ? std::array<HeaderPart, 2>{of_lat, of_lon}
                                                        : std::array<HeaderPart, 2>{of_x, of_y};
  if (!geographic && !planar) return "its header has no columns for a position";
  for (const HeaderPart part : position)
    if (!candidates.has(part))
      return "its header has no column for " + std::string(part_words[part]);
  for (std::size_t part = 0; part < part_count; ++part) {
    const std::vector<std::string>& names = candidates.names[part];
    if (names.size() > 1)
      return "its header has more than one column for " + std::string(part_words[part]) + ": " +
             printable_text(names[0]) + " and " + printable_text(names[1]);
  }
  return {};
}

}  // namespace

std::optional<CommonColumns> find_common_columns(std::span<const std::string> header) {
  const Candidates candidates = candidates_in(header);
  if (!candidates.has(of_id) || !fault_of(candidates).empty()) return std::nullopt;
  CommonColumns found;
  found.time_unit = candidates.time_unit;
  found.columns.geographic = candidates.is_geographic();
  const std::array<HeaderPart, 6> parts =
      found.columns.geographic
          ? std::array<HeaderPart, 6>{of_id, of_time, of_lon, of_lat, of_alt, of_tags}
          : std::array<HeaderPart, 6>{of_id, of_time, of_x, of_y, of_z, of_tags};
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (candidates.has(parts[i])) found.columns.names[i] = candidates.names[parts[i]].front();
  if (candidates.has(of_date)) {
    found.columns.clock = found.columns.names[1];
    found.columns.names[1] = candidates.names[of_date].front();
  }
  return found;
}

CommonColumn common_column_of(std::string_view name) {
  const auto known = std::ranges::find(common_names, lower_case(trim(name)), &CommonName::name);
  if (known == common_names.end()) return CommonColumn::other;
  switch (known->part) {
    case of_id:
      return CommonColumn::id;
    case of_time:
      return CommonColumn::time;
    case of_date:
      return CommonColumn::date;
    case of_tags:
      return CommonColumn::tags;
    default:
      return CommonColumn::other;
  }
}

std::string fault_of_header(std::span<const std::string> header) {
  return fault_of(candidates_in(header));
}

std::string common_column_names() {
  std::string text;
  for (const HeaderPart part : {of_id, of_time, of_lat, of_lon, of_x, of_y}) {
    text += (text.empty() ? "for " : "; for ") + std::string(part_words[part]) + ": ";
    const char* before = "";
    for (const CommonName& known : common_names) {
      if (known.part != part) continue;
      text.append(before).append(known.name);
      before = ", ";
    }
  }
  return text;
}

}  // namespace starling::sim
