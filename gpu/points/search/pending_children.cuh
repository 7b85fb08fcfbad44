// SPDX-License-Identifier: Apache-2.0
// PendingChildren is the stack of a search that walks down a tree. The stack is kept in registers.
// GroupSearch uses it.
#pragma once

#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {

/// For each node on the way down, the children that are still to be visited. Each level has eight
/// bits, one for each child; the innermost level has the lowest bits. There is room for 16 levels,
/// more than levels_max.
class PendingChildren {
 public:
  __device__ void push(unsigned children) {
    outer_ = outer_ << fan_out | inner_ >> (64 - fan_out);
    inner_ = inner_ << fan_out | children;
  }
  __device__ void pop() {
    inner_ = inner_ >> fan_out | outer_ << (64 - fan_out);
    outer_ >>= fan_out;
  }
  __device__ unsigned innermost() const {
    return static_cast<unsigned>(inner_) & ((1u << fan_out) - 1);
  }
  /// Drops the children of the innermost level that are not in `children`.
  __device__ void keep(unsigned children) {
    inner_ &= ~std::uint64_t{(1u << fan_out) - 1} | children;
  }
  /// Removes the first child of the innermost level and returns its number. The level must have a
  /// child.
  __device__ std::uint32_t take() {
    const auto child = static_cast<std::uint32_t>(__ffs(static_cast<int>(innermost()))) - 1;
    inner_ &= inner_ - 1;
    return child;
  }

 private:
  std::uint64_t inner_ = 0;
  std::uint64_t outer_ = 0;
};

}  // namespace starling::gpu
