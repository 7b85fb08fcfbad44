// Random numbers of the city: each draw is a function of the seed, what it is for, whom it is for
// and a counter. So no draw depends on the order in which others were made, and two policies meet
// the same demand, the same drivers and the same moods. The distributions are written out here:
// those of the standard library differ from one library to the next.
#pragma once

#include <cstdint>

namespace starling::sim::city {

enum class Draw : std::uint64_t { demand = 1, placement, idling, declining, spreading };

class Random {
 public:
  Random(std::uint64_t seed, Draw purpose, std::uint64_t whom = 0, std::uint64_t whom_else = 0);

  std::uint64_t next();
  /// In [0, 1).
  double unit();
  /// In [0, count); count must not be 0.
  std::uint64_t below(std::uint64_t count);
  /// With mean 1.
  double exponential();
  /// With mean 0 and deviation 1.
  double normal();

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace starling::sim::city
