// One trace out of several files or a directory: finds each file's layout, agrees on the space, and
// streams the rows to a callback, so that what a caller keeps in memory is the caller's choice.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "knn/words/lattice.hpp"
#include "sim/traces/columns.hpp"
#include "sim/traces/layout.hpp"
#include "sim/traces/name_table.hpp"
#include "sim/traces/row_parser.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

struct TraceOptions {
  std::string format = "auto";          ///< a layout's name, or auto
  std::string columns{};                ///< for the layout csv
  std::optional<Space> space{};         ///< default: the layout's
  std::optional<TimeUnit> time_unit{};  ///< default: the layout's
  std::int64_t utc_offset_us = 0;
  bool persons = false;
  bool altitude = false;
  bool keep_null_island = false;
  bool strict = false;
  std::int64_t from_us = std::numeric_limits<std::int64_t>::min();
  std::int64_t to_us = std::numeric_limits<std::int64_t>::max();  ///< inclusive
  std::optional<double> max_speed_mps{};  ///< rows reached faster are skipped; see SpeedLimit
};

class Trace {
 public:
  struct File {
    std::string path;
    const Layout* layout = nullptr;
    Columns columns;
  };

  /// Files, and directories whose files are taken by name; hidden ones are left out. Where the
  /// layout is to be recognised, so are empty files, and those in directories that it isn't
  /// recognised of. Throws UsageError or TraceError.
  Trace(std::span<const std::string> paths, const TraceOptions& options);

  std::span<const File> files() const { return files_; }
  std::vector<std::string> paths() const;
  Space space() const { return space_; }

  /// What was recognised and by what, a line for each layout, and what was left out: for the user,
  /// who was not asked.
  std::vector<std::string> notes() const;

  /// Whether rows have a third coordinate that counts.
  bool has_z() const;
  /// Whether rows may have tags.
  bool has_tags() const;

  using RowHandler = std::function<void(const TraceRow&)>;

  /// Every row of the time asked for, file after file. The lattice must be of this trace's space.
  /// Throws TraceError.
  void read(const Lattice& lattice, NameTable& names, TraceCounts& counts,
            const RowHandler& handler) const;

 private:
  struct Sighting {
    const Layout* layout = nullptr;
    std::string text;
    std::size_t count = 1;  ///< files
  };

  std::optional<File> recognise(const std::string& path, bool in_directory);
  File as_told(const std::string& path) const;
  void note_layout(const File& file);
  void refuse_some_altitudes() const;
  void agree_on_space(const File& file);
  bool is_geographic(const File& file) const;
  bool needs_z(const File& file) const;
  RowRules rules_for(const File& file) const;

  TraceOptions options_;
  std::vector<File> files_;
  std::vector<Sighting> sightings_;
  std::vector<std::string> left_out_;
  Space space_ = Space::planar2;
};

}  // namespace starling::sim
