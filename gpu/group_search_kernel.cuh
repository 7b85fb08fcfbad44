// A group of lanes a search: a lane tests one child of a node, and its share of a leaf's objects.
#pragma once

#include "gpu/lane_group.cuh"
#include "gpu/nearest_in_shared.cuh"
#include "gpu/pending_children.cuh"
#include "gpu/search_kernel.cuh"

namespace starling::gpu {

inline constexpr unsigned group_search_threads = 128;
/// Blocks a multiprocessor holds: with 64 registers a thread, more searches hide more latency than
/// the few spilled words cost (docs/measurements/h200.md).
inline constexpr unsigned group_search_blocks = 8;

template <int dimensions, unsigned lanes>
class GroupSearch {
 public:
  using Nearest = NearestInShared<lanes>;

  __device__ GroupSearch(const TreeView<dimensions>& tree, const ObjectsView& objects,
                         const Acceptance& acceptance, const LatticePoint& position,
                         const Nearest& nearest)
      : tree_(tree),
        objects_(objects),
        acceptance_(acceptance),
        position_(position),
        nearest_(nearest) {}

  /// From a leaf near the query upwards, at each level its siblings: what is near comes early and
  /// bounds the rest.
  __device__ __forceinline__ void run(std::uint32_t home) {
    unsigned nodes = 1u << home % fan_out;
    int top = 0;
    for (bool is_first = true;; is_first = false) {
      visit(top, home & ~(fan_out - 1), nodes);
      if (!is_first) {
        home >>= fan_out_bits;
        if (++top == tree_.levels) return;
      }
      nodes = within(top, home & ~(fan_out - 1)) & ~(1u << home % fan_out);
    }
  }

  __device__ Nearest& nearest() { return nearest_; }

 private:
  /// Some of the eight nodes from `first` on, with all below them that is near enough.
  __device__ __forceinline__ void visit(int top, std::uint32_t first, unsigned nodes) {
    if (nodes == 0) return;
    PendingChildren pending;
    pending.push(nodes);
    for (int level = top;;) {
      if (pending.innermost() == 0) {
        if (level == top) return;
        pending.pop();
        first = first >> fan_out_bits & ~(fan_out - 1);
        ++level;
        continue;
      }
      const std::uint32_t node = first + pending.take();
      if (level == 0) {
        scan(node);
        continue;
      }
      const std::uint32_t children_first = node << fan_out_bits;
      const unsigned children = within(level - 1, children_first);
      if (children == 0) continue;
      pending.push(children);
      first = children_first;
      --level;
    }
  }

  /// Which of the eight nodes from `first` on are near enough.
  __device__ __forceinline__ unsigned within(int level, std::uint32_t first) const {
    const std::uint32_t node = first + group_.lane;
    const bool is_node = group_.lane < fan_out && node < tree_.nodes[level];
    return group_.ballot(is_node &&
                         box_distance_sq(position_, tree_.boxes[tree_.firsts[level] + node]) <=
                             nearest_.bound());
  }

  __device__ __forceinline__ void scan(std::uint32_t leaf) {
    constexpr std::uint32_t share = leaf_objects / lanes;
    const std::uint32_t first = leaf * leaf_objects + group_.lane;
    std::uint64_t distances_sq[share];
#pragma unroll
    for (std::uint32_t i = 0; i < share; ++i)
      distances_sq[i] = distance_sq(position_, tree_.points[first + i * lanes]);
#pragma unroll
    for (std::uint32_t i = 0; i < share; ++i) {
      const std::uint32_t place = first + i * lanes;
      const bool is_offered = distances_sq[i] <= nearest_.bound() && place < tree_.count &&
                              acceptance_.accepts(place, tree_.slots, objects_);
      nearest_.offer(is_offered, distances_sq[i], place);
    }
    nearest_.tighten();
  }

  const TreeView<dimensions>& tree_;
  const ObjectsView& objects_;
  const Acceptance& acceptance_;
  LatticePoint position_;
  LaneGroup<lanes> group_;
  Nearest nearest_;
};

/// A bound on the k-th distance: the farthest of last tick's k, where they are now. They need not
/// be the nearest any more, nor the same objects in their slots: k that the search accepts suffice.
/// distance_sq_max where there are not so many.
template <unsigned lanes>
__device__ __forceinline__ std::uint64_t seeded_bound(const SearchBatch& batch,
                                                      std::uint32_t number, const SearchSpec& spec,
                                                      const Acceptance& acceptance,
                                                      const ObjectsView& objects,
                                                      const LatticePoint& position) {
  const std::uint64_t unseeded = spec.filter.distance_sq_max;
  if (batch.last_counts == nullptr || batch.last_counts[number] != spec.k) return unseeded;
  const LaneGroup<lanes> group;
  const Slot* slots = batch.last_slots + batch.rooms[number];
  std::uint64_t farthest_sq = 0;
  bool all_accepted = true;
  for (std::uint32_t i = group.lane; i < spec.k; i += lanes) {
    const Slot slot = slots[i];
    const LatticePoint at = objects.positions[slot];
    all_accepted = all_accepted && at.x != nowhere && acceptance.accepts_slot(slot, objects);
    farthest_sq = max(farthest_sq, distance_sq(position, at));
  }
  return group.any(!all_accepted) ? unseeded : min(group.max(farthest_sq), unseeded);
}

/// The leaf of last tick's nearest neighbour, where that is still close, or the query's own.
template <int dimensions>
__device__ __forceinline__ std::uint32_t home_leaf(const TreeView<dimensions>& tree,
                                                   const SearchBatch& batch, std::uint32_t number,
                                                   const LatticePoint& position,
                                                   std::uint64_t bound) {
  if (batch.last_counts != nullptr && batch.last_counts[number] > 0) {
    const std::uint32_t leaf = min(batch.last_leaves[number], tree.nodes[0] - 1);
    if (box_distance_sq(position, tree.boxes[leaf]) <= bound / 8) return leaf;
  }
  return find_leaf(tree, key_of<dimensions>(position, *tree.bounds, tree.axis_bits));
}

// `lanes` lanes a search of the batch. Shared memory: `entries` entries of NearestInShared for each
// search of a block.
template <int dimensions, unsigned lanes>
__global__ void __launch_bounds__(group_search_threads, group_search_blocks)
    group_search_kernel(const __grid_constant__ TreeView<dimensions> tree,
                        const __grid_constant__ ObjectsView objects,
                        const __grid_constant__ SearchBatch batch, std::uint32_t entries) {
  using Nearest = NearestInShared<lanes>;
  extern __shared__ __align__(16) std::byte memory[];
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  if (i >= batch.count) return;
  const LaneGroup<lanes> group;
  const std::uint32_t number = batch.order[i];
  const SearchSpec spec = batch.specs[number];
  LatticePoint position;
  if (tree.count == 0 || !find_position(spec, objects, position)) {
    if (group.lane == 0) batch.counts[number] = 0;
    return;
  }
  const Acceptance acceptance(spec, batch.tau_us);
  const std::uint64_t bound =
      seeded_bound<lanes>(batch, number, spec, acceptance, objects, position);
  const std::uint32_t home = home_leaf(tree, batch, number, position, bound);
  const Nearest nearest(memory + threadIdx.x / lanes * entries * Nearest::entry_bytes, entries,
                        spec.k, bound, IdOfPlace{tree.slots, objects.ids});
  GroupSearch<dimensions, lanes> search(tree, objects, acceptance, position, nearest);
  search.run(home);
  const std::uint64_t room = batch.rooms[number];
  const std::uint32_t count = search.nearest().for_each(
      [&](std::uint32_t rank, std::uint64_t distance_sq, std::uint32_t place) {
        const Slot slot = tree.slots[place];
        batch.neighbors[room + rank] = {distance_sq, objects.ids[slot]};
        batch.slots[room + rank] = slot;
        if (rank == 0) batch.leaves[number] = place / leaf_objects;
      });
  if (group.lane == 0) batch.counts[number] = count;
}

}  // namespace starling::gpu
