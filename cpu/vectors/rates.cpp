// SPDX-License-Identifier: Apache-2.0
// Implements measure_rates. Times two loops: one only reads memory, the other only computes steps
// (DeviceRates::steps_per_s). Runs each loop several times and takes the fastest run. The loops are
// compiled once per instruction set.
#include "starling/cpu/vectors/rates.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/vectors/rates.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/vectors/lanes/float_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

// The number of independent sums, all in registers. They use 16 of the 32 registers of AVX-512, or
// 12 of the 16 registers of AVX2.
inline constexpr std::size_t chains = lanes == 8 ? 12 : 16;

float sum_of(const FloatLanes (&sums)[chains]) {
  float sum = 0;
  for (const FloatLanes& some : sums) {
    float values[lanes];
    store_lanes(some, values);
    for (const float value : values) sum += value;
  }
  return sum;
}

/// Reads `from` in rounds of `chains` vectors. Does not read an incomplete last round.
float read_all(std::span<const float> from) {
  FloatLanes sums[chains];
  for (FloatLanes& some : sums) some = all_lanes(0);
  for (std::size_t at = 0; at + chains * lanes <= from.size(); at += chains * lanes)
    for (std::size_t i = 0; i < chains; ++i)
      sums[i] = subtract(sums[i], load_lanes(from.data() + at + i * lanes));
  return sum_of(sums);
}

/// Each step begins with the sum of the next chain, which every round changes. So the compiler
/// cannot compute a step before its round. The sums stay small and never become subnormal.
float take_steps(std::size_t rounds) {
  const FloatLanes start = all_lanes(0x1p-20f);
  FloatLanes sums[chains];
  for (std::size_t i = 0; i < chains; ++i)
    sums[i] = all_lanes(0x1p-20f * static_cast<float>(i % 4 + 2));
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < chains; ++i) {
      const FloatLanes difference = subtract(sums[(i + 1) % chains], start);
      sums[i] = multiply_add(difference, difference, sums[i]);
    }
  return sum_of(sums);
}

std::size_t steps_per_round() {
  return chains * lanes;
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace starling::cpu {
namespace {

HWY_EXPORT(read_all);
HWY_EXPORT(take_steps);
HWY_EXPORT(steps_per_round);

constexpr std::size_t read_floats = std::size_t{128} << 20;  // 512 MiB, more than any cache holds
constexpr std::size_t rounds = 1 << 17;                      // in one chunk: about a millisecond
constexpr std::size_t chunks_per_thread = 16;                // several: threads differ in speed
constexpr int read_trials = 4;
constexpr int step_trials = 8;

/// Runs task(chunk) for each of `chunks` on all threads, `trials` times. Returns the seconds of the
/// fastest trial.
template <class Task>
double least_s(ThreadPool& pool, std::size_t chunks, int trials, const Task& task) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> results(chunks);  // stored, so that the compiler cannot remove the work
  double least = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    const auto begun = Clock::now();
    pool.run(chunks, [&](std::size_t chunk, unsigned) { results[chunk] = task(chunk); });
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begun).count());
  }
  return least;
}

}  // namespace

DeviceRates measure_rates(ThreadPool& pool) {
  const std::size_t chunks = chunks_per_thread * pool.threads();
  const std::size_t chunk_floats = read_floats / chunks;
  const std::vector<float> floats(chunks * chunk_floats, 1.0f);
  const double read_s = least_s(pool, chunks, read_trials, [&](std::size_t chunk) {
    return HWY_DYNAMIC_DISPATCH(read_all)(
        std::span(floats).subspan(chunk * chunk_floats, chunk_floats));
  });
  const double step_s = least_s(pool, chunks, step_trials, [](std::size_t) {
    return HWY_DYNAMIC_DISPATCH(take_steps)(rounds);
  });
  const auto steps = static_cast<double>(chunks * rounds * HWY_DYNAMIC_DISPATCH(steps_per_round)());
  return {.read_gb_per_s = static_cast<double>(floats.size() * sizeof(float)) / read_s / 1e9,
          .steps_per_s = steps / step_s};
}

}  // namespace starling::cpu

#endif  // HWY_ONCE
