#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/gpu_engine.hpp"

namespace starling::gpu {

std::vector<DeviceInfo> find_devices(std::string& why_none) {
  std::vector<DeviceInfo> devices;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    why_none = std::string("no GPU can be used: ") + cudaGetErrorString(code) +
               "; install NVIDIA's driver, or use --engine cpu";
    return devices;
  }
  for (int number = 0; number < count; ++number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) continue;
    devices.push_back({number, properties.name, properties.totalGlobalMem});
  }
  if (devices.empty()) why_none = "there is no NVIDIA GPU; use --engine cpu";
  return devices;
}

}  // namespace starling::gpu
