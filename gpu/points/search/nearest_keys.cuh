// SPDX-License-Identifier: Apache-2.0
// The state of a ThreadSearch, which searches the plane with one thread: the nearest candidates so
// far, and the runs that the thread must scan.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/index/grid_window.cuh"
#include "starling/gpu/points/search/search_common.cuh"

namespace starling::gpu {

/// The sizes and limits of the kernel for k up to `k_limit`.
template <int k_limit>
struct ThreadSearchShape {
  /// How many pairs of candidates are inserted at once: one pair into a short list, a sorted block
  /// of pairs into a long list. Measured with 1M searches among 1M objects and k 32: 0.751 ms with
  /// blocks of 4 pairs, 0.789 with blocks of 8, 0.800 pair by pair.
  static constexpr int pairs_at_once = k_limit <= 16 ? 1 : 4;
  /// How many numbers (see RankedKeys) the keys need, including keys that wait to be inserted.
  static constexpr int numbers = pairs_at_once == 1 ? k_limit + 1 : k_limit + 2 * pairs_at_once;
  static constexpr int number_bits = std::bit_width(static_cast<unsigned>(numbers - 1));
  /// The most runs that a thread lists. If a search's window has more, the search is postponed.
  static constexpr int runs_max = k_limit <= 10 ? 16 : k_limit <= 16 ? 20 : 22;
  /// How many blocks a multiprocessor should hold. To hold more blocks, the compiler spills
  /// registers, which costs less time than waiting for memory. Measured with 1M searches among 1M
  /// objects and k 10: 0.348 ms with 8 blocks, 0.367 with 6, 0.372 with the compiler's own choice.
  static constexpr unsigned blocks_min = k_limit <= 10 ? 8 : k_limit <= 16 ? 7 : 4;
  static constexpr std::size_t places_bytes = numbers * warp_lanes * sizeof(std::uint32_t);
  static constexpr std::size_t begins_bytes = runs_max * warp_lanes * sizeof(std::uint32_t);
  static constexpr std::size_t counts_bytes = runs_max * warp_lanes * sizeof(std::uint16_t);
  /// Shared memory of a warp: for each lane three columns, for the places, the runs' begins and the
  /// runs' counts.
  static constexpr std::size_t warp_bytes = places_bytes + begins_bytes + counts_bytes;
};

/// The nearest k_limit + 1 candidates of a thread, as ascending keys in registers. The upper bits
/// of a key are the upper bits of the squared distance as a float. The lower bits are the key's
/// number. The candidate's place is in shared memory, in the lane's column, in the row of this
/// number. A new key takes over the number of a dropped key.
template <int k_limit>
class RankedKeys {
 public:
  using Shape = ThreadSearchShape<k_limit>;
  static constexpr std::uint32_t number_mask = (1u << Shape::number_bits) - 1;
  static constexpr std::uint32_t infinity = 0x7f800000;  ///< the bits of the float infinity

  __device__ static std::uint32_t key_of(float distance_sq) {
    return __float_as_uint(distance_sq) & ~number_mask;
  }

  /// Only candidates with a key below last() are inserted.
  __device__ std::uint32_t last() const { return keys_[k_limit]; }
  /// `rank` is a run-time value; selecting in a loop keeps the keys in registers.
  __device__ std::uint32_t key_at(int rank) const {
    std::uint32_t key = keys_[0];
#pragma unroll
    for (int i = 1; i <= k_limit; ++i)
      if (i == rank) key = keys_[i];
    return key;
  }

  /// Writes the places of the nearest `count` candidates to shared memory, in the order of their
  /// ranks. Ranks without a candidate get place_none. place_at() reads these places. All lanes of
  /// the warp must call together. Offer no candidates afterwards.
  __device__ __forceinline__ void rank_places(int count) {
    std::uint32_t ranked[k_limit];
#pragma unroll
    for (int i = 0; i < k_limit; ++i)
      ranked[i] = i < count && keys_[i] < infinity ? place_of(keys_[i]) : place_none;
    __syncwarp();
    const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
    for (unsigned i = 0; i < k_limit; ++i) of_warp()[ranked_at(i, lane)] = ranked[i];
    __syncwarp();
  }

  /// Returns the place at rank `rank` in the search of the warp's lane `lane`. Call after
  /// rank_places().
  __device__ std::uint32_t place_at(unsigned rank, unsigned lane) const {
    return of_warp()[ranked_at(rank, lane)];
  }

 protected:
  /// `places` is the lane's column in shared memory.
  __device__ explicit RankedKeys(std::uint32_t* places) : places_(places) {
#pragma unroll
    for (int i = 0; i <= k_limit; ++i) keys_[i] = infinity | i;
  }

  /// Returns a reference to the place of the key's candidate, in shared memory.
  __device__ std::uint32_t& place_of(std::uint32_t key) const {
    return places_[(key & number_mask) * warp_lanes];
  }

  std::uint32_t keys_[k_limit + 1];

 private:
  /// Returns the index of a rank's place. The places of one search lie in different banks.
  __device__ static unsigned ranked_at(unsigned rank, unsigned lane) {
    return rank * warp_lanes + (lane + rank) % warp_lanes;
  }
  __device__ std::uint32_t* of_warp() const {
    return places_ - threadIdx.x % warp_lanes;
  }

  std::uint32_t* places_;
};

/// Inserts candidates two by two. A pair takes three instructions for each key that is kept.
template <int k_limit>
class KeysByPairs : public RankedKeys<k_limit> {
 public:
  using Ranked = RankedKeys<k_limit>;

  __device__ explicit KeysByPairs(std::uint32_t* places) : Ranked(places) {}

  /// Offers the candidates at `place` and `place + 1`. Each key is a result of key_of(), or
  /// infinity if there is no candidate.
  __device__ __forceinline__ void offer(int /*pair*/, std::uint32_t key, std::uint32_t next_key,
                                        std::uint32_t place) {
    const std::uint32_t last = keys_[k_limit];
    const std::uint32_t last_but_one = keys_[k_limit - 1];
    const bool next_first = next_key < key;
    const std::uint32_t first = min(key, next_key) | (last & Ranked::number_mask);
    if (first >= last) return;
    this->place_of(last) = place + (next_first ? 1 : 0);
    std::uint32_t second = max(key, next_key) | (last_but_one & Ranked::number_mask);
    if (second < last_but_one)
      this->place_of(last_but_one) = place + (next_first ? 0 : 1);
    else
      second = ~0u;
    insert(min(first, second), max(first, second));
  }

 private:
  using Ranked::keys_;

  /// Inserts `a` and `b`, where a <= b, and drops the last two keys. If `b` is ~0u, inserts only
  /// `a` and drops only the last key.
  __device__ __forceinline__ void insert(std::uint32_t a, std::uint32_t b) {
#pragma unroll
    for (int i = k_limit; i > 1; --i)
      keys_[i] = __vimin3_u32(keys_[i], max(keys_[i - 1], a), max(keys_[i - 2], b));
    keys_[1] = __vimin3_u32(keys_[1], max(keys_[0], a), b);
    keys_[0] = min(keys_[0], a);
  }
};

/// The comparisons of Batcher's odd-even merge sort for `size` values, a power of two up to 8.
struct SortingNetwork {
  struct Step {
    int low;
    int high;
  };
  Step steps[19]{};
  std::size_t count = 0;

  constexpr explicit SortingNetwork(int size) {
    for (int run = 1; run < size; run *= 2)
      for (int step = run; step > 0; step /= 2)
        for (int i = step % run; i + step < size; ++i)
          if ((i - step % run) % (2 * step) < step && i / (2 * run) == (i + step) / (2 * run))
            steps[count++] = {i, i + step};
  }
};

/// Collects candidates into a block, sorts the block, and merges it with the keys. With k 32 this
/// takes 27 instructions for each candidate; inserting pairs would take 50.
template <int k_limit>
class KeysByBlocks : public RankedKeys<k_limit> {
 public:
  using Ranked = RankedKeys<k_limit>;
  static constexpr int block = 2 * Ranked::Shape::pairs_at_once;
  static_assert(std::has_single_bit(unsigned{k_limit}) && std::has_single_bit(unsigned{block}));

  __device__ explicit KeysByBlocks(std::uint32_t* places) : Ranked(places) {
#pragma unroll
    for (int i = 0; i < block; ++i) block_[i] = Ranked::infinity | (k_limit + i);
  }

  /// Offers the candidates at `place` and `place + 1` as pair number `pair` of the block. Each key
  /// is a result of key_of(), or infinity if there is no candidate. Offer all pairs of the block
  /// before take_in().
  __device__ __forceinline__ void offer(int pair, std::uint32_t key, std::uint32_t next_key,
                                        std::uint32_t place) {
    put(2 * pair, key, place);
    put(2 * pair + 1, next_key, place + 1);
  }

  /// Merges the block with the keys: the nearest stay, and the next block takes over the numbers of
  /// the dropped keys. Afterwards last() is the least key that a merge has dropped so far. If no
  /// candidate of the block is nearer than last(), drops the whole block without merging. Measured
  /// with 1M searches among 1M objects and k 32: 0.728 ms without this check, 0.706 ms with it. For
  /// clustered objects: 0.882 ms without, 0.843 ms with it.
  __device__ __forceinline__ void take_in() {
    std::uint32_t nearest = block_[0];
#pragma unroll
    for (int i = 1; i < block; ++i) nearest = min(nearest, block_[i]);
    if (nearest >= keys_[k_limit]) return;
    sort_block();
#pragma unroll
    for (int i = 0; i < block; ++i) order(keys_[k_limit - 1 - i], block_[i]);
#pragma unroll
    for (int i = 0; i < block; ++i) keys_[k_limit] = min(keys_[k_limit], block_[i]);
#pragma unroll
    for (int step = k_limit / 2; step > 0; step /= 2)  // a bitonic merge of the k_limit keys
#pragma unroll
      for (int i = 0; i < k_limit; ++i)
        if ((i & step) == 0) order(keys_[i], keys_[i + step]);
  }

 private:
  using Ranked::keys_;

  __device__ __forceinline__ void put(int i, std::uint32_t key, std::uint32_t place) {
    block_[i] = key | (block_[i] & Ranked::number_mask);
    this->place_of(block_[i]) = place;
  }

  __device__ static void order(std::uint32_t& a, std::uint32_t& b) {
    const std::uint32_t less = min(a, b);
    b = max(a, b);
    a = less;
  }

  __device__ __forceinline__ void sort_block() {
    take_steps(std::make_index_sequence<sorting.count>());
  }
  template <std::size_t... i>
  __device__ __forceinline__ void take_steps(std::index_sequence<i...>) {
    (order(block_[sorting.steps[i].low], block_[sorting.steps[i].high]), ...);
  }

  static constexpr SortingNetwork sorting{block};
  std::uint32_t block_[block];
};

template <int k_limit>
using NearestKeys = std::conditional_t<ThreadSearchShape<k_limit>::pairs_at_once == 1,
                                       KeysByPairs<k_limit>, KeysByBlocks<k_limit>>;

/// The runs that a thread must scan, in shared memory.
template <int k_limit>
class RunList {
 public:
  using Shape = ThreadSearchShape<k_limit>;
  static constexpr std::uint32_t count_max = 2000;  ///< the most places of one run

  /// `begins` and `counts` are the lane's columns.
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
  /// Returns true if a run did not fit or was too long, or if overfill() was called.
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
