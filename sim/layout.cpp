// The table of layouts, and the marks by which a file is recognised: see layout.hpp.
#include "sim/layout.hpp"

#include <array>
#include <vector>

#include "sim/record_readers.hpp"

namespace starling::sim {
namespace {

// SUMO writes its whole configuration into a comment before the root element.
constexpr std::size_t head_bytes = 64 << 10;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view first_line(std::string_view head) {
  return head.substr(0, head.find('\n'));
}

bool is_sumo(std::string_view head) {
  return has(head, "<fcd-export");
}

bool is_ais(std::string_view head) {
  const std::string_view header = first_line(head);
  return has(header, "MMSI,") && has(header, "BaseDateTime,") && has(header, "LAT,LON");
}

bool is_opensky(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && head[begin] == '[' && has(head, "\"icao24\"") &&
         has(head, "\"timestamp\"");
}

constexpr double foot_m = 0.3048;

constexpr std::array<Layout, 4> table{{
    {.name = "sumo",
     .title = "SUMO floating-car data",
     .columns = "id=id,time=time,x=x,y=y,z=z",
     .time_unit = TimeUnit::seconds,
     .read = read_sumo_records,
     .either_space = true,
     .recognises = is_sumo},
    {.name = "ais",
     .title = "MarineCadastre AIS",
     .columns = "id=MMSI,time=BaseDateTime,lat=LAT,lon=LON",
     .read = read_csv_records,
     .recognises = is_ais},
    {.name = "opensky",
     .title = "OpenSky records",
     .columns = "id=icao24,time=timestamp,lat=latitude,lon=longitude,alt=altitude",
     .z_unit_m = foot_m,
     .read = read_json_records,
     .recognises = is_opensky},
    {.name = "csv", .title = "CSV", .columns = "", .read = read_csv_records},
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

const Layout* recognise_layout(const std::string& path) {
  TextInput input(path);
  std::vector<char> head(head_bytes);
  const std::size_t bytes = input.read(head);
  for (const Layout& layout : table)
    if (layout.recognises && layout.recognises({head.data(), bytes})) return &layout;
  return nullptr;
}

}  // namespace starling::sim
