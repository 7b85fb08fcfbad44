// SPDX-License-Identifier: Apache-2.0
// Keeps the nearest candidates that a group of lanes has found, in shared memory. WarpSearch,
// GroupSearch and the flat search use NearestInShared.
#pragma once

#include <bit>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/search/search_common.cuh"

namespace starling::gpu {

/// After tighten(), a search for k neighbours keeps at most this many candidates within its bound.
__host__ __device__ constexpr std::uint32_t size_limit(std::uint32_t k) {
  constexpr std::uint32_t slack_min = 10;
  return k + (k / 2 > slack_min ? k / 2 : slack_min);
}

/// Returns how many entries of shared memory a search for k neighbours needs. Up to `offered_max`
/// candidates may be offered between two calls of tighten().
constexpr std::uint32_t entries_for(std::uint32_t k, std::uint32_t offered_max) {
  return std::bit_ceil(size_limit(k) + offered_max);
}

/// A buffer of candidates for each group of lanes. When many more than k candidates are within the
/// bound, the bound is lowered until only a few more than k are within it. Candidates beyond the
/// bound leave the buffer when it is full. At most `offered_max` candidates may be offered between
/// two calls of tighten(); entries_for() leaves room for them. All lanes of a warp must call each
/// function together, even if their groups hold different numbers of candidates.
template <unsigned lanes, std::uint32_t offered_max>
class NearestInShared {
 public:
  using Group = LaneGroup<lanes>;

  /// Returns the bytes of shared memory for one group. The bytes of `stagger` put entries that the
  /// groups of a warp read at the same time into different banks.
  __host__ __device__ static constexpr std::size_t bytes(std::uint32_t entries) {
    constexpr std::size_t stagger = 72;
    return entries * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + stagger;
  }

  /// `memory` has bytes(entries) bytes. `bound` is a squared distance; no candidate beyond it may
  /// be offered. `is_tight` is true if `bound` is near the squared distance of the k-th neighbour.
  __device__ NearestInShared(std::byte* memory, std::uint32_t entries, std::uint32_t k,
                             std::uint64_t bound, bool is_tight, const IdOfPlace& id_of)
      : distances_sq_(reinterpret_cast<std::uint64_t*>(memory)),
        places_(reinterpret_cast<std::uint32_t*>(distances_sq_ + entries)),
        entries_(entries),
        k_(k),
        bound_(bound),
        is_tight_(is_tight),
        id_of_(id_of) {}

  /// Returns the squared distance beyond which no candidate may be offered any more.
  __device__ std::uint64_t bound() const { return bound_; }

  /// Call after offers. Lowers the bound if more than size_limit(k) candidates are within it, or,
  /// if `is_first` is true, more than k candidates. Returns true if the bound of any search of the
  /// warp may have become lower.
  __device__ __forceinline__ bool tighten(bool is_first) {
    const std::uint32_t limit = is_first ? k_ : size_limit(k_);
    const bool is_lowered = any_in_warp(near_ > limit);
    if (is_lowered) lower_bound(limit);
    if (any_in_warp(size_ > entries_ - offered_max)) compact();
    return is_lowered;
  }

  /// Returns true if at least k candidates are within the bound. If so, lowers the bound to the
  /// squared distance of the farthest of these candidates.
  __device__ bool close() {
    tighten(true);
    settle();
    const std::uint64_t reach = farthest(*this, size_);
    if (near_ >= k_) bound_ = min(bound_, reach);
    return near_ >= k_;
  }

  /// Each lane whose `is_offered` is true offers one candidate. The buffer must have room.
  __device__ __forceinline__ void offer(bool is_offered, std::uint64_t distance_sq,
                                        std::uint32_t place) {
    const unsigned offered = group_.ballot(is_offered);
    if (is_offered) {
      const auto i = size_ + static_cast<std::uint32_t>(__popc(group_.before(offered)));
      distances_sq_[i] = distance_sq;
      places_[i] = place;
    }
    const auto count = static_cast<std::uint32_t>(__popc(offered));
    size_ += count;
    near_ += count;
  }

  /// Removes the candidates beyond the bound. After a further barrier another warp may take() the
  /// remaining candidates.
  __device__ __forceinline__ void settle() {
    __syncwarp();
    if (any_in_warp(size_ > near_)) compact();
  }
  __device__ std::uint32_t size() const { return size_; }

  /// Offers the first `size` entries of `other` to this buffer. Call settle() on `other` before.
  __device__ __forceinline__ void take(const NearestInShared& other, std::uint32_t size) {
    for (std::uint32_t begin = 0; begin < size; begin += lanes) {
      const std::uint32_t i = begin + group_.lane;
      const std::uint64_t distance_sq = i < size ? other.distances_sq_[i] : 0;
      offer(i < size && distance_sq <= bound_, distance_sq, i < size ? other.places_[i] : 0);
      tighten(false);
    }
  }

  /// Copies all entries to `to`, from entry `first` on. Call settle() before.
  __device__ __forceinline__ void copy_to(const NearestInShared& to, std::uint32_t first) const {
    for (std::uint32_t i = group_.lane; i < size_; i += lanes) {
      to.distances_sq_[first + i] = distances_sq_[i];
      to.places_[first + i] = places_[i];
    }
  }
  /// Takes over the first `size` entries, which several warps have copied here. No entry may be
  /// beyond `bound`. Call after a barrier that follows the copies.
  __device__ __forceinline__ void adopt(std::uint32_t size, std::uint64_t bound) {
    size_ = near_ = size;
    bound_ = bound;
  }

  /// Calls `write(rank, distance_sq, place)` for each of the nearest k, on any lane of the group.
  /// If a rank gets more than one call, the last call is right. Returns the number of neighbours.
  /// Offer no candidates afterwards.
  template <class Write>
  __device__ __forceinline__ std::uint32_t for_each(const Write& write) {
    settle();
    bool is_ranked = false;
    if (!any_in_warp(size_ > ranked_max))
      is_ranked = any_in_warp(bound_ > ~std::uint32_t{0}) ? write_ranked<std::uint64_t>(write)
                                                          : write_ranked<std::uint32_t>(write);
    if (any_in_warp(!is_ranked)) [[unlikely]] {
      sort_and_cut();  // its barriers order the writes below after those of write_ranked()
      for (std::uint32_t rank = group_.lane; rank < size_; rank += lanes)
        write(rank, distances_sq_[rank], places_[rank]);
    }
    return min(size_, k_);
  }

 private:
  /// Up to this many entries, write_ranked() is faster than a sort.
  static constexpr std::uint32_t ranked_max = 64;

  /// Ranks the entries and writes the nearest k. Each lane takes a few entries at a time, and
  /// counts for each of them how many entries are nearer. Returns false if two entries are equally
  /// far; what was written is then wrong. `Key` must be able to hold every squared distance of the
  /// buffer.
  template <class Key, class Write>
  __device__ __forceinline__ bool write_ranked(const Write& write) const {
    constexpr unsigned share = 3;
    std::uint32_t sum = 0;
    for (std::uint32_t begin = group_.lane; begin < size_; begin += share * lanes) {
      Key own[share];
      std::uint32_t ranks[share] = {};
#pragma unroll
      for (unsigned i = 0; i < share; ++i)
        own[i] = static_cast<Key>(distances_sq_[min(begin + i * lanes, size_ - 1)]);
#pragma unroll 4
      for (std::uint32_t j = 0; j < size_; ++j) {
        const auto other = static_cast<Key>(distances_sq_[j]);
#pragma unroll
        for (unsigned i = 0; i < share; ++i) ranks[i] += other < own[i] ? 1 : 0;
      }
#pragma unroll
      for (unsigned i = 0; i < share; ++i) {
        const std::uint32_t at = begin + i * lanes;
        if (at >= size_) continue;
        sum += ranks[i];
        if (ranks[i] < k_) write(ranks[i], std::uint64_t{own[i]}, places_[at]);
      }
    }
    __syncwarp();
    return group_.sum(sum) == size_ * (size_ - 1) / 2;  // no two ranks are equal
  }

  /// Sorts the entries and keeps the nearest k.
  __device__ __forceinline__ void sort_and_cut() {
    sort(*this, size_);
    if (size_ < k_) return;
    size_ = near_ = k_;
    bound_ = distances_sq_[k_ - 1];
  }

  /// Lowers the bound of each search that has more than `limit` candidates within its bound.
  /// `limit` is at least k.
  __device__ __forceinline__ void lower_bound(std::uint32_t limit) {
    __syncwarp();
    const Bound lower = bound_near(*this, size_, near_, bound_);
    if (near_ > limit) {
      bound_ = lower.distance_sq;
      near_ = lower.count;
      is_tight_ = true;
    }
    if (!any_in_warp(near_ > size_limit(k_))) return;
    compact();
    sort_and_cut();
  }

  struct Bound {
    std::uint64_t distance_sq;
    std::uint32_t count;  ///< how many entries are within distance_sq
  };

  /// Returns a bound that is at most `bound`. If the search has k entries, at least k of them are
  /// within the new bound, and seldom many more. On a plane the number of entries within a distance
  /// is proportional to the squared distance, so interpolation comes close in one or two steps.
  __device__ __noinline__ static Bound bound_near(const NearestInShared nearest, std::uint32_t size,
                                                  std::uint32_t near, std::uint64_t bound) {
    constexpr int steps_max = 6;
    Bound low = {0, 0};
    Bound high = {bound, near};
    if (any_in_warp(!nearest.is_tight_)) high.distance_sq = min(bound, farthest(nearest, size));
    const std::uint32_t enough = nearest.k_ + 4 + nearest.k_ / 8;
    for (int step = 0; step < steps_max; ++step) {
      const float share = (static_cast<float>(nearest.k_ - low.count) + 2.0f) /
                          static_cast<float>(high.count - low.count);
      const std::uint64_t middle =
          low.distance_sq + static_cast<std::uint64_t>(
                                static_cast<float>(high.distance_sq - low.distance_sq) * share);
      const bool is_closer =
          high.count > enough && middle > low.distance_sq && middle < high.distance_sq;
      if (!any_in_warp(is_closer)) break;
      std::uint32_t count = 0;
      for (std::uint32_t i = nearest.group_.lane; i < size; i += lanes)
        count += nearest.distances_sq_[i] <= middle ? 1 : 0;
      __syncwarp();
      count = nearest.group_.sum(count);
      if (is_closer) (count >= nearest.k_ ? high : low) = {middle, count};
    }
    return high;
  }

  /// Returns the greatest squared distance of the first `size` entries, on all lanes of the group.
  __device__ static std::uint64_t farthest(const NearestInShared& nearest, std::uint32_t size) {
    std::uint64_t distance_sq = 0;
    for (std::uint32_t i = nearest.group_.lane; i < size; i += lanes)
      distance_sq = max(distance_sq, nearest.distances_sq_[i]);
    __syncwarp();
    return nearest.group_.max(distance_sq);
  }

  __device__ __forceinline__ void compact() {
    __syncwarp();
    compact(*this, size_, bound_);
    size_ = near_;
  }

  /// Moves the entries within distance_sq_max to the front and keeps their order.
  __device__ __noinline__ static void compact(const NearestInShared nearest, std::uint32_t size,
                                              std::uint64_t distance_sq_max) {
    std::uint32_t kept = 0;
    const std::uint32_t size_max = max_in_warp(size);
    for (std::uint32_t begin = 0; begin < size_max; begin += lanes) {
      const std::uint32_t i = begin + nearest.group_.lane;
      const std::uint64_t distance_sq = i < size ? nearest.distances_sq_[i] : 0;
      const std::uint32_t place = i < size ? nearest.places_[i] : 0;
      const bool is_kept = i < size && distance_sq <= distance_sq_max;
      const unsigned within = nearest.group_.ballot(is_kept);
      __syncwarp();
      if (is_kept) {
        const auto to = kept + static_cast<std::uint32_t>(__popc(nearest.group_.before(within)));
        nearest.distances_sq_[to] = distance_sq;  // all lanes have read the overwritten entries
        nearest.places_[to] = place;
      }
      kept += static_cast<std::uint32_t>(__popc(within));
      __syncwarp();
    }
  }

  /// Sorts the entries with a bitonic sort. It is not inlined, because it is rare, and the rest of
  /// the search needs the registers.
  __device__ __noinline__ static void sort(NearestInShared nearest, std::uint32_t size) {
    std::uint32_t length = lanes;
    for (const std::uint32_t size_max = max_in_warp(size); length < size_max;) length *= 2;
    for (std::uint32_t i = size + nearest.group_.lane; i < length; i += lanes) {
      nearest.distances_sq_[i] = ~std::uint64_t{0};
      nearest.places_[i] = place_none;
    }
    __syncwarp();
    for (std::uint32_t run = 2; run <= length; run *= 2)
      for (std::uint32_t stride = run / 2; stride > 0; stride /= 2) {
        for (std::uint32_t pair = nearest.group_.lane; pair < length / 2; pair += lanes) {
          const std::uint32_t i = 2 * pair - (pair & (stride - 1));
          nearest.order(i, i + stride, (i & run) == 0);
        }
        __syncwarp();
      }
  }

  __device__ void order(std::uint32_t i, std::uint32_t j, bool ascending) {
    const std::uint64_t a = distances_sq_[i];
    const std::uint64_t b = distances_sq_[j];
    const std::uint32_t at_a = places_[i];
    const std::uint32_t at_b = places_[j];
    bool a_first = a < b;
    if (a == b) a_first = at_b == place_none || (at_a != place_none && id_of_(at_a) < id_of_(at_b));
    if (a_first == ascending) return;
    distances_sq_[i] = b;
    distances_sq_[j] = a;
    places_[i] = at_b;
    places_[j] = at_a;
  }

  Group group_;
  std::uint64_t* distances_sq_;
  std::uint32_t* places_;
  std::uint32_t entries_;
  std::uint32_t k_;
  std::uint32_t size_ = 0;
  std::uint32_t near_ = 0;  ///< how many of the `size_` entries are within the bound
  std::uint64_t bound_;
  bool is_tight_;
  IdOfPlace id_of_;
};

}  // namespace starling::gpu
