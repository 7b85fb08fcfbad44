// Which column or key of a layout holds what: the grammar of --columns, which the built-in layouts
// are written in too.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "knn/words/lattice.hpp"

namespace starling::sim {

/// Stands for a column: the id is the file's name, without folders and endings.
inline constexpr std::string_view file_name_column = "@file";

/// Where a row's parts come from. `x`, `y`, `z` are longitude, latitude and altitude if geographic.
struct Columns {
  /// In the order of RowText's members; empty: not there. Names, or column numbers from 1.
  std::array<std::string, 6> names;
  bool geographic = false;
  bool by_number = false;  ///< the file has no header

  const std::string& id() const { return names[0]; }
  const std::string& time() const { return names[1]; }
  const std::string& x() const { return names[2]; }
  const std::string& z() const { return names[4]; }
  const std::string& tags() const { return names[5]; }
};

/// "id=...,time=...,lat=...,lon=...[,alt=...]" or "id=...,time=...,x=...,y=...[,z=...]", each with
/// "[,tags=...]"; id=@file is the file's name. Throws UsageError with what is wrong.
Columns parse_columns(std::string_view text);

/// The space that such rows live in unless told otherwise.
Space default_space(const Columns& columns);

}  // namespace starling::sim
