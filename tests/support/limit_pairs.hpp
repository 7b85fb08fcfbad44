// SPDX-License-Identifier: Apache-2.0
// Says how many pairs of a place and a neighbour the tests of limits of distance try.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace starling::test {

/// Returns the environment variable STARLING_LIMIT_PAIRS, or `count_default` without it.
inline std::uint64_t limit_pairs(std::uint64_t count_default) {
  const char* const given = std::getenv("STARLING_LIMIT_PAIRS");
  return given == nullptr ? count_default : std::strtoull(given, nullptr, 10);
}

}  // namespace starling::test
