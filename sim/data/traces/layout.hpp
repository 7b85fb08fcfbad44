// SPDX-License-Identifier: Apache-2.0
// Gives access to the table of layouts, the forms in which traces are published. The table has one
// row for each layout. Recognising a file, naming its columns and reading its records are separate
// steps. Most new layouts therefore need only a new row. Trace uses the table.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/text_input.hpp"
#include "starling/sim/data/traces/columns.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

/// Called once per record, in file order. The fields are valid during the call.
using RecordHandler = std::function<void(const RowText&)>;

struct RecordOptions {
  Columns columns;
  bool persons = false;                 ///< SUMO: read persons as well as vehicles
  std::string_view file_name_prefix{};  ///< removed from the file's name to get the id
  std::size_t head_records = 0;  ///< number of leading records to skip in a CSV file without header
  /// Separator of a CSV file; std::nullopt: CsvReader detects it.
  std::optional<char> separator{};
};

/// Passes the records of one file to `handler`. Throws InputError if the file itself is damaged.
using RecordReader = void (*)(TextInput& input, const RecordOptions& options,
                              const RecordHandler& handler);

/// The beginning of a file.
struct FileHead {
  std::string text;     ///< at most 64 KiB
  bool is_cut = false;  ///< the file goes on after `text`
  /// Returns the first character that is no space, or 0 if the text has none.
  char first() const {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string::npos ? '\0' : text[begin];
  }
  /// The first records of the text, read as CSV: all leading records that begin with '#', and the
  /// record after them.
  std::vector<std::vector<std::string>> records;
};

struct Layout {
  std::string_view name;     ///< the value of --format
  std::string_view title;    ///< the name in messages
  std::string_view columns;  ///< the argument of --columns; empty: the user names the columns
  TimeUnit time_unit = TimeUnit::by_magnitude;
  DateOrder date_order = DateOrder::unknown;
  bool has_clock_from_zero = false;     ///< times may be written as 00:01:30
  double z_unit_m = 1;                  ///< metres per unit of altitude
  bool altitude_counts = false;         ///< altitude is used even without --altitude
  bool ais_positions = false;           ///< latitude 91 or longitude 181 means "no position"
  bool either_space = false;            ///< --space says whether x, y are metres or degrees
  std::string_view file_name_prefix{};  ///< removed from the file's name to get the id
  std::size_t head_records = 0;         ///< see RecordOptions
  std::optional<char> separator{};      ///< see RecordOptions
  RecordReader read = nullptr;
  /// What `recognises` looks for, as the end of a message's sentence.
  std::string_view mark{};
  /// Returns true if a file with this head has this layout. A null pointer means that a CSV file
  /// has this layout if its header has all `columns` except, perhaps, altitude and tags.
  bool (*recognises)(const FileHead& head) = nullptr;
};

std::span<const Layout> layouts();

RecordOptions record_options(const Layout& layout, const Columns& columns);

/// Returns the layout with this name, or null.
const Layout* find_layout(std::string_view name);

/// Returns the beginning of a file. The next reader of `input` reads it again. Throws InputError if
/// the file cannot be read.
FileHead read_head(TextInput& input);

/// How a file writes dates, numbers and separators.
struct Habits {
  DateOrder date_order = DateOrder::unknown;
  DecimalMark decimal_mark = DecimalMark::point;
  std::optional<char> separator{};  ///< separator of fields; a space: any number of blanks
  std::string evidence{};  ///< end of a message that shows the habits; empty if there are none
};

/// Returns the habits that the beginning of a CSV file shows. A date whose first number exceeds 12
/// begins with the day; this is examined only if neither `told` nor the layout gives the order. A
/// comma that does not separate thousands is a decimal mark. For a SUMO file, only finds whether
/// its positions look like degrees.
Habits habits_in(const FileHead& head, const Layout& layout, const Columns& columns,
                 DateOrder told);

/// Returns the layout of a file with this head, or null if no layout is recognised.
const Layout* recognise_layout(const FileHead& head);

/// Returns the mark by which a file with these columns was recognised. The text is the end of a
/// sentence, for example "its header has id, time, x, y".
std::string mark_of(const Layout& layout, const Columns& columns);

/// Returns true if the result of columns_in() depends on the file.
bool may_lack_columns(const Layout& layout);

/// Returns the layout's columns. The names for altitude and tags are empty if the file does not
/// have these columns.
Columns columns_in(const Layout& layout, const FileHead& head);

}  // namespace starling::sim
