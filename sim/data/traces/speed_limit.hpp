// SPDX-License-Identifier: Apache-2.0
// Rejects wrong fixes. A fix is wrong if the object could reach its position only by moving faster
// than a given speed. The row parser uses SpeedLimit if --max-speed-mps is given.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "starling/knn/words/lattice.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

class SpeedLimit {
 public:
  /// Rows agree if the object can reach each of them from the row before. If this many rows in
  /// succession agree, but the object cannot reach any of them from the last kept row, then the
  /// last kept row was wrong. In this case keeps() keeps the last of the agreeing rows.
  static constexpr int agreeing_rows_min = 3;
  /// The least time, in seconds, that is assumed between two rows, because most recordings round
  /// times to the second.
  static constexpr double elapsed_min_s = 1;

  /// `speed_max_mps` is in metres per second and positive. The lattice must outlive this object.
  SpeedLimit(double speed_max_mps, const Lattice& lattice)
      : speed_max_mps_(speed_max_mps), lattice_(lattice) {}

  /// Returns true if one of these holds:
  /// - `row` is the object's first row.
  /// - The object can move from its last kept row to `row` in a straight line within the limit. The
  ///   last kept row may be earlier or later in time than `row`.
  /// - `row` is the last of agreeing_rows_min rows that agree.
  bool keeps(const TraceRow& row);

 private:
  struct Fix {
    std::int64_t time_us = 0;
    LatticePoint point{};
  };
  struct Object {
    Fix kept;
    Fix refused;       ///< the last rejected row; valid if agreeing > 0
    int agreeing = 0;  ///< number of rejected rows in succession that agree
  };

  bool reachable(const Fix& from, const Fix& to) const;

  double speed_max_mps_;
  const Lattice& lattice_;
  std::unordered_map<ObjectId, Object> objects_;
};

}  // namespace starling::sim
