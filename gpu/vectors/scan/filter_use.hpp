// SPDX-License-Identifier: Apache-2.0
// Says when and how a search uses a filter (docs/decisions/0007-vector-filter.md). CUDA-free, so
// that searcher_options.hpp can include it.
#pragma once

#include <cstdint>

namespace starling::gpu {

enum class FilterUse : std::uint8_t {
  never,
  where_faster,
  always,  ///< a filter is used wherever one can be, beginning with the first search; tests use it
};

struct FilterOptions {
  FilterUse use = FilterUse::where_faster;
  /// If false, the filter does not let several warps multiply together, even if the GPU can; for
  /// tests.
  bool may_multiply_in_groups = true;
};

}  // namespace starling::gpu
