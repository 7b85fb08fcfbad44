// SPDX-License-Identifier: Apache-2.0
// This file defines the types of a trace: a row as text, a checked row, and the reasons why a row
// is skipped. Every reader, the replay and its summary use these types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {

/// One checked position of one object. The position holds the file's numbers unrounded, so that an
/// embedded engine and a server round the same values.
struct TraceRow {
  ObjectId id{};
  std::int64_t time_us = 0;
  Position
      position{};  ///< x, y, z in metres, or longitude, latitude in degrees, altitude in metres
  std::uint32_t tags = 0;
  bool has_tags = false;
};
static_assert(sizeof(TraceRow) == 48);

/// The fields of one record as text; a missing field has empty text. The texts are valid during the
/// call of the RecordHandler.
struct RowText {
  Field id;
  Field time;
  Field x;  ///< x or longitude
  Field y;  ///< y or latitude
  Field z;  ///< z or altitude
  Field tags;
  Field beyond;  ///< the first non-empty field after the header's last column
};

enum class SkipReason : std::uint8_t {
  missing_field,
  unparsable,
  out_of_range,
  null_island,  ///< exactly 0, 0 in a geographic layout
  too_fast,     ///< the speed exceeds --max-speed-mps
  too_many_fields,
};
inline constexpr std::size_t skip_reason_count = 6;

std::string_view to_string(SkipReason reason);

struct TraceCounts {
  std::uint64_t rows = 0;     ///< number of rows that were not skipped
  std::uint64_t outside = 0;  ///< the number of `rows` before --from or after --until
  std::array<std::uint64_t, skip_reason_count> skipped{};
  /// The first row that was skipped for each reason: "FILE:LINE:COLUMN: sentence".
  std::array<std::string, skip_reason_count> first_skipped{};
  std::uint64_t odd_times = 0;    ///< the number of `rows` whose time is probably misread
  std::string first_odd_time{};   ///< the first misread time, as in first_skipped
  std::uint64_t latin1_rows = 0;  ///< the number of `rows` whose id is not UTF-8
  std::string first_latin1{};     ///< the first id that is not UTF-8, as in first_skipped

  std::uint64_t& operator[](SkipReason reason) { return skipped[static_cast<std::size_t>(reason)]; }
  std::uint64_t operator[](SkipReason reason) const {
    return skipped[static_cast<std::size_t>(reason)];
  }
  std::uint64_t skipped_total() const;
};

}  // namespace starling::sim
