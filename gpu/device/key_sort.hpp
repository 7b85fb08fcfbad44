// Sorts by keys on the device: the objects of a tree, and searches in an order of place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"

namespace starling::gpu {

/// Keys and values before and after a sort by key, and what the sort itself needs.
template <class Key>
class KeySort {
 public:
  explicit KeySort(DeviceMemory& memory)
      : keys_{DeviceBuffer<Key>(memory), DeviceBuffer<Key>(memory)},
        values_{DeviceBuffer<std::uint32_t>(memory), DeviceBuffer<std::uint32_t>(memory)},
        scratch_(memory) {}

  void reserve(std::uint32_t count);

  /// To write before the sort.
  Key* keys() { return keys_[0].data(); }
  std::uint32_t* values() { return values_[0].data(); }

  struct Sorted {
    const Key* keys;
    const std::uint32_t* values;
  };
  /// By the lower `key_bits`. Stable; valid until the next write.
  Sorted sort_async(std::uint32_t count, int key_bits, const CudaStream& stream);

  std::uint64_t bytes_used() const;

  /// Where it works: a recorded sort is valid as long as this stays.
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
