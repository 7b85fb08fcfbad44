// SPDX-License-Identifier: Apache-2.0
// Draws random numbers with SplitMix64 in counter mode, and computes the distributions: see
// random.hpp.
#include "starling/sim/city/roads/random.hpp"

#include <cmath>
#include <initializer_list>
#include <numbers>

#include "starling/knn/base/seeded_hash.hpp"

namespace starling::sim::city {

Random::Random(std::uint64_t seed, Draw purpose, std::uint64_t whom, std::uint64_t whom_else)
    : key_(split_mix(seed + golden_gamma)) {
  for (const std::uint64_t part : {static_cast<std::uint64_t>(purpose), whom, whom_else})
    key_ = split_mix(key_ + part * golden_gamma + golden_gamma);
}

std::uint64_t Random::next() {
  return split_mix(key_ + ++counter_ * golden_gamma);
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t count) {
  return next() % count;
}

double Random::exponential() {
  return -std::log(1 - unit());
}

double Random::normal() {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * unit());
}

}  // namespace starling::sim::city
