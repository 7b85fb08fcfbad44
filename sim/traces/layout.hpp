// The layouts in which traces are published: one row of a table each. Recognising a file, naming
// its columns and reading its records are separate, so that most new layouts are a new row.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/files/text_input.hpp"
#include "sim/files/time_text.hpp"
#include "sim/traces/columns.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

/// Called with each record's fields, in file order.
using RecordHandler = std::function<void(const RowText&)>;

struct RecordOptions {
  Columns columns;
  bool persons = false;                 ///< SUMO: persons too
  std::string_view file_name_prefix{};  ///< no part of the id in the file's name
};

/// Streams the records of one file. Throws TraceError where the file itself is damaged.
using RecordReader = void (*)(TextInput& input, const RecordOptions& options,
                              const RecordHandler& handler);

/// How a file begins.
struct FileHead {
  std::string text;  ///< at most 64 KiB, without a byte order mark
  /// Taken for CSV: the leading records that begin with '#', and the first that doesn't.
  std::vector<std::vector<std::string>> records;
};

struct Layout {
  std::string_view name;     ///< for --format
  std::string_view title;    ///< for messages
  std::string_view columns;  ///< as --columns has them; empty: the user says
  TimeUnit time_unit = TimeUnit::by_magnitude;
  bool day_first = false;               ///< dates are DD/MM/YYYY
  double z_unit_m = 1;                  ///< metres in one unit of altitude
  bool altitude_counts = false;         ///< where the file has it, also without --altitude
  bool ais_positions = false;           ///< latitude 91 or longitude 181 stand for none
  bool either_space = false;            ///< x and y may be longitude and latitude, as --space says
  std::string_view file_name_prefix{};  ///< no part of the id in the file's name
  RecordReader read = nullptr;
  /// What a file looks like that `recognises` is true for, as the end of a sentence.
  std::string_view mark{};
  /// Whether a file that begins like this is one of these. Null: a CSV file is if its header has
  /// the columns (with or without altitude and tags).
  bool (*recognises)(const FileHead& head) = nullptr;
};

std::span<const Layout> layouts();

/// Null if there is none of this name.
const Layout* find_layout(std::string_view name);

/// Throws TraceError if the file cannot be read.
FileHead read_head(const std::string& path);

/// The layout that a file with this head is of, or null.
const Layout* recognise_layout(const FileHead& head);

/// By what the layout is recognised, as the end of a sentence.
std::string mark_of(const Layout& layout);

/// Whether columns_in depends on the file.
bool may_lack_columns(const Layout& layout);

/// The layout's columns, less altitude and tags where the file has none.
Columns columns_in(const Layout& layout, const FileHead& head);

}  // namespace starling::sim
