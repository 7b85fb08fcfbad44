// SPDX-License-Identifier: Apache-2.0
// Sorts keys with Highway's SIMD sort. Uses std::sort for few keys, because it is faster for them,
// and if the instruction set is "portable", because Highway's sort would then abort.
#pragma once

#include <cstdint>
#include <span>

#include <hwy/base.h>

namespace starling::cpu {

/// Sorts in ascending order.
void sort_keys(std::span<std::uint64_t> keys);
/// Sorts in ascending order of `hi`, then `lo`.
void sort_keys(std::span<hwy::uint128_t> keys);

}  // namespace starling::cpu
