// SPDX-License-Identifier: Apache-2.0
// Random numbers for tests, and their seeds. A seed gives the same numbers on every platform. Every
// randomized test prints its seed, and reads seeds from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace starling::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  std::uint64_t next() { return bits_(); }
  /// Returns a number in [0, count); count must not be 0.
  std::uint64_t below(std::uint64_t count) { return bits_() % count; }
  /// Returns a number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Returns a number in [0, 1).
  double unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// Returns a normally distributed number with mean 0 and deviation 1.
  double normal();

  template <class T>
  const T& pick(std::span<const T> choices) {
    return choices[static_cast<std::size_t>(below(choices.size()))];
  }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return pick(std::span<const T>(choices));
  }

 private:
  std::mt19937_64 bits_;
};

/// Returns the seeds from 1 to STARLING_SEEDS, or to `count_default` if STARLING_SEEDS is not set.
/// If STARLING_SEED is set, returns only that seed, to replay one run.
std::vector<std::uint64_t> seeds(std::size_t count_default);

/// Returns a sentence to print with a failure, so that its run can be replayed.
std::string replay_hint(std::uint64_t seed);

}  // namespace starling::test
