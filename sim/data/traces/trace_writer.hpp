// SPDX-License-Identifier: Apache-2.0
// Writes a trace's rows to a file for Starling or for other tools. `starling convert` uses
// TraceWriter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "starling/sim/data/files/text_output.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/sim/data/traces/row_runs.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

enum class TraceFormat : std::uint8_t {
  csv,      ///< Starling's own, lossless: id,time_us,x,y[,z][,tags] or ...,lon,lat[,alt][,tags]
  sumo,     ///< FCD XML, without tags
  geojson,  ///< one Point feature per row
  gpx,      ///< one track per object, without tags
};

/// Parses "csv", "sumo", "geojson" or "gpx". Returns std::nullopt for any other text.
std::optional<TraceFormat> trace_format_from_string(std::string_view text);

/// Returns the row order that the format needs, or std::nullopt if any order will do.
std::optional<RowOrder> order_needed(TraceFormat format);

/// Returns true if the format holds only latitudes and longitudes.
bool needs_wgs84(TraceFormat format);

struct TraceShape {
  bool geographic = false;
  bool has_z = false;     ///< the third coordinate is used
  bool has_tags = false;  ///< some rows may have tags
};

/// Call write() for each row, in the order that the format needs, then close() or finish(). The
/// members throw std::runtime_error if the output fails. write() throws InputError if the format
/// cannot hold the row.
class TraceWriter {
 public:
  /// `names` and `output` must outlive the writer. The name of a row is looked up when the row is
  /// written.
  TraceWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : shape_(shape), names_(names), output_(output) {}
  virtual ~TraceWriter() = default;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void write(const TraceRow& row);

  /// Ends the file after the last row. The caller closes the output itself, for example together
  /// with other files.
  void finish();

  /// Returns the first id with characters that XML cannot hold, which were written as U+FFFD. The
  /// text is empty if no id has such characters.
  const std::string& first_changed_id() const { return first_changed_id_; }

  /// Calls finish() and closes the output.
  void close();

 protected:
  /// append() adds one row to text_; append_end() adds the end of the file.
  virtual void append(const TraceRow& row) = 0;
  virtual void append_end() = 0;

  std::string_view name_of(ObjectId id);
  void append_xml_id(ObjectId id);
  /// Appends the row's time as ISO 8601. Throws InputError if its year does not have four digits.
  void append_time(const TraceRow& row);

  const TraceShape shape_;
  std::string text_;  ///< text that has not been passed to the output yet

 private:
  const NameTable& names_;
  TextOutput& output_;
  NameTable::NumberText number_;
  std::string first_changed_id_;
};

std::unique_ptr<TraceWriter> make_trace_writer(TraceFormat format, const TraceShape& shape,
                                               const NameTable& names, TextOutput& output);

}  // namespace starling::sim
