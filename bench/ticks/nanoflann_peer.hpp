// What a user would pick instead on the CPU: nanoflann, its tree rebuilt each tick on one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::bench {

class NanoflannPeer {
 public:
  struct Point {
    float x, y;
  };

  /// Builds a tree over the objects (leaf 10) and asks each query for k; returns milliseconds.
  double tick_ms(const std::vector<Point>& objects, const std::vector<Point>& queries,
                 std::uint32_t k);

  /// Squared distances of the last tick, k a query, for a check against ours.
  const std::vector<float>& distances_sq() const { return distances_sq_; }

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> distances_sq_;
};

}  // namespace starling::bench
