// SPDX-License-Identifier: Apache-2.0
// Sorts with CUB's radix sort of key-value pairs: see key_sort.hpp. Keys in a grid's order have 32
// bits, and keys in a tree's order have 64 bits.
#include <cub/device/device_radix_sort.cuh>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/key_sort.hpp"

namespace starling::gpu {
namespace {

template <class Key>
std::size_t scratch_bytes(std::uint32_t count) {
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(
      nullptr, bytes, static_cast<const Key*>(nullptr), static_cast<Key*>(nullptr),
      static_cast<const std::uint32_t*>(nullptr), static_cast<std::uint32_t*>(nullptr), count));
  return bytes;
}

}  // namespace

template <class Key>
void KeySort<Key>::reserve(std::uint32_t count) {
  for (auto& keys : keys_) keys.reserve(count);
  for (auto& values : values_) values.reserve(count);
  scratch_.reserve(scratch_bytes<Key>(count));
}

template <class Key>
typename KeySort<Key>::Sorted KeySort<Key>::sort_async(std::uint32_t count, int key_bits,
                                                       const CudaStream& stream) {
  std::size_t bytes = scratch_.room();
  check(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes,
                                        static_cast<const Key*>(keys_[0].data()), keys_[1].data(),
                                        static_cast<const std::uint32_t*>(values_[0].data()),
                                        values_[1].data(), count, 0, key_bits, stream.get()));
  return {keys_[1].data(), values_[1].data()};
}

template <class Key>
std::uint64_t KeySort<Key>::bytes_used() const {
  return 2 * (keys_[0].room() * sizeof(Key) + values_[0].room() * sizeof(std::uint32_t)) +
         scratch_.room();
}

template class KeySort<std::uint32_t>;
template class KeySort<std::uint64_t>;

}  // namespace starling::gpu
