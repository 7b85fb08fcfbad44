// SPDX-License-Identifier: Apache-2.0
// The table of layouts, and the functions that recognise a file's layout: see layout.hpp.
#include "starling/sim/traces/layout.hpp"

#include <algorithm>
#include <array>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/number_text.hpp"
#include "starling/sim/traces/csv_table.hpp"
#include "starling/sim/traces/record_readers.hpp"

namespace starling::sim {
namespace {

// The head is this large because SUMO writes its whole configuration into a comment before the root
// element.
constexpr std::size_t head_bytes = 64 << 10;

constexpr std::size_t required_parts = 4;  // id, time, x, y; altitude and tags may be absent

/// Returns the first record of `head` that has all columns of the layout, or null. Altitude and
/// tags may be missing.
const std::vector<std::string>* find_header(const Layout& layout, const FileHead& head) {
  const Columns columns = parse_columns(layout.columns);
  for (const std::vector<std::string>& record : head.records)
    if (has_columns(record, columns)) return &record;
  return nullptr;
}

bool is_sumo(const FileHead& head) {
  return head.text.find("<fcd-export") != std::string::npos;
}

bool is_opensky(const FileHead& head) {
  const std::size_t begin = head.text.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && head.text[begin] == '[' &&
         head.text.find("\"icao24\"") != std::string::npos &&
         head.text.find("\"timestamp\"") != std::string::npos;
}

bool is_integer(std::string_view text, std::size_t digits_min) {
  return text.size() >= digits_min &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_tdrive(const FileHead& head) {
  if (head.records.empty() || head.records.back().size() != 4) return false;
  const std::vector<std::string>& record = head.records.back();
  return is_integer(record[0], 1) && record[1].find(' ') != std::string::npos &&
         parse_time_us(record[1], {}) && parse_number(record[2]) && parse_number(record[3]);
}

bool is_cabspotting(const FileHead& head) {
  if (head.records.empty() || head.records.back().size() != 4) return false;
  const std::vector<std::string>& record = head.records.back();
  return parse_number(record[0]) && parse_number(record[1]) &&
         (record[2] == "0" || record[2] == "1") && is_integer(record[3], 9);
}

bool is_never_guessed(const FileHead&) {
  return false;
}

constexpr double foot_m = 0.3048;

constexpr std::array<Layout, 12> table{{
    {.name = "sumo",
     .title = "SUMO FCD",
     .columns = "id=id,time=time,x=x,y=y,z=z",
     .time_unit = TimeUnit::seconds,
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
     .day_first = true,
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

const Layout* find_layout(std::string_view name) {
  for (const Layout& layout : table)
    if (layout.name == name) return &layout;
  return nullptr;
}

FileHead read_head(const std::string& path) {
  FileHead head;
  std::string bytes(head_bytes, '\0');
  TextInput file(path);
  bytes.resize(file.read(bytes));
  head.text = without_byte_order_mark(bytes);
  TextInput input(path, head.text);
  CsvReader reader(input);
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
  std::string text = "its header has ";
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
