// The nearest of what a group of lanes finds, in shared memory.
#pragma once

#include "gpu/lane_group.cuh"
#include "gpu/search_kernel.cuh"

namespace starling::gpu {

/// How many a search that wants k may hold between two leaves.
__host__ __device__ constexpr std::uint32_t size_limit(std::uint32_t k) {
  constexpr std::uint32_t slack_min = 10;
  return k + (k / 2 > slack_min ? k / 2 : slack_min);
}

/// A buffer to which candidates are appended by ballot, and which is cut to little more than k when
/// it holds much more. Entries are a power of two, and a leaf's objects more than size_limit(k).
template <unsigned lanes>
class NearestInShared {
 public:
  using Group = LaneGroup<lanes>;

  static constexpr std::size_t entry_bytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);

  /// `memory` is of entries * entry_bytes. Nobody beyond `bound` enters.
  __device__ NearestInShared(std::byte* memory, std::uint32_t entries, std::uint32_t k,
                             std::uint64_t bound, const IdOfPlace& id_of)
      : distances_sq_(reinterpret_cast<std::uint64_t*>(memory)),
        places_(reinterpret_cast<std::uint32_t*>(distances_sq_ + entries)),
        k_(k),
        bound_(bound),
        id_of_(id_of) {}

  /// Nobody beyond this enters any more.
  __device__ std::uint64_t bound() const { return bound_; }

  /// Call after each leaf: bounds the rest of the search by what there is, if that is much more
  /// than k.
  __device__ __forceinline__ void tighten() {
    if (size_ > size_limit(k_)) cut();
  }

  /// Each lane offers one, or not. There is room.
  __device__ __forceinline__ void offer(bool is_offered, std::uint64_t distance_sq,
                                        std::uint32_t place) {
    const unsigned offered = group_.ballot(is_offered);
    if (is_offered) {
      const auto i = size_ + static_cast<std::uint32_t>(__popc(group_.before(offered)));
      distances_sq_[i] = distance_sq;
      places_[i] = place;
    }
    size_ += static_cast<std::uint32_t>(__popc(offered));
  }

  /// Calls `write(rank, distance_sq, place)` for each of the nearest k, by some lane; returns how
  /// many there are. Nothing is offered after.
  template <class Write>
  __device__ __forceinline__ std::uint32_t for_each(const Write& write) {
    if (size_ > ranked_max) {
      sort_and_cut();
      for (std::uint32_t rank = group_.lane; rank < size_; rank += lanes)
        write(rank, distances_sq_[rank], places_[rank]);
      return size_;
    }
    group_.sync();
    for (std::uint32_t i = group_.lane; i < size_; i += lanes) {
      const std::uint64_t distance_sq = distances_sq_[i];
      const std::uint32_t place = places_[i];
      std::uint32_t rank = 0;
      for (std::uint32_t j = 0; j < size_; ++j) {
        const std::uint64_t other_sq = distances_sq_[j];
        if (other_sq < distance_sq) ++rank;
        if (other_sq == distance_sq && j != i) [[unlikely]]
          rank += id_of_(places_[j]) < id_of_(place) ? 1 : 0;
      }
      if (rank < k_) write(rank, distance_sq, place);
    }
    return min(size_, k_);
  }

 private:
  /// Up to so many, counting who is nearer is faster than a sort.
  static constexpr std::uint32_t ranked_max = 64;

  __device__ __forceinline__ void sort_and_cut() {
    sort(*this, size_);
    if (size_ < k_) return;
    size_ = k_;
    bound_ = distances_sq_[k_ - 1];
  }

  /// Keeps few more than k entries, the nearest k among them.
  __device__ __forceinline__ void cut() {
    const std::uint64_t near_sq = distance_near(*this, size_);
    size_ = compacted(*this, size_, near_sq);
    bound_ = min(bound_, near_sq);
    if (size_ > size_limit(k_)) sort_and_cut();
  }

  /// A distance within which there are at least k, and seldom many more. Their number grows with
  /// the squared distance, on a plane, so that interpolation comes close in two or three steps.
  __device__ __noinline__ static std::uint64_t distance_near(const NearestInShared nearest,
                                                             std::uint32_t size) {
    constexpr int steps_max = 6;
    nearest.group_.sync();
    std::uint64_t high = 0;
    for (std::uint32_t i = nearest.group_.lane; i < size; i += lanes)
      high = max(high, nearest.distances_sq_[i]);
    high = nearest.group_.max(high);
    std::uint64_t low = 0;
    std::uint32_t count_low = 0;
    std::uint32_t count_high = size;
    const std::uint32_t slack = 4 + nearest.k_ / 8;
    for (int step = 0; step < steps_max && count_high > nearest.k_ + slack; ++step) {
      const float share = (static_cast<float>(nearest.k_ - count_low) + 2.0f) /
                          static_cast<float>(count_high - count_low);
      const std::uint64_t middle =
          low + static_cast<std::uint64_t>(static_cast<float>(high - low) * share);
      if (middle <= low || middle >= high) break;
      std::uint32_t count = 0;
      for (std::uint32_t i = nearest.group_.lane; i < size; i += lanes)
        count += nearest.distances_sq_[i] <= middle ? 1 : 0;
      count = nearest.group_.sum(count);
      (count >= nearest.k_ ? high : low) = middle;
      (count >= nearest.k_ ? count_high : count_low) = count;
    }
    return high;
  }

  /// Moves the entries within the distance to the front, in their order; returns how many.
  __device__ __noinline__ static std::uint32_t compacted(const NearestInShared nearest,
                                                         std::uint32_t size,
                                                         std::uint64_t distance_sq_max) {
    std::uint32_t kept = 0;
    for (std::uint32_t begin = 0; begin < size; begin += lanes) {
      const std::uint32_t i = begin + nearest.group_.lane;
      const std::uint64_t distance_sq = i < size ? nearest.distances_sq_[i] : 0;
      const std::uint32_t place = i < size ? nearest.places_[i] : 0;
      const unsigned within = nearest.group_.ballot(i < size && distance_sq <= distance_sq_max);
      nearest.group_.sync();
      if ((within >> nearest.group_.lane & 1) != 0) {
        const auto to = kept + static_cast<std::uint32_t>(__popc(nearest.group_.before(within)));
        nearest.distances_sq_[to] = distance_sq;  // at or before i, which all lanes have read
        nearest.places_[to] = place;
      }
      kept += static_cast<std::uint32_t>(__popc(within));
      nearest.group_.sync();
    }
    return kept;
  }

  /// Bitonic. Not inlined: it is rare, and its registers are needed elsewhere.
  __device__ __noinline__ static void sort(NearestInShared nearest, std::uint32_t size) {
    std::uint32_t length = lanes;
    while (length < size) length *= 2;
    for (std::uint32_t i = size + nearest.group_.lane; i < length; i += lanes) {
      nearest.distances_sq_[i] = ~std::uint64_t{0};
      nearest.places_[i] = place_none;
    }
    nearest.group_.sync();
    for (std::uint32_t run = 2; run <= length; run *= 2)
      for (std::uint32_t stride = run / 2; stride > 0; stride /= 2) {
        for (std::uint32_t pair = nearest.group_.lane; pair < length / 2; pair += lanes) {
          const std::uint32_t i = 2 * pair - (pair & (stride - 1));
          nearest.order(i, i + stride, (i & run) == 0);
        }
        nearest.group_.sync();
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
  std::uint32_t k_;
  std::uint32_t size_ = 0;
  std::uint64_t bound_;
  IdOfPlace id_of_;
};

}  // namespace starling::gpu
