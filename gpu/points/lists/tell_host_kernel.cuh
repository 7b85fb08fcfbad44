// Device code of tell_host_launch.hpp.
#pragma once

namespace starling::gpu {

// One thread. `host` is pinned memory, which the device writes to where it lies.
template <class T>
__global__ void tell_host_kernel(const T* value, T* host) {
  *host = *value;
}

}  // namespace starling::gpu
