// SPDX-License-Identifier: Apache-2.0
// Draws random numbers for tests, and reads seeds and counts from the environment. A seed gives the
// same numbers on every platform. Every randomized test prints its seed and reads seeds from the
// environment.
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
  /// Returns a random integer in [0, count). `count` must not be 0.
  std::uint64_t below(std::uint64_t count) { return bits_() % count; }
  /// Returns a random integer in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Returns a random number in [0, 1).
  double unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// Returns a normally distributed number with mean 0 and standard deviation 1.
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

/// Returns the number in an environment variable, or `otherwise` without it.
std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise);

/// Returns the seeds 1, 2 and so on. Their number is the environment variable STARLING_SEEDS or,
/// without it, `count_default`. If STARLING_SEED is set, returns only that seed, so that one run
/// can be replayed.
std::vector<std::uint64_t> seeds(std::size_t count_default);

/// Returns a sentence that says how to replay the run of this seed. Tests print it with a failure.
std::string replay_hint(std::uint64_t seed);

}  // namespace starling::test
