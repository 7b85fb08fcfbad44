// SPDX-License-Identifier: Apache-2.0
// Keeps the size for each kernel and device, so that CUDA is called only once: see
// shared_bytes.hpp.
#include "starling/gpu/device/shared_bytes.hpp"

#include <map>
#include <mutex>
#include <utility>

#include <cuda_runtime_api.h>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {
namespace {

std::size_t ask_device(const void* kernel, int device) {
  int bytes_max = 0;
  cudaFuncAttributes attributes{};
  check(cudaDeviceGetAttribute(&bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check(cudaFuncGetAttributes(&attributes, kernel));
  bytes_max -= static_cast<int>(attributes.sharedSizeBytes);
  if (attributes.maxDynamicSharedSizeBytes != bytes_max)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_max));
  return static_cast<std::size_t>(bytes_max);
}

}  // namespace

std::size_t allow_shared_bytes_of(const void* kernel) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> answers;
  int device = 0;
  check(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  const auto known = answers.find({kernel, device});
  if (known != answers.end()) return known->second;
  return answers[{kernel, device}] = ask_device(kernel, device);
}

}  // namespace starling::gpu
