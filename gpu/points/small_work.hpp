// SPDX-License-Identifier: Apache-2.0
// The limits up to which the engine for moving points treats work as small. CUDA-free, so that
// gpu/backend.hpp can include it.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// Small work runs in other kernels than large work. The answers are the same, byte for byte.
struct SmallWork {
  /// If a tick has few lists (see ListChanges::are_few), and the objects have at most this many
  /// slots, the lists are searched without an index. An index is still used if a query changed, or
  /// if there is an every-object query.
  std::uint32_t objects_max = std::uint32_t{1} << 14;
  /// Searches run in classes by k: k up to 16, 17 to 32, 33 to 128, and 129 to 1,024. On the plane,
  /// a warp serves each search of a class that has at most searches_max searches. In a larger class
  /// one thread serves each search if k is at most 32; if k is greater, a warp does.
  std::uint32_t searches_max = 4096;
  /// Rows are copied to the device before their tick begins, in parts of at least this many rows.
  std::uint32_t part_rows_min = std::uint32_t{1} << 16;
};

}  // namespace starling::gpu
