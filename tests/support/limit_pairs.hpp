// SPDX-License-Identifier: Apache-2.0
// The number of pairs of a place and a neighbour that the tests of distance limits try.
#pragma once

#include <cstdint>

#include "tests/support/random.hpp"

namespace starling::test {

/// Returns the environment variable STARLING_LIMIT_PAIRS, or `count_default` without it.
inline std::uint64_t limit_pairs(std::uint64_t count_default) {
  return number_in_environment("STARLING_LIMIT_PAIRS", count_default);
}

}  // namespace starling::test
