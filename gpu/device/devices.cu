// SPDX-License-Identifier: Apache-2.0
// Finds the GPUs that this build's kernels run on: see devices.hpp. This is a .cu file because only
// nvcc defines the list of architectures that the kernels are compiled for.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "starling/gpu/device/devices.hpp"

namespace starling::gpu {
namespace {

constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // 900 means compute capability 9.0

std::string version(int architecture) {
  return std::to_string(architecture / 100) + '.' + std::to_string(architecture / 10 % 10);
}

}  // namespace

// The build also contains PTX, which the drivers of newer GPUs compile. So only the oldest
// architecture is a limit.
int oldest_architecture() {
  return *std::min_element(std::begin(architectures), std::end(architectures));
}

std::vector<DeviceInfo> find_devices(std::string& why_none) {
  std::vector<DeviceInfo> devices;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    int driver_version = 0;  // stays 0 if there is no driver
    static_cast<void>(cudaDriverGetVersion(&driver_version));
    why_none = driver_version == 0 ? "NVIDIA's driver is not installed; install it"
                                   : std::string("no GPU can be used, CUDA says: ") +
                                         cudaGetErrorString(code) + "; check NVIDIA's driver";
    return devices;
  }
  why_none = "there is no NVIDIA GPU";
  for (int number = 0; number < count; ++number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) continue;
    const int architecture = properties.major * 100 + properties.minor * 10;
    if (architecture < oldest_architecture())
      why_none = std::string("this build has no code for the GPU ") + properties.name + " (" +
                 version(architecture) + "), only for " + version(oldest_architecture()) +
                 " and newer; configure with another CMAKE_CUDA_ARCHITECTURES";
    else
      devices.push_back({number, properties.name, properties.totalGlobalMem});
  }
  if (!devices.empty()) why_none.clear();
  return devices;
}

}  // namespace starling::gpu
