// SPDX-License-Identifier: Apache-2.0
// Reads one trace from several files or directories. Trace finds the layout of each file,
// determines the space, and passes the rows to a callback. The caller decides which rows to keep in
// memory. `starling replay` and `starling convert` use Trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "starling/sim/data/traces/columns.hpp"
#include "starling/sim/data/traces/layout.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/sim/data/traces/row_parser.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

struct TraceOptions {
  std::string format = "auto";                ///< a layout's name, or auto
  std::string columns{};                      ///< only for the layout csv; see parse_columns()
  std::optional<Space> space{};               ///< std::nullopt: the space of the layout
  std::optional<TimeUnit> time_unit{};        ///< std::nullopt: the unit of the layout
  DateOrder date_order = DateOrder::unknown;  ///< unknown: as the layout or the file says
  std::int64_t utc_offset_us = 0;
  bool persons = false;
  bool altitude = false;
  bool keep_null_island = false;
  bool keep_far = false;  ///< see RowRules
  bool strict = false;
  std::int64_t from_us = std::numeric_limits<std::int64_t>::min();
  std::int64_t to_us = std::numeric_limits<std::int64_t>::max();  ///< inclusive
  std::optional<double> max_speed_mps{};  ///< rows that need a higher speed are skipped
};

class Trace {
 public:
  /// A file that can be opened and read only once, because it is no regular file.
  struct Pipe {
    explicit Pipe(const std::string& path) : input(path) {}
    TextInput input;
    bool is_read = false;
  };
  struct File {
    std::string path;
    const Layout* layout = nullptr;
    Columns columns;
    std::optional<TimeUnit> time_unit{};  ///< set if the name of the time's column says the unit
    Habits habits{};
    std::vector<std::string_view> undone{};  ///< see TextInput::undone()
    std::shared_ptr<Pipe> pipe{};            ///< null: the file is opened again when it is read
  };

  /// `paths` are files and directories. A directory's files are taken in order of name, without
  /// hidden files and subdirectories. If `options` name neither a layout nor columns, the
  /// constructor recognises each file's layout, or a CSV file's columns by names in common use. It
  /// then leaves out empty files, and files of a directory without a known layout. Throws
  /// UsageError or InputError.
  Trace(std::span<const std::string> paths, const TraceOptions& options);

  std::span<const File> files() const { return files_; }
  std::vector<std::string> paths() const;
  Space space() const { return space_; }

  /// Returns lines for the user. Each recognised layout has one line, which also says by which mark
  /// the layout was recognised. Further lines are about files that were left out, and about a
  /// column of numbers that --columns takes as tag bits.
  std::vector<std::string> notes() const;

  /// Returns true if the third coordinate of the rows is used.
  bool has_z() const;
  /// Returns true if rows may have tags.
  bool has_tags() const;

  using RowHandler = std::function<void(const TraceRow&)>;

  RowRules rules_of(const File& file) const;
  /// Returns the first rows of `file`, at most `count`, whatever their times. Throws as read()
  /// does.
  std::vector<TraceRow> first_rows(const File& file, const Lattice& lattice, NameTable& names,
                                   TraceCounts& counts, std::size_t count) const;

  /// Passes every row from from_us to to_us to `handler`, file after file. `lattice` must be of
  /// this trace's space. Throws InputError if a file cannot be read further, or is a pipe that was
  /// read before.
  void read(const Lattice& lattice, NameTable& names, TraceCounts& counts,
            const RowHandler& handler) const;

 private:
  struct Sighting {
    const Layout* layout = nullptr;
    std::array<std::string, 6> columns;
    DateOrder date_order;
    DecimalMark decimal_mark;
    std::string text;
    std::size_t count = 1;  ///< number of files with this layout
  };

  bool is_guessed() const;
  static std::optional<File> recognise(const std::string& path, const FileHead& head);
  std::optional<File> as_told(const std::string& path, const FileHead& head) const;
  std::optional<File> open(const std::string& path, bool in_directory);
  void note_layout(const File& file, bool is_guessed);
  void refuse_some_altitudes() const;
  void agree_on_space(const File& file);
  bool is_geographic(const File& file) const;
  bool needs_z(const File& file) const;
  void read_file(const File& file, RowParser& parser, const RowHandler& handler) const;

  TraceOptions options_;
  std::vector<File> files_;
  std::vector<Sighting> sightings_;
  std::vector<std::string> left_out_;
  std::size_t empty_count_ = 0;  ///< number of files left out because they are empty
  Space space_ = Space::planar2;
};

}  // namespace starling::sim
