// How several GPUs pass each other lists: see list_exchange.hpp. What those name it who do not know
// CUDA.
#pragma once

#include <cstdint>
#include <string>

namespace starling::gpu {

enum class ListTransport : std::uint8_t {
  automatic,  ///< nccl if it is there and no device is named twice, which it refuses; else copies
  nccl,
  copies,  ///< from device to device by the CUDA runtime
};

/// "2.28.9"; empty where NCCL is not there, and why.
std::string nccl_version(std::string& why_none);

}  // namespace starling::gpu
