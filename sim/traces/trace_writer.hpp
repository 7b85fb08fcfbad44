// A trace's rows as a file for Starling or for other tools. Written by `starling convert`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/files/text_output.hpp"
#include "sim/traces/name_table.hpp"
#include "sim/traces/row_runs.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

enum class TraceFormat : std::uint8_t {
  csv,   ///< Starling's own, which loses nothing: id,time_us,x,y[,z][,tags] or ...,lon,lat[,alt]...
  sumo,  ///< FCD XML, without tags
  geojson,  ///< a Point feature a row
  gpx,      ///< a track an object, without tags
};

/// "csv", "sumo", "geojson" or "gpx".
std::optional<TraceFormat> trace_format_from_string(std::string_view text);

/// The order that the format needs; nothing: any.
std::optional<RowOrder> order_needed(TraceFormat format);

/// Whether the format can only hold latitudes and longitudes.
bool needs_wgs84(TraceFormat format);

struct TraceShape {
  bool geographic = false;
  bool has_z = false;     ///< the third coordinate counts
  bool has_tags = false;  ///< some rows may have tags
};

/// Rows in the order that the format needs, then close() or finish(). Throws std::runtime_error if
/// the output does.
class TraceWriter {
 public:
  /// Both references must outlive the writer; the names are asked for as rows are written.
  TraceWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : shape_(shape), names_(names), output_(output) {}
  virtual ~TraceWriter() = default;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void write(const TraceRow& row);

  /// The last row is written. The output is left for the caller to close, where it is to appear
  /// together with other files.
  void finish();

  /// Finishes, and lets the output appear.
  void close();

 protected:
  /// Append to text_.
  virtual void append(const TraceRow& row) = 0;
  virtual void append_end() = 0;

  std::string_view name_of(ObjectId id);

  const TraceShape shape_;
  std::string text_;  ///< not yet written

 private:
  const NameTable& names_;
  TextOutput& output_;
  NameTable::NumberText number_;
};

std::unique_ptr<TraceWriter> make_trace_writer(TraceFormat format, const TraceShape& shape,
                                               const NameTable& names, TextOutput& output);

}  // namespace starling::sim
