// SPDX-License-Identifier: Apache-2.0
// The table of layouts, and the functions that recognise a file's layout: see layout.hpp.
#include "starling/sim/data/traces/layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/traces/common_headers.hpp"
#include "starling/sim/data/traces/csv_table.hpp"
#include "starling/sim/data/traces/record_readers.hpp"

namespace starling::sim {
namespace {

// The head is this large because SUMO writes its whole configuration into a comment before the root
// element.
constexpr std::size_t head_bytes = 64 << 10;

constexpr std::size_t required_parts = 4;  // id, time, x, y; altitude and tags may be absent

/// Returns the complete lines of the head.
std::string_view whole_lines(const FileHead& head) {
  const std::string_view text = head.text;
  return head.is_cut ? text.substr(0, text.find_last_of("\r\n") + 1) : text;
}

/// Returns the first record of `head` that has all columns of the layout, or null. Altitude and
/// tags may be missing.
const std::vector<std::string>* find_header(const Layout& layout, const FileHead& head) {
  const Columns columns = parse_columns(layout.columns);
  for (const std::vector<std::string>& record : head.records)
    if (has_columns(record, columns)) return &record;
  return nullptr;
}

/// Passes the head's complete records to `handler`, up to the first that cannot be read.
template <class Handler>
void for_each_record(const FileHead& head, const Handler& handler) {
  try {
    TextInput input("", whole_lines(head));
    CsvReader reader(input);
    for (std::vector<Field> fields; reader.next(fields);) handler(fields);
  } catch (const InputError&) {  // a quote is left open
  }
}

bool is_sumo(const FileHead& head) {
  return head.text.find("<fcd-export") != std::string::npos;
}

bool is_gpx(const FileHead& head) {
  return head.first() == '<' && (head.text.find("<gpx") != std::string::npos ||
                                 head.text.find(":gpx") != std::string::npos);
}

bool is_geolife(const FileHead& head) {
  return head.text.starts_with("Geolife trajectory");
}

bool is_geojson(const FileHead& head) {
  return head.first() == '{' && head.text.find("\"FeatureCollection\"") != std::string::npos;
}

/// Other programs write icao24 and timestamp, too, but with other names for the position.
bool is_opensky(const FileHead& head) {
  if (head.first() != '[' || head.text.find("\"icao24\"") == std::string::npos ||
      head.text.find("\"timestamp\"") == std::string::npos)
    return false;
  const auto common = find_common_columns(keys_of_first_record(head.text));
  return !common || (common->columns.x() == "longitude" && common->columns.y() == "latitude");
}

bool is_integer(std::string_view text, std::size_t digits_min) {
  return text.size() >= digits_min &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns the first record if it has four fields and no header precedes it, otherwise null. A line
/// that begins with '#' counts as a header if it has four fields.
const std::vector<std::string>* first_of_four(const FileHead& head) {
  const auto has_four = [](const std::vector<std::string>& record) { return record.size() == 4; };
  if (std::ranges::count_if(head.records, has_four) != 1 || !has_four(head.records.back()))
    return nullptr;
  return &head.records.back();
}

/// T-Drive's longitudes are those of Beijing, which exceed 90. A third column without a number
/// above 90 could also hold latitudes.
bool is_tdrive(const FileHead& head) {
  const std::vector<std::string>* const first = first_of_four(head);
  if (first == nullptr) return false;
  const std::vector<std::string>& record = *first;
  if (!is_integer(record[0], 1) || record[1].find(' ') == std::string::npos ||
      !parse_time_us(record[1], {}) || !parse_number(record[2]) || !parse_number(record[3]))
    return false;
  constexpr double latitude_max = 90;
  bool is_longitude = false;
  for_each_record(head, [&](const std::vector<Field>& fields) {
    const auto third = fields.size() == 4 ? parse_number(fields[2].text) : std::nullopt;
    is_longitude = is_longitude || (third && std::abs(*third) > latitude_max);
  });
  return is_longitude;
}

bool is_cabspotting(const FileHead& head) {
  const std::vector<std::string>* const first = first_of_four(head);
  if (first == nullptr) return false;
  const std::vector<std::string>& record = *first;
  const auto has_point = [](const std::string& text) {
    return text.find('.') != std::string::npos;
  };
  return parse_number(record[0]) && parse_number(record[1]) && has_point(record[0]) &&
         has_point(record[1]) && (record[2] == "0" || record[2] == "1") && is_integer(record[3], 9);
}

/// Returns true for a date such as 31/12/2022: its year is not first, and its first number is too
/// large for a month. Dates with the month first are not searched for, because they are read only
/// with --date-order.
bool has_day_first(std::string_view text) {
  constexpr int months = 12;
  text = trim(text);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  return error == std::errc() && digits == 2 && number > months && digits < text.size() &&
         (text[digits] == '/' || text[digits] == '-');
}

/// Returns true if the positions of a SUMO file look like degrees: SUMO writes metres with two
/// decimals, and degrees with six.
bool has_degrees(const FileHead& head) {
  constexpr std::size_t decimals_min = 5;
  bool is_degrees = true;
  bool has_rows = false;
  const auto look = [&](const Field& field, double most) {
    const auto value = parse_number(field.text);
    const std::size_t point = std::min(field.text.find('.'), field.text.size());
    is_degrees =
        is_degrees && value && std::abs(*value) <= most && field.text.size() - point > decimals_min;
    has_rows = true;
  };
  try {
    TextInput input("", std::string_view(head.text));
    read_sumo_records(input, {}, [&](const RowText& row) {
      look(row.x, 180);
      look(row.y, 90);
    });
  } catch (const InputError&) {  // the head is cut, or damaged
  }
  return has_rows && is_degrees;
}

bool is_never_guessed(const FileHead&) {
  return false;
}

constexpr double foot_m = 0.3048;

constexpr std::array<Layout, 16> table{{
    {.name = "sumo",
     .title = "SUMO FCD",
     .columns = "id=id,time=time,x=x,y=y,z=z",
     .time_unit = TimeUnit::seconds,
     .has_clock_from_zero = true,
     .either_space = true,
     .read = read_sumo_records,
     .mark = "begins with <fcd-export",
     .recognises = is_sumo},
    {.name = "ais",
     .title = "MarineCadastre AIS",
     .columns = "id=MMSI,time=BaseDateTime,lat=LAT,lon=LON",
     .ais_positions = true,
     .read = read_csv_records},
    {.name = "ais-2025",
     .title = "MarineCadastre AIS of 2025",
     .columns = "id=mmsi,time=base_date_time,lat=latitude,lon=longitude",
     .ais_positions = true,
     .read = read_csv_records},
    {.name = "ais-danish",
     .title = "Danish AIS",
     .columns = "id=MMSI,time=# Timestamp,lat=Latitude,lon=Longitude",
     .date_order = DateOrder::day_first,
     .ais_positions = true,
     .read = read_csv_records},
    {.name = "opensky",
     .title = "OpenSky records",
     .columns = "id=icao24,time=timestamp,lat=latitude,lon=longitude,alt=altitude",
     .z_unit_m = foot_m,
     .read = read_json_records,
     .mark = "an array of records with icao24 and timestamp",
     .recognises = is_opensky},
    {.name = "tdrive",
     .title = "T-Drive",
     .columns = "id=1,time=2,lon=3,lat=4",
     .read = read_csv_records,
     .mark = "no header, begins with number,date and time,number,number",
     .recognises = is_tdrive},
    {.name = "cabspotting",
     .title = "cabspotting",
     .columns = "id=@file,lat=1,lon=2,tags=3,time=4",
     .time_unit = TimeUnit::seconds,
     .file_name_prefix = "new_",
     .read = read_csv_records,
     .mark = "no header, begins with number number 0-or-1 seconds",
     .recognises = is_cabspotting},
    {.name = "geolife",
     .title = "GeoLife trajectories",
     .columns = "id=@file,time=6+7,lat=1,lon=2,alt=4",
     .z_unit_m = foot_m,
     .head_records = 6,
     .separator = ',',
     .read = read_csv_records,
     .mark = "begins with Geolife trajectory",
     .recognises = is_geolife},
    {.name = "gpx",
     .title = "GPX tracks",
     .columns = "id=name,time=time,lat=lat,lon=lon,alt=ele",
     .read = read_gpx_records,
     .mark = "has <gpx",
     .recognises = is_gpx},
    {.name = "geojson",
     .title = "GeoJSON points",
     .columns = "id=id,time=time,lon=lon,lat=lat,alt=alt,tags=tags",
     .read = read_geojson_records,
     .mark = "has \"FeatureCollection\"",
     .recognises = is_geojson},
    {.name = "porto",
     .title = "Porto taxi trips",
     .columns = "id=TAXI_ID,time=TIMESTAMP,lon=POLYLINE,lat=POLYLINE,tags=MISSING_DATA",
     .time_unit = TimeUnit::seconds,
     .read = read_trip_records},
    {.name = "gtfs",
     .title = "GTFS-realtime positions",
     .columns = "id=vehicle_id,time=timestamp,lat=latitude,lon=longitude",
     .read = read_csv_records},
    {.name = "starling-lonlat",
     .title = "Starling CSV",
     .columns = "id=id,time=time_us,lon=lon,lat=lat,alt=alt,tags=tags",
     .time_unit = TimeUnit::microseconds,
     .altitude_counts = true,
     .read = read_csv_records},
    {.name = "starling-xy",
     .title = "Starling CSV",
     .columns = "id=id,time=time_us,x=x,y=y,z=z,tags=tags",
     .time_unit = TimeUnit::microseconds,
     .read = read_csv_records},
    {.name = "json",
     .title = "JSON records",
     .columns = "",
     .read = read_json_records,
     .recognises = is_never_guessed},
    {.name = "csv",
     .title = "CSV",
     .columns = "",
     .read = read_csv_records,
     .recognises = is_never_guessed},
}};

}  // namespace

std::span<const Layout> layouts() {
  return table;
}

RecordOptions record_options(const Layout& layout, const Columns& columns) {
  return {.columns = columns,
          .file_name_prefix = layout.file_name_prefix,
          .head_records = layout.head_records,
          .separator = layout.separator};
}

const Layout* find_layout(std::string_view name) {
  for (const Layout& layout : table)
    if (layout.name == name) return &layout;
  return nullptr;
}

FileHead read_head(TextInput& input) {
  FileHead head;
  const std::string_view text = input.head(head_bytes);
  head.is_cut = text.size() >= head_bytes;
  head.text = text.substr(0, head_bytes);
  TextInput beginning(input.path(), std::string_view(head.text));
  CsvReader reader(beginning);
  std::vector<Field> fields;
  try {
    for (bool comment = true; comment && reader.next(fields);) {
      comment = fields.front().text.starts_with('#');
      head.records.push_back(texts_of(fields));
    }
  } catch (const InputError&) {  // the file is not CSV, or its header is longer than the head
  }
  return head;
}

Habits habits_in(const FileHead& head, const Layout& layout, const Columns& columns,
                 DateOrder told) {
  Habits habits;
  if (layout.either_space && has_degrees(head))
    habits.evidence = "; x and y look like degrees, which --space wgs84 reads";
  if (layout.read != read_csv_records) return habits;
  const bool is_order_known = told != DateOrder::unknown || layout.date_order != DateOrder::unknown;
  std::string day_first;
  std::string decimal;
  try {
    TextInput input("", whole_lines(head));
    const RecordOptions options = record_options(layout, columns);
    CsvTable table(input, options);
    habits.separator = table.separator();
    for (RowText row; table.next(row);) {
      if (!is_order_known && day_first.empty() && has_day_first(row.time.text))
        day_first = trim(row.time.text);
      for (const Field& field : {row.x, row.y})
        if (decimal.empty() && has_decimal_comma(field.text)) decimal = trim(field.text);
    }
  } catch (const InputError&) {  // the error is reported when the file is read
  }
  if (!day_first.empty()) {
    habits.date_order = DateOrder::day_first;
    habits.evidence = "; dates begin with the day, as " + quoted_text(day_first) + " shows";
  }
  if (!decimal.empty()) {
    habits.decimal_mark = DecimalMark::comma;
    habits.evidence += "; numbers have decimal commas, as " + quoted_text(decimal) + " shows";
  }
  return habits;
}

const Layout* recognise_layout(const FileHead& head) {
  for (const Layout& layout : table)
    if (layout.recognises ? layout.recognises(head) : find_header(layout, head) != nullptr)
      return &layout;
  return nullptr;
}

std::string mark_of(const Layout& layout, const Columns& columns) {
  if (!layout.mark.empty()) return std::string(layout.mark);
  std::vector<std::string_view> names;
  for (std::size_t part = 0; part < required_parts; ++part)
    if (std::ranges::find(names, columns.names[part]) == names.end())
      names.emplace_back(columns.names[part]);
  std::string text = layout.read == read_json_records ? "its first record has " : "its header has ";
  for (const std::string_view name : names)
    text += (name == names.front() ? "" : ", ") + std::string(name);
  return text;
}

bool may_lack_columns(const Layout& layout) {
  const Columns columns = parse_columns(layout.columns);
  return !layout.recognises && (!columns.z().empty() || !columns.tags().empty());
}

Columns columns_in(const Layout& layout, const FileHead& head) {
  Columns columns = parse_columns(layout.columns);
  if (!may_lack_columns(layout)) return columns;
  const std::vector<std::string>* const header = find_header(layout, head);
  for (std::size_t part = required_parts; part < columns.names.size(); ++part)
    if (!header || !find_column(*header, columns.names[part])) columns.names[part].clear();
  return columns;
}

}  // namespace starling::sim
