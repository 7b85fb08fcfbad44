// SPDX-License-Identifier: Apache-2.0
// A part of the test program that embeds the engine by its own headers.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::test {

/// Returns the ids of the objects, which are at 1, 2, 3, ... metres, in the list of a query at 0.
std::vector<std::uint64_t> nearest_by_own_headers(const std::vector<std::uint64_t>& ids);

}  // namespace starling::test
