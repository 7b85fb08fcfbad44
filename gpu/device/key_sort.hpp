// SPDX-License-Identifier: Apache-2.0
// Sorts key-value pairs on the device. DeviceTree uses it to sort objects, and DevicePlan to put
// searches into spatial order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"

namespace starling::gpu {

/// Sorts pairs of a key and a value by key. Owns the unsorted pairs, the sorted pairs, and the
/// sort's scratch memory.
template <class Key>
class KeySort {
 public:
  explicit KeySort(DeviceMemory& memory)
      : keys_{DeviceBuffer<Key>(memory), DeviceBuffer<Key>(memory)},
        values_{DeviceBuffer<std::uint32_t>(memory), DeviceBuffer<std::uint32_t>(memory)},
        scratch_(memory) {}

  void reserve(std::uint32_t count);

  /// The input of the sort, on the device. The caller fills both arrays before it calls sort_async.
  Key* keys() { return keys_[0].data(); }
  std::uint32_t* values() { return values_[0].data(); }

  struct Sorted {
    const Key* keys;
    const std::uint32_t* values;
  };
  /// Enqueues a sort of the first `count` pairs by the lower `key_bits` bits of their keys. The
  /// sort is stable. The result stays valid until the next sort_async or reserve.
  Sorted sort_async(std::uint32_t count, int key_bits, const CudaStream& stream);

  std::uint64_t bytes_used() const;

  /// The addresses of all buffers. A sort that is recorded in a CUDA graph is valid only while the
  /// addresses stay the same.
  using Memory = std::array<const void*, 5>;
  Memory memory() const {
    return {keys_[0].data(), keys_[1].data(), values_[0].data(), values_[1].data(),
            scratch_.data()};
  }

 private:
  DeviceBuffer<Key> keys_[2];
  DeviceBuffer<std::uint32_t> values_[2];
  DeviceBuffer<std::byte> scratch_;
};

extern template class KeySort<std::uint32_t>;
extern template class KeySort<std::uint64_t>;

}  // namespace starling::gpu
