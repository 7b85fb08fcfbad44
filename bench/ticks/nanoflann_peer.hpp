// SPDX-License-Identifier: Apache-2.0
// nanoflann, the library that a user might choose instead on the CPU. Its tree is rebuilt at each
// tick, on one thread. Called by tick_bench.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::bench {

class NanoflannPeer {
 public:
  struct Point {
    float x, y;
  };

  /// Builds a tree over the objects (leaves of 10) and finds the k nearest of each query. Returns
  /// the milliseconds.
  double tick_ms(const std::vector<Point>& objects, const std::vector<Point>& queries,
                 std::uint32_t k);

  /// Returns the squared distances of the last tick, k for each query, to compare with ours.
  const std::vector<float>& distances_sq() const { return distances_sq_; }

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> distances_sq_;
};

}  // namespace starling::bench
