// The stack of a walk down an implicit tree.
#pragma once

#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {

/// Which children of nodes on the way down are still to be visited: eight bits a level, the
/// innermost last. Deep enough for levels_max.
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
  /// Of the innermost.
  __device__ void keep(unsigned children) {
    inner_ &= ~std::uint64_t{(1u << fan_out) - 1} | children;
  }
  /// The lowest bit of the innermost, taken out.
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
