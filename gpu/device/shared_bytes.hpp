// SPDX-License-Identifier: Apache-2.0
// Raises the limit of the dynamic shared memory that a kernel may use. allow_shared_bytes
// (launch_grid.cuh) calls allow_shared_bytes_of.
#pragma once

#include <cstddef>

namespace starling::gpu {

/// Lets blocks of the kernel use all the dynamic shared memory that the current device has for a
/// block, and returns that size in bytes. The size is the same in every call, so host threads that
/// launch the kernel at the same time do not change each other's limit. The function calls CUDA
/// only once for each kernel and device. Any thread may call the function.
std::size_t allow_shared_bytes_of(const void* kernel);

}  // namespace starling::gpu
