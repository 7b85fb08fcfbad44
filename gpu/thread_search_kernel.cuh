// A thread a search: the list in registers, the tree walked depth first.
#pragma once

#include "gpu/search_kernel.cuh"

namespace starling::gpu {

/// The nearest k of those offered, in the total order, in the last k of `capacity` entries. The
/// entries before them stand for nothing and come before everything.
template <int capacity>
class NearestInRegisters {
 public:
  /// Nobody beyond `distance_sq_max` enters.
  __device__ NearestInRegisters(std::uint32_t k, std::uint64_t distance_sq_max) {
#pragma unroll
    for (int i = 0; i < capacity; ++i) {
      const bool is_entry = i + static_cast<int>(k) >= capacity;
      distances_sq_[i] = is_entry ? distance_sq_max : 0;
      places_[i] = is_entry ? place_none : place_first;
    }
  }

  /// Nobody beyond this enters any more.
  __device__ std::uint64_t bound() const {
    return distances_sq_[capacity - 1];
  }

  /// `distance_sq` is at most bound(). `id_of` gives the id of the object at a place.
  template <class IdOf>
  __device__ void offer(std::uint64_t distance_sq, std::uint32_t place, const IdOf& id_of) {
    bool before[capacity];
    bool has_tie = false;
#pragma unroll
    for (int i = 0; i < capacity; ++i) {
      before[i] = distance_sq < distances_sq_[i];
      has_tie |= distance_sq == distances_sq_[i];
    }
    if (has_tie) {
      const auto id = id_of(place);
#pragma unroll
      for (int i = 0; i < capacity; ++i) {
        if (distance_sq != distances_sq_[i] || places_[i] == place_first) continue;
        before[i] = places_[i] == place_none || id < id_of(places_[i]);
      }
    }
#pragma unroll
    for (int i = capacity - 1; i > 0; --i) {
      distances_sq_[i] = before[i - 1] ? distances_sq_[i - 1]
                         : before[i]   ? distance_sq
                                       : distances_sq_[i];
      places_[i] = before[i - 1] ? places_[i - 1] : before[i] ? place : places_[i];
    }
    if (before[0]) {
      distances_sq_[0] = distance_sq;
      places_[0] = place;
    }
  }

  /// Calls `write(rank, distance_sq, place)` for each of the list; returns how many there are.
  template <class Write>
  __device__ std::uint32_t for_each(const Write& write) const {
    std::uint32_t rank = 0;
#pragma unroll
    for (int i = 0; i < capacity; ++i) {
      if (places_[i] == place_none || places_[i] == place_first) continue;
      write(rank++, distances_sq_[i], places_[i]);
    }
    return rank;
  }

 private:
  static constexpr std::uint32_t place_first = place_none - 1;

  std::uint64_t distances_sq_[capacity];
  std::uint32_t places_[capacity];
};

/// Which children of nodes on the way down are still to be visited: eight bits a level, the
/// innermost last. Deep enough for levels_max.
class PendingChildren {
 public:
  __device__ void push(unsigned children) {
    outer_ = outer_ << fan_out | inner_ >> (64 - fan_out);
    inner_ = inner_ << fan_out | children;
  }
  __device__ void pop() {
    inner_ = inner_ >> fan_out | outer_ << (64 - fan_out);
    outer_ >>= fan_out;
  }
  __device__ unsigned innermost() const {
    return static_cast<unsigned>(inner_) & ((1u << fan_out) - 1);
  }
  /// The lowest bit of the innermost, taken out.
  __device__ std::uint32_t take() {
    const auto child = static_cast<std::uint32_t>(__ffs(static_cast<int>(innermost()))) - 1;
    inner_ &= inner_ - 1;
    return child;
  }

 private:
  std::uint64_t inner_ = 0;
  std::uint64_t outer_ = 0;
};

template <int dimensions, int capacity>
class ThreadSearch {
 public:
  __device__ ThreadSearch(const TreeView<dimensions>& tree, const ObjectsView& objects,
                          const SearchSpec& spec, std::int64_t tau_us, const LatticePoint& position)
      : tree_(tree),
        objects_(objects),
        acceptance_(spec, tau_us),
        position_(position),
        nearest_(spec.k, spec.filter.distance_sq_max) {}

  /// First the subtree of 64 objects around the query's own place, which bounds the search; then
  /// depth first through the whole tree, but for that subtree. One loop, so that its code, long
  /// because the list is in registers, exists once.
  __device__ void run() {
    constexpr std::uint32_t nobody = ~std::uint32_t{0};
    const int home_level = min(1, tree_.levels - 1);
    std::uint32_t home = find_leaf(tree_, key_of<dimensions>(position_, *tree_.bounds));
    if (home_level == 1) home >>= fan_out_bits;
    std::uint32_t skipped = nobody;  // of home_level
    int top = home_level;            // nodes of this level are the roots
    std::uint32_t first = home & ~(fan_out - 1);
    PendingChildren pending;
    pending.push(1u << (home - first));
    int level = top;
    while (true) {
      if (pending.innermost() == 0) {
        if (level < top) {
          pending.pop();
          first = first >> fan_out_bits & ~(fan_out - 1);
          ++level;
          continue;
        }
        if (skipped != nobody) return;
        skipped = home;
        top = level = tree_.levels - 1;
        first = 0;
        pending.push(within(level, 0));
        continue;
      }
      const std::uint32_t node = first + pending.take();
      if ((level == home_level && node == skipped) || !is_within(level, node)) continue;
      if (level == 0) {
        scan(node);
        continue;
      }
      --level;
      first = node << fan_out_bits;
      pending.push(within(level, first));
    }
  }

  __device__ const NearestInRegisters<capacity>& nearest() const { return nearest_; }

 private:
  __device__ bool is_within(int level, std::uint32_t node) const {
    return box_distance_sq(position_, tree_.boxes[tree_.firsts[level] + node]) <= nearest_.bound();
  }

  /// Which of the eight nodes from `first` on are near enough.
  __device__ unsigned within(int level, std::uint32_t first) const {
    unsigned children = 0;
    const std::uint32_t count = min(fan_out, tree_.nodes[level] - first);
    const auto* boxes = tree_.boxes + tree_.firsts[level] + first;
#pragma unroll
    for (std::uint32_t i = 0; i < fan_out; ++i)
      if (i < count && box_distance_sq(position_, boxes[i]) <= nearest_.bound())
        children |= 1u << i;
    return children;
  }

  __device__ void scan(std::uint32_t leaf) {
    const std::uint32_t first = leaf * fan_out;
    const std::uint32_t count = min(fan_out, tree_.count - first);
    std::uint64_t distances_sq[fan_out];
#pragma unroll
    for (std::uint32_t i = 0; i < fan_out; ++i)
      distances_sq[i] = distance_sq(position_, tree_.points[first + i]);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t distance = distances_sq[0];  // the next one, without an index at run time
#pragma unroll
      for (std::uint32_t j = 0; j + 1 < fan_out; ++j) distances_sq[j] = distances_sq[j + 1];
      if (distance <= nearest_.bound()) consider(distance, first + i);
    }
  }

  __device__ void consider(std::uint64_t distance_sq, std::uint32_t place) {
    if (!acceptance_.accepts(place, tree_.slots, objects_)) return;
    nearest_.offer(distance_sq, place,
                   [this](std::uint32_t at) { return objects_.ids[tree_.slots[at]]; });
  }

  const TreeView<dimensions>& tree_;
  const ObjectsView& objects_;
  Acceptance acceptance_;
  LatticePoint position_;
  NearestInRegisters<capacity> nearest_;
};

// A thread a search of the batch, whose k are at most `capacity`.
template <int dimensions, int capacity>
__global__ void thread_search_kernel(const __grid_constant__ TreeView<dimensions> tree,
                                     const __grid_constant__ ObjectsView objects,
                                     const __grid_constant__ SearchBatch batch) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= batch.count) return;
  const std::uint32_t number = batch.order[i];
  const SearchSpec spec = batch.specs[number];
  LatticePoint position;
  if (tree.count == 0 || !find_position(spec, objects, position)) {
    batch.counts[number] = 0;
    return;
  }
  ThreadSearch<dimensions, capacity> search(tree, objects, spec, batch.tau_us, position);
  search.run();
  const std::uint64_t room = batch.rooms[number];
  batch.counts[number] = search.nearest().for_each(
      [&](std::uint32_t rank, std::uint64_t distance_sq, std::uint32_t place) {
        const Slot slot = tree.slots[place];
        batch.neighbors[room + rank] = {distance_sq, objects.ids[slot]};
        batch.slots[room + rank] = slot;
      });
}

}  // namespace starling::gpu
