// Random numbers for tests: the same draws on every platform for the same seed, and the seeds
// themselves, which every randomized test prints and reads back from the environment.
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
  /// In [0, count); count must not be 0.
  std::uint64_t below(std::uint64_t count) { return bits_() % count; }
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// In [0, 1).
  double unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// Normal with mean 0 and deviation 1.
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

/// STARLING_SEED alone if set (to replay one run), else STARLING_SEEDS seeds (or `count_default`)
/// from 1 on.
std::vector<std::uint64_t> seeds(std::size_t count_default);

/// What to print beside a failure so that its run can be replayed.
std::string replay_hint(std::uint64_t seed);

}  // namespace starling::test
