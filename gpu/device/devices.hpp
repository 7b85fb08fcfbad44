// The GPUs of this machine that this build has code for. CUDA-free, so that gpu/backend.hpp can
// include it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace starling::gpu {

struct DeviceInfo {
  int number = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
};

/// The devices that this build has code for. `why_none` says, if there are none, why and what
/// helps.
std::vector<DeviceInfo> find_devices(std::string& why_none);

/// A device of this compute capability, 900 being 9.0, or of a newer one runs this build.
int oldest_architecture();

}  // namespace starling::gpu
