// SPDX-License-Identifier: Apache-2.0
// Turns a record's text into a checked row, or counts why the record is skipped. The rules are the
// same for all layouts. Trace::read() calls RowParser::parse() once per record.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "starling/knn/base/time_text.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/sim/data/traces/speed_limit.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

/// The rules for reading a row. The layout and the user's flags set them.
struct RowRules {
  TimeRules time;
  bool geographic = false;        ///< positions are longitude, latitude; 0, 0 means "no position"
  bool needs_z = false;           ///< z or altitude is used; a row without it is skipped
  double z_unit_m = 1;            ///< metres per unit of altitude in the file
  bool ais_positions = false;     ///< latitude 91 or longitude 181 means "no position"
  bool keep_null_island = false;  ///< 0, 0 is a position, even if `geographic`
  bool keep_far = false;          ///< keep positions beyond the lattice, unless there is a speed
                                  ///< limit
  bool strict = false;            ///< throw InputError instead of skipping a row
  bool any_time = false;          ///< refuse_odd_times() accepts every time
  DecimalMark decimal_mark = DecimalMark::point;
  /// Times of geographic rows later than this, or before 1980, are counted as probably misread.
  std::int64_t newest_time_us = std::numeric_limits<std::int64_t>::max();
};

class RowParser {
 public:
  /// All references must outlive the parser. `speed_limit` may be null; then no row is skipped as
  /// too fast.
  RowParser(const RowRules& rules, const Lattice& lattice, NameTable& names, TraceCounts& counts,
            SpeedLimit* speed_limit)
      : rules_(rules),
        lattice_(lattice),
        names_(names),
        counts_(counts),
        speed_limit_(speed_limit) {}

  /// Returns the row, or std::nullopt if the row was skipped and counted. Errors name the file
  /// `path`. Throws InputError if two different texts in the id column give the same numeric id, or
  /// if a row would be skipped and RowRules::strict is set.
  std::optional<TraceRow> parse(const RowText& text, std::string_view path);

  /// Call this after the last row. Throws InputError if the positions are geographic and each time
  /// is probably misread.
  void refuse_odd_times(std::string_view path) const;

 private:
  struct Fault {
    SkipReason reason;
    const Field* field;
    std::string_view what;  ///< the field's name in error messages
  };

  std::optional<Fault> parse_values(const RowText& text, TraceRow& row) const;
  std::optional<Fault> parse_position(const RowText& text, TraceRow& row) const;
  void skip(const Fault& fault, std::string_view path);
  void note_time(const TraceRow& row, const Field& time, std::string_view path);

  const RowRules rules_;
  const Lattice& lattice_;
  NameTable& names_;
  TraceCounts& counts_;
  SpeedLimit* const speed_limit_;
  // The members below count the rows of this parser.
  std::uint64_t rows_ = 0;
  std::uint64_t odd_times_ = 0;
  std::uint64_t times_from_zero_ = 0;  ///< odd times that may be seconds from a start
  std::string first_odd_time_;
};

}  // namespace starling::sim
