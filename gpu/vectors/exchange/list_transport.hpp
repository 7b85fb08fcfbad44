// SPDX-License-Identifier: Apache-2.0
// Says how several GPUs pass lists to each other: see list_exchange.hpp. CUDA-free, so that
// gpu/backend.hpp can include it.
#pragma once

#include <cstdint>
#include <string>

namespace starling::gpu {

enum class ListTransport : std::uint8_t {
  automatic,  ///< NCCL if it is available and no device is named twice; else copies
  nccl,       ///< NCCL, which refuses a device that is named twice
  copies,     ///< copies between devices by the CUDA runtime
};

/// Returns the version of NCCL, for example "2.28.9". If NCCL is not available, returns an empty
/// string and writes the reason to `why_none`.
std::string nccl_version(std::string& why_none);

}  // namespace starling::gpu
