// SPDX-License-Identifier: Apache-2.0
// The part of the test program that includes the engine's own headers instead of starling.hpp.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::test {

/// Puts the objects at 1, 2, 3, ... metres. Returns the ids in the list of a query at 0 m.
std::vector<std::uint64_t> nearest_by_own_headers(const std::vector<std::uint64_t>& ids);

}  // namespace starling::test
