// SPDX-License-Identifier: Apache-2.0
// The memory that a published method takes in addition to corpus, queries and lists. It is one
// piece of device memory, which is divided into arrays anew for every search.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/memory.hpp"
#include "starling/knn/base/assert.hpp"

namespace starling::gpu {

class MethodWorkspace {
 public:
  MethodWorkspace(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory), bytes_max_(bytes_max), bytes_(memory) {}

  /// Returns the bytes that an array of `count` elements takes. Each array begins at a multiple of
  /// `boundary` bytes.
  template <class T>
  static constexpr std::uint64_t bytes_for(std::uint64_t count) {
    return (count * sizeof(T) + boundary - 1) / boundary * boundary;
  }

  std::uint64_t bytes_max() const { return bytes_max_; }

  /// Makes room for exactly `bytes` bytes, since plans count every byte. Arrays that cut() returned
  /// before become invalid. If the memory grows, waits for the device. Throws the same errors as
  /// DeviceMemory.
  void begin(std::uint64_t bytes) {
    cut_ = 0;
    if (bytes <= bytes_.room()) return;
    bytes_ = DeviceBuffer<std::byte>(memory_);
    bytes_ = DeviceBuffer<std::byte>(memory_, bytes);
  }

  /// Returns the next array, which has `count` elements. begin() must have made room for it.
  template <class T>
  T* cut(std::uint64_t count) {
    std::byte* at = bytes_.data() + cut_;
    cut_ += bytes_for<T>(count);
    check_invariant(cut_ <= bytes_.room(), "a method plans room for every array that it cuts");
    return reinterpret_cast<T*>(at);
  }

 private:
  static constexpr std::uint64_t boundary = 256;

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  std::uint64_t cut_ = 0;
  DeviceBuffer<std::byte> bytes_;
};

}  // namespace starling::gpu
