// SPDX-License-Identifier: Apache-2.0
// Lists the GPUs of this machine that this build has code for. CUDA-free, so that gpu/backend.hpp
// can include it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace starling::gpu {

struct DeviceInfo {
  int number = 0;  ///< CUDA device number
  std::string name;
  std::uint64_t memory_bytes = 0;
};

/// Returns the devices that this build has code for. If the list is empty, `why_none` says why;
/// otherwise `why_none` is empty.
std::vector<DeviceInfo> find_devices(std::string& why_none);

/// Returns the lowest compute capability that this build runs on; 900 means 9.0. The build also
/// runs on devices of every higher compute capability.
int oldest_architecture();

}  // namespace starling::gpu
