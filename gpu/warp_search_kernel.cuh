// A warp a search, for larger k: candidates are appended to a buffer in shared memory by ballot,
// which is sorted and cut to k whenever it is full.
#pragma once

#include "gpu/search_kernel.cuh"

namespace starling::gpu {

inline constexpr unsigned warp_lanes = 32;
inline constexpr unsigned all_lanes = ~0u;

/// Entries of the buffer for lists of at most k: a power of two, and a whole node's objects more
/// than k.
constexpr std::uint32_t buffer_entries(std::uint32_t k) {
  std::uint32_t entries = 2 * fan_out * fan_out;
  while (entries < 2 * k) entries *= 2;
  return entries;
}
constexpr std::size_t buffer_bytes(std::uint32_t k) {
  return buffer_entries(k) * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

/// The nearest k of those offered, a warp's together. `entries` is a power of two.
class NearestInShared {
 public:
  __device__ NearestInShared(std::byte* memory, std::uint32_t entries, std::uint32_t k,
                             std::uint64_t distance_sq_max)
      : distances_sq_(reinterpret_cast<std::uint64_t*>(memory)),
        places_(reinterpret_cast<std::uint32_t*>(distances_sq_ + entries)),
        entries_(entries),
        k_(k),
        bound_(distance_sq_max) {}

  __device__ std::uint64_t bound() const { return bound_; }
  __device__ std::uint32_t size() const { return size_; }
  __device__ std::uint64_t distance_sq(std::uint32_t i) const { return distances_sq_[i]; }
  __device__ std::uint32_t place(std::uint32_t i) const { return places_[i]; }

  /// Each lane offers one, or not. All lanes of the warp call.
  template <class IdOf>
  __device__ void offer(bool is_offered, std::uint64_t distance_sq, std::uint32_t place,
                        const IdOf& id_of) {
    unsigned offered = __ballot_sync(all_lanes, is_offered && distance_sq <= bound_);
    if (size_ + static_cast<std::uint32_t>(__popc(offered)) > entries_) {
      cut(id_of);
      offered = __ballot_sync(all_lanes, is_offered && distance_sq <= bound_);
    }
    const unsigned lane = threadIdx.x % warp_lanes;
    if ((offered >> lane & 1) != 0) {
      const auto i = size_ + static_cast<std::uint32_t>(__popc(offered & ((1u << lane) - 1)));
      distances_sq_[i] = distance_sq;
      places_[i] = place;
    }
    size_ += static_cast<std::uint32_t>(__popc(offered));
    __syncwarp();
  }

  /// Worth it once there are k and nothing bounds the search yet.
  template <class IdOf>
  __device__ void cut_if_unbounded(const IdOf& id_of) {
    if (!is_cut_ && size_ >= k_) cut(id_of);
  }

  /// Sorts, and keeps the nearest k.
  template <class IdOf>
  __device__ void cut(const IdOf& id_of) {
    const unsigned lane = threadIdx.x % warp_lanes;
    std::uint32_t length = warp_lanes;
    while (length < size_) length *= 2;
    for (std::uint32_t i = size_ + lane; i < length; i += warp_lanes) {
      distances_sq_[i] = ~std::uint64_t{0};
      places_[i] = place_none;
    }
    __syncwarp();
    for (std::uint32_t run = 2; run <= length; run *= 2)
      for (std::uint32_t stride = run / 2; stride > 0; stride /= 2) {
        for (std::uint32_t pair = lane; pair < length / 2; pair += warp_lanes) {
          const std::uint32_t i = 2 * pair - (pair & (stride - 1));
          order(i, i + stride, (i & run) == 0, id_of);
        }
        __syncwarp();
      }
    size_ = min(size_, k_);
    if (size_ < k_) return;
    bound_ = distances_sq_[k_ - 1];
    is_cut_ = true;
  }

 private:
  template <class IdOf>
  __device__ void order(std::uint32_t i, std::uint32_t j, bool ascending, const IdOf& id_of) {
    const std::uint64_t a = distances_sq_[i];
    const std::uint64_t b = distances_sq_[j];
    const std::uint32_t at_a = places_[i];
    const std::uint32_t at_b = places_[j];
    bool a_first = a < b;
    if (a == b) a_first = at_b == place_none || (at_a != place_none && id_of(at_a) < id_of(at_b));
    if (a_first == ascending) return;
    distances_sq_[i] = b;
    distances_sq_[j] = a;
    places_[i] = at_b;
    places_[j] = at_a;
  }

  std::uint64_t* distances_sq_;
  std::uint32_t* places_;
  std::uint32_t entries_;
  std::uint32_t k_;
  std::uint32_t size_ = 0;
  std::uint64_t bound_;
  bool is_cut_ = false;
};

template <int dimensions>
class WarpSearch {
 public:
  __device__ WarpSearch(const TreeView<dimensions>& tree, const ObjectsView& objects,
                        const SearchSpec& spec, std::int64_t tau_us, const LatticePoint& position,
                        NearestInShared& nearest)
      : tree_(tree),
        objects_(objects),
        acceptance_(spec, tau_us),
        position_(position),
        nearest_(nearest) {}

  /// From the query's own place upwards. The nodes of level 1, 64 objects, are what a warp scans.
  __device__ void run() {
    std::uint32_t node =
        find_leaf(tree_, key_of<dimensions>(position_, *tree_.bounds, tree_.axis_bits)) >>
        fan_out_bits;
    scan(node);
    for (int level = 1; level < tree_.levels; ++level) {
      const std::uint32_t first = node & ~(fan_out - 1);
      unsigned within = siblings_within(level, first) & ~(1u << (node - first));
      for (; within != 0; within &= within - 1) {
        const std::uint32_t sibling = first + static_cast<std::uint32_t>(__ffs(within)) - 1;
        if (is_within(level, sibling)) visit(level, sibling);
      }
      node >>= fan_out_bits;
    }
    nearest_.cut(id_of());
  }

 private:
  /// Which of the eight nodes from `first` on are near enough: a lane each.
  __device__ unsigned siblings_within(int level, std::uint32_t first) const {
    const std::uint32_t node = first + threadIdx.x % warp_lanes;
    const bool is_node = threadIdx.x % warp_lanes < fan_out && node < tree_.nodes[level];
    return __ballot_sync(all_lanes, is_node && is_within(level, node));
  }

  __device__ bool is_within(int level, std::uint32_t node) const {
    return box_distance_sq(position_, tree_.boxes[tree_.firsts[level] + node]) <= nearest_.bound();
  }

  __device__ void visit(int top, std::uint32_t node) {
    if (top == 1) return scan(node);
    std::uint32_t firsts[levels_max];
    unsigned pending[levels_max];
    int level = top - 1;
    firsts[level] = node << fan_out_bits;
    pending[level] = siblings_within(level, firsts[level]);
    while (level < top) {
      if (pending[level] == 0) {
        ++level;
        continue;
      }
      const std::uint32_t next =
          firsts[level] + static_cast<std::uint32_t>(__ffs(pending[level])) - 1;
      pending[level] &= pending[level] - 1;
      if (!is_within(level, next)) continue;
      if (level == 1) {
        scan(next);
        continue;
      }
      --level;
      firsts[level] = next << fan_out_bits;
      pending[level] = siblings_within(level, firsts[level]);
    }
  }

  __device__ void scan(std::uint32_t node) {
    const std::uint32_t first = node * fan_out * fan_out;
    for (std::uint32_t i = threadIdx.x % warp_lanes; i < fan_out * fan_out; i += warp_lanes) {
      const std::uint32_t place = first + i;
      bool is_offered = place < tree_.count;
      std::uint64_t distance = 0;
      if (is_offered) {
        distance = distance_sq(position_, tree_.points[place]);
        is_offered =
            distance <= nearest_.bound() && acceptance_.accepts(place, tree_.slots, objects_);
      }
      nearest_.offer(is_offered, distance, place, id_of());
    }
    nearest_.cut_if_unbounded(id_of());
  }

  __device__ auto id_of() const {
    return [this](std::uint32_t place) { return objects_.ids[tree_.slots[place]]; };
  }

  const TreeView<dimensions>& tree_;
  const ObjectsView& objects_;
  Acceptance acceptance_;
  LatticePoint position_;
  NearestInShared& nearest_;
};

// A block of one warp a search of the batch. Shared memory: buffer_bytes(batch.k_max).
template <int dimensions>
__global__ void warp_search_kernel(const __grid_constant__ TreeView<dimensions> tree,
                                   const __grid_constant__ ObjectsView objects,
                                   const __grid_constant__ SearchBatch batch) {
  extern __shared__ __align__(16) std::byte memory[];
  const std::uint32_t number = batch.order[blockIdx.x];
  const SearchSpec spec = batch.specs[number];
  LatticePoint position;
  if (tree.count == 0 || !find_position(spec, objects, position)) {
    if (threadIdx.x == 0) batch.counts[number] = 0;
    return;
  }
  NearestInShared nearest(memory, buffer_entries(batch.k_max), spec.k, spec.filter.distance_sq_max);
  WarpSearch<dimensions> search(tree, objects, spec, batch.tau_us, position, nearest);
  search.run();
  const std::uint64_t room = batch.rooms[number];
  for (std::uint32_t i = threadIdx.x; i < nearest.size(); i += warp_lanes) {
    const Slot slot = tree.slots[nearest.place(i)];
    batch.neighbors[room + i] = {nearest.distance_sq(i), objects.ids[slot]};
    batch.slots[room + i] = slot;
  }
  if (threadIdx.x == 0) batch.counts[number] = nearest.size();
}

}  // namespace starling::gpu
