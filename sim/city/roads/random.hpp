// SPDX-License-Identifier: Apache-2.0
// Draws the city's random numbers. Each number depends only on the seed, the number's purpose, the
// driver or rider that the number is for, and a counter. The number does not depend on other draws.
// Therefore two policies get the same demand, the same drivers and the same answers. This file has
// its own distributions, because the distributions of different standard libraries give different
// numbers.
#pragma once

#include <cstdint>

namespace starling::sim::city {

enum class Draw : std::uint64_t { demand = 1, placement, idling, declining, spreading };

class Random {
 public:
  /// `whom` and `whom_else` are indices of a driver, ride or trip; equal arguments give equal
  /// numbers.
  Random(std::uint64_t seed, Draw purpose, std::uint64_t whom = 0, std::uint64_t whom_else = 0);

  std::uint64_t next();
  /// Uniform in [0, 1).
  double unit();
  /// Uniform in [0, count); `count` must not be 0.
  std::uint64_t below(std::uint64_t count);
  /// Exponential with mean 1.
  double exponential();
  /// Normal with mean 0 and standard deviation 1.
  double normal();

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace starling::sim::city
