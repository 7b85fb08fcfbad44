// SPDX-License-Identifier: Apache-2.0
// Draws random numbers with SplitMix64 in counter mode, and computes the distributions: see
// random.hpp.
#include "starling/sim/city/roads/random.hpp"

#include <cmath>
#include <initializer_list>
#include <numbers>

namespace starling::sim::city {
namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, Draw purpose, std::uint64_t whom, std::uint64_t whom_else)
    : key_(mix(seed + golden_gamma)) {
  for (const std::uint64_t part : {static_cast<std::uint64_t>(purpose), whom, whom_else})
    key_ = mix(key_ + part * golden_gamma + golden_gamma);
}

std::uint64_t Random::next() {
  return mix(key_ + ++counter_ * golden_gamma);
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
