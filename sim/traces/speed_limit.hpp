// Refuses the jumps of wrong fixes: rows that an object could only have reached faster than it can
// move. The row parser asks it, where --max-speed-mps is given.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "knn/words/lattice.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

class SpeedLimit {
 public:
  /// So many refused rows in succession that agree with one another are believed: it was the row
  /// kept before them that was wrong.
  static constexpr int agreeing_rows_min = 3;
  /// Most recordings round times to the second; closer rows are taken to be so far apart.
  static constexpr double elapsed_min_s = 1;

  /// The lattice must outlive the limit. Metres in a second, positive.
  SpeedLimit(double speed_max_mps, const Lattice& lattice)
      : speed_max_mps_(speed_max_mps), lattice_(lattice) {}

  /// Whether the row can be reached, in a straight line and at no more than the limit, from the row
  /// of its object kept last, be it earlier or later; or else is the last of enough that agree.
  bool keeps(const TraceRow& row);

 private:
  struct Fix {
    std::int64_t time_us = 0;
    LatticePoint point{};
  };
  struct Object {
    Fix kept;
    Fix refused;       ///< the last one since a row was kept
    int agreeing = 0;  ///< refused rows in succession that agree; 0: there is none
  };

  bool reachable(const Fix& from, const Fix& to) const;

  double speed_max_mps_;
  const Lattice& lattice_;
  std::unordered_map<ObjectId, Object> objects_;
};

}  // namespace starling::sim
