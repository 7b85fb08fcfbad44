// SPDX-License-Identifier: Apache-2.0
// Allocates device memory up to an engine's limit, and pinned memory that every device can access:
// see memory.hpp.
#include "starling/gpu/device/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {

namespace {

/// Returns the number of MiB, rounded up.
std::string mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  return std::to_string(bytes / mebibyte + (bytes % mebibyte != 0 ? 1 : 0));
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  std::uint64_t used = bytes_used_;
  while (bytes <= bytes_max_ - used && !bytes_used_.compare_exchange_weak(used, used + bytes)) {
  }
  if (bytes > bytes_max_ - used)
    throw std::runtime_error(
        "the GPU engine's memory is full (" + mebibytes(used) + " of " + mebibytes(bytes_max_) +
        " MiB used, " + mebibytes(bytes) +
        " MiB more wanted); use fewer objects, queries or vectors at a time, ask for fewer "
        "neighbours, or raise its limit");
  void* memory = nullptr;
  const cudaError_t code = cudaMalloc(&memory, bytes);
  if (code != cudaSuccess) bytes_used_ -= bytes;
  check(code);
  return memory;
}

void DeviceMemory::release(void* memory, std::size_t bytes) noexcept {
  // cudaFree fails only if the device is lost, and an earlier call has already reported that.
  static_cast<void>(cudaFree(memory));
  bytes_used_ -= bytes;
}

std::uint64_t DeviceMemory::bytes_left() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return std::min<std::uint64_t>(bytes_max_ - bytes_used_, free);
}

void* PinnedMemory::do_allocate(std::size_t bytes, std::size_t /*alignment*/) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess) return memory;
  cudaGetLastError();
  throw std::bad_alloc();
}

void PinnedMemory::do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t /*alignment*/) {
  static_cast<void>(cudaFreeHost(memory));
}

PinnedMemory& pinned_memory() {
  static PinnedMemory memory;
  return memory;
}

}  // namespace starling::gpu
