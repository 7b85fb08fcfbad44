// SPDX-License-Identifier: Apache-2.0
// Columns says which column or key of a file holds the id, the time, the position and the tags.
// parse_columns() parses --columns and the column lists of the built-in layouts.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "starling/knn/words/lattice.hpp"

namespace starling::sim {

/// Stands in place of a column name: the id is then the file's name without folders and endings.
inline constexpr std::string_view file_name_column = "@file";

/// The columns that a row's fields come from. If `geographic` is set, x, y, z are longitude,
/// latitude and altitude.
struct Columns {
  /// Column names, or column numbers from 1, in the order of RowText's members. An empty name means
  /// that the file has no column for the member.
  std::array<std::string, 6> names;
  std::string clock{};  ///< the column of the clock time, if the column of the time has the date
  bool geographic = false;
  bool by_number = false;  ///< `names` are column numbers; the file has no header

  const std::string& id() const { return names[0]; }
  const std::string& time() const { return names[1]; }
  const std::string& x() const { return names[2]; }
  const std::string& y() const { return names[3]; }
  const std::string& z() const { return names[4]; }
  const std::string& tags() const { return names[5]; }
};

/// Parses "id=...,time=...,lat=...,lon=...[,alt=...]" or "id=...,time=...,x=...,y=...[,z=...]",
/// each with an optional ",tags=...". time=DATE+CLOCK names two columns that hold the time
/// together, and id=@file takes the id from the file's name. Throws UsageError if `text` has
/// another form.
Columns parse_columns(std::string_view text);

/// Returns the space that rows with these columns have if the user names no space.
Space default_space(const Columns& columns);

}  // namespace starling::sim
