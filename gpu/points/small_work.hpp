// Where the engine for moving points takes work for small. CUDA-free, so that gpu/backend.hpp can
// include it.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// Up to where work is small, and done in another way than much of it: the same bytes out.
struct SmallWork {
  std::uint32_t objects_max = std::uint32_t{1} << 14;  ///< few lists among them need no index
  std::uint32_t searches_max = 4096;  ///< of like k: on the plane a warp each, else a thread
};

}  // namespace starling::gpu
