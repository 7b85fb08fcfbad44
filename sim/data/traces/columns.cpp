// SPDX-License-Identifier: Apache-2.0
// The grammar of --columns: see columns.hpp.
#include "starling/sim/data/traces/columns.hpp"

#include <algorithm>
#include <optional>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

enum Part : std::size_t { id, time, x, y, z, tags };

std::optional<Part> part_of(std::string_view key) {
  if (key == "id") return id;
  if (key == "time") return time;
  if (key == "x" || key == "lon") return x;
  if (key == "y" || key == "lat") return y;
  if (key == "z" || key == "alt") return z;
  if (key == "tags") return tags;
  return std::nullopt;
}

bool is_geographic(std::string_view key) {
  return key == "lat" || key == "lon" || key == "alt";
}

bool is_number(std::string_view name) {
  constexpr std::size_t digits_max = 9;
  return name.size() <= digits_max && !name.empty() &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError("--columns " + what +
                   "; write id=...,time=...,lat=...,lon=...[,alt=...][,tags=...] or "
                   "id=...,time=...,x=...,y=...[,z=...][,tags=...], where ... is a column's name "
                   "in the header or, if the file has no header, its number, counted from 1. "
                   "time=DATE+CLOCK names two columns, and id=@file takes the id from the file's "
                   "name");
}

struct Entry {
  std::string_view key;
  std::string_view name;
};

Entry take_entry(std::string_view& text) {
  const std::string_view entry = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.size(), entry.size() + 1));
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals + 1 == entry.size())
    refuse("has " + quoted_text(entry) + " where key=column is needed");
  return {entry.substr(0, equals), entry.substr(equals + 1)};
}

}  // namespace

Columns parse_columns(std::string_view text) {
  Columns columns;
  std::size_t geographic_count = 0;
  std::size_t planar_count = 0;
  std::size_t number_count = 0;
  std::size_t nowhere_count = 0;
  std::size_t count = 0;
  for (; !text.empty(); ++count) {
    const auto [key, name] = take_entry(text);
    const std::optional<Part> part = part_of(key);
    if (!part) refuse("has the unknown key " + quoted_text(key));
    if (is_geographic(key)) ++geographic_count;
    if (key == "x" || key == "y" || key == "z") ++planar_count;
    if (geographic_count > 0 && planar_count > 0) refuse("mixes lat, lon, alt with x, y, z");
    if (!columns.names[*part].empty()) refuse("has " + quoted_text(key) + " twice");
    const std::size_t plus = part == time ? name.find('+') : std::string_view::npos;
    columns.names[*part] = name.substr(0, plus);
    if (plus != std::string_view::npos) {
      columns.clock = name.substr(plus + 1);
      if (columns.names[time].empty() || columns.clock.empty())
        refuse("has " + quoted_text(name) + " where DATE+CLOCK is needed");
    }
    if (is_number(columns.names[*part])) ++number_count;
    if (part == id && name == file_name_column) ++nowhere_count;
  }
  for (const Part part : {id, time, x, y})
    if (columns.names[part].empty()) refuse("lacks the id, the time, or a coordinate");
  if (number_count > 0 && number_count + nowhere_count < count) refuse("mixes names and numbers");
  if (!columns.clock.empty() && is_number(columns.clock) != (number_count > 0))
    refuse("mixes names and numbers");
  columns.geographic = geographic_count > 0;
  columns.by_number = number_count > 0;
  if (columns.by_number && (std::ranges::count(columns.names, "0") > 0 || columns.clock == "0"))
    refuse("has the column number 0, but counts from 1");
  return columns;
}

Space default_space(const Columns& columns) {
  if (columns.geographic) return Space::wgs84;
  return columns.z().empty() ? Space::planar2 : Space::planar3;
}

}  // namespace starling::sim
