// SPDX-License-Identifier: Apache-2.0
// The limits up to which the engine for moving points treats work as small. CUDA-free, so that
// gpu/backend.hpp can include it.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// Small work goes to other kernels, which give the same answers, byte for byte.
struct SmallWork {
  /// Few lists among at most this many objects are searched without an index.
  std::uint32_t objects_max = std::uint32_t{1} << 14;
  /// On the plane, a warp serves each search if a class of k has at most this many searches. If the
  /// class has more, and k is small, a thread serves each search.
  std::uint32_t searches_max = 4096;
};

}  // namespace starling::gpu
