// The layouts in which traces are published: one row of a table each. Finding a file's layout,
// naming its columns and reading its records are separate, so that most new layouts are a new row.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "sim/columns.hpp"
#include "sim/text_input.hpp"
#include "sim/time_text.hpp"
#include "sim/trace.hpp"

namespace starling::sim {

/// Called with each record's fields, in file order.
using RecordHandler = std::function<void(const RowText&)>;

struct RecordOptions {
  Columns columns;
  bool persons = false;  ///< SUMO: persons too
};

/// Streams the records of one file. Throws TraceError where the file itself is damaged.
using RecordReader = void (*)(TextInput& input, const RecordOptions& options,
                              const RecordHandler& handler);

struct Layout {
  std::string_view name;     ///< for --format
  std::string_view title;    ///< for messages
  std::string_view columns;  ///< as --columns has them; empty: the user says
  TimeUnit time_unit = TimeUnit::by_magnitude;
  double z_unit_m = 1;
  RecordReader read = nullptr;
  bool either_space = false;  ///< x and y may be longitude and latitude, as --space says
  /// Whether a file that begins like this is one of these; null: never guessed.
  bool (*recognises)(std::string_view head) = nullptr;
};

std::span<const Layout> layouts();

/// Null if there is none of this name.
const Layout* find_layout(std::string_view name);

/// The layout whose marks the file's first bytes bear, or null.
const Layout* recognise_layout(const std::string& path);

}  // namespace starling::sim
