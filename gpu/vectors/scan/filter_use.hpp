// SPDX-License-Identifier: Apache-2.0
// Says when a search uses a filter (docs/decisions/0007-vector-filter.md). CUDA-free, so that
// searcher_options.hpp can include it.
#pragma once

#include <cstdint>

namespace starling::gpu {

enum class FilterUse : std::uint8_t {
  never,
  where_faster,
  always,  ///< wherever a filter can be used, from the first search on; for tests
};

}  // namespace starling::gpu
