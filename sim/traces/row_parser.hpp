// From a record's text to a checked row, or to a reason why it is skipped; the same rules for every
// layout. The readers call it once a record.
#pragma once

#include <optional>
#include <string_view>

#include "knn/words/lattice.hpp"
#include "sim/files/time_text.hpp"
#include "sim/traces/name_table.hpp"
#include "sim/traces/speed_limit.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

/// What a layout and its user say about reading a row.
struct RowRules {
  TimeRules time;
  bool geographic = false;     ///< 0, 0 means "no position"
  bool needs_z = false;        ///< z or altitude counts, and a row without is skipped
  double z_unit_m = 1;         ///< metres in one of the file's units of altitude
  bool ais_positions = false;  ///< latitude 91 or longitude 181 stand for a missing position
  bool keep_null_island = false;
  bool strict = false;  ///< the first row that would be skipped is a TraceError instead
};

class RowParser {
 public:
  /// What is referred to must outlive the parser. Without a speed limit, jumps are kept.
  RowParser(const RowRules& rules, const Lattice& lattice, NameTable& names, TraceCounts& counts,
            SpeedLimit* speed_limit)
      : rules_(rules),
        lattice_(lattice),
        names_(names),
        counts_(counts),
        speed_limit_(speed_limit) {}

  /// The row, or nothing if it was skipped and counted. `path` names the file in errors. Throws
  /// TraceError if two texts share an id, or as `strict` says.
  std::optional<TraceRow> parse(const RowText& text, std::string_view path);

 private:
  struct Fault {
    SkipReason reason;
    const Field* field;
    std::string_view what;  ///< the field, in words
  };

  std::optional<Fault> parse_values(const RowText& text, TraceRow& row) const;
  std::optional<Fault> parse_position(const RowText& text, TraceRow& row) const;
  void skip(const Fault& fault, std::string_view path);

  const RowRules rules_;
  const Lattice& lattice_;
  NameTable& names_;
  TraceCounts& counts_;
  SpeedLimit* const speed_limit_;
};

/// A decimal floating-point number and nothing else; spaces around it don't count.
std::optional<double> parse_number(std::string_view text);

std::string_view trim(std::string_view text);

}  // namespace starling::sim
