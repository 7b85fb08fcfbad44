// SPDX-License-Identifier: Apache-2.0
// A kernel that stores a value to the host without a copy, which could wait for other copies.
// Launched by tell_host_launch.cu.
#pragma once

namespace starling::gpu {

// One thread. `host` points to pinned memory, which the kernel writes directly. The value is valid
// after the host has waited for the CUDA stream.
template <class T>
__global__ void tell_host_kernel(const T* value, T* host) {
  *host = *value;
}

}  // namespace starling::gpu
