// SPDX-License-Identifier: Apache-2.0
// Draws random numbers: see random.hpp. Uses only the bits of the generator, because the
// distributions of the standard library differ between implementations.
#include "tests/support/random.hpp"

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>

namespace starling::test {

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t draw = span == 0 ? next() : below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw);
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
  return radius * std::cos(2.0 * std::numbers::pi * unit());
}

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

std::vector<std::uint64_t> seeds(std::size_t count_default) {
  constexpr const char* one = "STARLING_SEED";
  if (std::getenv(one) != nullptr) return {number_in_environment(one, 0)};
  std::vector<std::uint64_t> all(number_in_environment("STARLING_SEEDS", count_default));
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  return all;
}

std::string replay_hint(std::uint64_t seed) {
  return "replay with STARLING_SEED=" + std::to_string(seed);
}

}  // namespace starling::test
