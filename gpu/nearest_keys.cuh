// What a thread that searches the plane holds: the nearest so far, and what it is to scan.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "gpu/grid_window.cuh"
#include "gpu/lane_group.cuh"

namespace starling::gpu {

/// What a kernel for k up to `k_limit` takes.
template <int k_limit>
struct ThreadSearchShape {
  static constexpr int number_bits = std::bit_width(static_cast<unsigned>(k_limit));
  /// A window of more runs is left to a warp.
  static constexpr int runs_max = k_limit <= 10 ? 16 : k_limit <= 16 ? 20 : 28;
  /// Results that are written at once.
  static constexpr int share = k_limit <= 10 ? 10 : 8;
  static_assert(k_limit % share == 0);
  static constexpr std::size_t places_bytes = (k_limit + 1) * warp_lanes * sizeof(std::uint32_t);
  static constexpr std::size_t begins_bytes = runs_max * warp_lanes * sizeof(std::uint32_t);
  static constexpr std::size_t counts_bytes = runs_max * warp_lanes * sizeof(std::uint16_t);
  /// Shared memory of a warp: for each lane a column of k_limit + 1 places, and the runs' begins
  /// and counts.
  static constexpr std::size_t warp_bytes = places_bytes + begins_bytes + counts_bytes;
};

/// Of what a thread finds the nearest k_limit + 1, as ascending keys in registers: the upper bits
/// of a squared distance in float, and the number under which shared memory has the place. A key
/// that goes leaves its number to the one that comes.
template <int k_limit>
class NearestKeys {
 public:
  using Shape = ThreadSearchShape<k_limit>;
  static constexpr std::uint32_t number_mask = (1u << Shape::number_bits) - 1;
  static constexpr std::uint32_t infinity = 0x7f800000;  ///< as a float, and behind all distances

  /// `places` is the lane's column.
  __device__ explicit NearestKeys(std::uint32_t* places) : places_(places) {
#pragma unroll
    for (int i = 0; i <= k_limit; ++i) keys_[i] = infinity | i;
  }

  __device__ static std::uint32_t key_of(float distance_sq) {
    return __float_as_uint(distance_sq) & ~number_mask;
  }

  /// Two candidates at neighbouring places, by key_of() or infinity.
  __device__ __forceinline__ void offer(std::uint32_t key, std::uint32_t next_key,
                                        std::uint32_t place) {
    const std::uint32_t last = keys_[k_limit];
    const std::uint32_t last_but_one = keys_[k_limit - 1];
    const bool next_first = next_key < key;
    const std::uint32_t first = min(key, next_key) | (last & number_mask);
    if (first >= last) return;
    places_[(last & number_mask) * warp_lanes] = place + (next_first ? 1 : 0);
    std::uint32_t second = max(key, next_key) | (last_but_one & number_mask);
    if (second < last_but_one)
      places_[(last_but_one & number_mask) * warp_lanes] = place + (next_first ? 0 : 1);
    else
      second = ~0u;
    insert(min(first, second), max(first, second));
  }

  /// Nobody from here on enters.
  __device__ std::uint32_t last() const {
    return keys_[k_limit];
  }
  __device__ std::uint32_t key(int rank) const {
    return keys_[rank];
  }
  /// The same for a rank that the compiler does not know.
  __device__ std::uint32_t key_at(int rank) const {
    std::uint32_t key = keys_[0];
#pragma unroll
    for (int i = 1; i <= k_limit; ++i)
      if (i == rank) key = keys_[i];
    return key;
  }
  __device__ std::uint32_t place_of(std::uint32_t key) const {
    return places_[(key & number_mask) * warp_lanes];
  }

 private:
  /// a <= b. The two last keys go, or the last one for a.
  __device__ __forceinline__ void insert(std::uint32_t a, std::uint32_t b) {
#pragma unroll
    for (int i = k_limit; i > 1; --i)
      keys_[i] = __vimin3_u32(keys_[i], max(keys_[i - 1], a), max(keys_[i - 2], b));
    keys_[1] = __vimin3_u32(keys_[1], max(keys_[0], a), b);
    keys_[0] = min(keys_[0], a);
  }

  std::uint32_t keys_[k_limit + 1];
  std::uint32_t* places_;
};

/// What a thread is to scan, in shared memory.
template <int k_limit>
class RunList {
 public:
  using Shape = ThreadSearchShape<k_limit>;
  static constexpr std::uint32_t count_max = 2000;  ///< of one run

  /// The lane's columns.
  __device__ RunList(std::uint32_t* begins, std::uint16_t* counts)
      : begins_(begins), counts_(counts) {}

  __device__ void clear() { size_ = 0; }
  __device__ void add(const Run& run) {
    const std::uint32_t count = run.count();
    if (count == 0) return;
    if (size_ < Shape::runs_max && count <= count_max) {
      begins_[size_ * warp_lanes] = run.begin;
      counts_[size_ * warp_lanes] = static_cast<std::uint16_t>(count);
      ++size_;
    } else {
      overfill();
    }
  }
  __device__ void overfill() { size_ = Shape::runs_max + 1; }
  /// Some did not fit, or were too long.
  __device__ bool is_overfull() const { return size_ > Shape::runs_max; }
  __device__ int size() const { return size_; }
  __device__ Run run(int i) const {
    const std::uint32_t begin = begins_[i * warp_lanes];
    return {begin, begin + counts_[i * warp_lanes]};
  }

 private:
  std::uint32_t* begins_;
  std::uint16_t* counts_;
  int size_ = 0;
};

}  // namespace starling::gpu
