// SPDX-License-Identifier: Apache-2.0
// How several GPUs pass lists to each other: see list_exchange.hpp. CUDA-free, so that
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

/// The version of NCCL, such as "2.28.9". Empty if it is not available; `why_none` then says why.
std::string nccl_version(std::string& why_none);

}  // namespace starling::gpu
