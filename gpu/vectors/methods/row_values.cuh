// SPDX-License-Identifier: Apache-2.0
// Reads four neighbouring values from a row of a matrix. The kernels of multiselect, quick
// multi-select and threshold call it.
#pragma once

#include <cstdint>

#include <math_constants.h>

namespace starling::gpu {

/// Returns four values of `row`, from column `at` on; `at` is a multiple of 4. Columns from
/// `columns` on give infinity.
__device__ __forceinline__ float4 four_values(const float* row, std::uint32_t columns,
                                              std::uint64_t at) {
  if (at + 4 <= columns && reinterpret_cast<std::uintptr_t>(row) % sizeof(float4) == 0)
    return __ldg(reinterpret_cast<const float4*>(row + at));
  const auto value_at = [&](std::uint64_t column) {
    return column < columns ? __ldg(row + column) : CUDART_INF_F;
  };
  return {value_at(at), value_at(at + 1), value_at(at + 2), value_at(at + 3)};
}

}  // namespace starling::gpu
