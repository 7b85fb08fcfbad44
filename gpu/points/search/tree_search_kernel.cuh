// SPDX-License-Identifier: Apache-2.0
// Searches a tree with a group of lanes for each search. The searches of a warp, which are near
// each other, walk the tree together. If one search needs a node, all searches of the warp visit
// the node. Each search then tests the node's children, or a leaf's objects, against its own bound.
// Launched by tree_search_launch.cu.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/index/tree_key.cuh"
#include "starling/gpu/points/search/nearest_in_shared.cuh"
#include "starling/gpu/points/search/pending_children.cuh"
#include "starling/gpu/points/search/search_common.cuh"
#include "starling/gpu/points/search/seeded_bound.cuh"

namespace starling::gpu {

inline constexpr unsigned group_search_threads = 128;
/// How many blocks a multiprocessor holds. With 8 blocks each thread has 64 registers. More
/// searches at once hide more latency than the few spilled registers cost
/// (docs/measurements/h200.md).
inline constexpr unsigned group_search_blocks = 8;

/// The leaves and places of the layer that a search reads.
struct TreePart {
  std::uint32_t leaf;  ///< the first leaf
  std::uint32_t last_leaf;
  std::uint32_t place_end;  ///< one more than the last object's place
};

__device__ inline TreePart part_of(const FilterRoute& route) {
  const std::uint32_t place_end = route.first + route.count;
  return {route.first / leaf_objects, (place_end - 1) / leaf_objects, place_end};
}

/// The search of one group of lanes. All lanes of a warp must construct a GroupSearch together, and
/// call its functions together.
template <unsigned lanes>
class GroupSearch {
 public:
  using Nearest = NearestInShared<lanes, leaf_objects>;

  /// `is_searching` is false on the lanes of a group that has no search.
  __device__ GroupSearch(const TreeView& tree, const ObjectsView& objects,
                         const Acceptance& acceptance, const TreePart& part,
                         const LatticePoint& position, bool is_searching, const Nearest& nearest)
      : tree_(tree),
        objects_(objects),
        acceptance_(acceptance),
        part_(part),
        position_(position),
        is_searching_(is_searching),
        nearest_(nearest) {}

  /// Starts at `home`, which is a leaf near the searches. Then goes up the tree, and visits the
  /// siblings on each level. In this order, near objects come early and lower the bound for the
  /// rest of the search. `home` must be the same on all lanes.
  __device__ __forceinline__ void run(std::uint32_t home) {
    scan(home, true);
    for (int level = 0; level < tree_.levels; ++level) {
      const std::uint32_t first = home & ~(fan_out - 1);
      visit(level, first, within(level, first) & ~(1u << home % fan_out));
      home >>= fan_out_bits;
    }
  }

  __device__ Nearest& nearest() { return nearest_; }

 private:
  /// Visits nodes of level `top`, and those nodes below them that are near enough. If bit i of
  /// `nodes` is set, visits node `first` + i.
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
        if (scan(node, false) && pending.innermost() != 0) pending.keep(within(0, first));
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

  /// Returns eight bits. Bit i is set if node `first` + i of `level` is near enough for at least
  /// one search of the warp.
  __device__ __forceinline__ unsigned within(int level, std::uint32_t first) const {
    const std::uint32_t node = first + group_.lane;
    const int bits = level * fan_out_bits;
    const bool is_node = is_searching_ && group_.lane < fan_out && node >= part_.leaf >> bits &&
                         node <= part_.last_leaf >> bits;
    return group_.ballot_of_all(
        is_node &&
        box_distance_sq(position_, tree_.boxes[tree_.firsts[level] + node]) <= nearest_.bound());
  }

  /// Offers the leaf's objects to each search of the warp. Returns true if the bound of a search
  /// may have become lower. `is_first` is true for the first leaf.
  __device__ __forceinline__ bool scan(std::uint32_t leaf, bool is_first) {
    constexpr std::uint32_t share = leaf_objects / lanes;
    const std::uint32_t first = leaf * leaf_objects + group_.lane;
    std::uint64_t distances_sq[share];
#pragma unroll
    for (std::uint32_t i = 0; i < share; ++i)
      distances_sq[i] = distance_sq(position_, tree_.points[first + i * lanes]);
#pragma unroll
    for (std::uint32_t i = 0; i < share; ++i) {
      const std::uint32_t place = first + i * lanes;
      const bool is_offered = is_searching_ && distances_sq[i] <= nearest_.bound() &&
                              place >= part_.leaf * leaf_objects && place < part_.place_end &&
                              acceptance_.accepts(place, tree_.slots, tree_.attached, objects_);
      nearest_.offer(is_offered, distances_sq[i], place);
    }
    return nearest_.tighten(is_first);
  }

  const TreeView& tree_;
  const ObjectsView& objects_;
  const Acceptance& acceptance_;
  TreePart part_;
  LatticePoint position_;
  bool is_searching_;
  LaneGroup<lanes> group_;
  Nearest nearest_;
};

/// Returns the last leaf that has a key of at most `key`, among the leaves of the part. A leaf's
/// key is the key of its first object. If every leaf of the part has a greater key, returns the
/// part's first leaf.
__device__ inline std::uint32_t find_leaf(const TreeView& tree, const TreePart& part, TreeKey key) {
  std::uint32_t low = part.leaf;
  std::uint32_t high = part.last_leaf + 1;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (tree.leaf_keys[middle] <= key ? low : high) = middle;
  }
  return low;
}

/// Returns the spatial sort key of a position.
__device__ inline TreeKey search_key(const TreeView& tree, const LatticePoint& position) {
  return key_of(position, *tree.bounds);
}

/// Returns the leaf that a search starts from. A search in layer 0 first takes the number of the
/// leaf that had its nearest neighbour in the last tick. If the leaf of this number is now close to
/// the position, the search starts there. All other searches start from the leaf that the
/// position's key belongs to.
__device__ inline std::uint32_t home_leaf(const TreeView& tree, const SearchBatch& batch,
                                          std::uint32_t number, const FilterRoute& route,
                                          const LatticePoint& position, std::uint64_t bound) {
  const TreePart part = part_of(route);
  const TreeKey key = search_key(tree, position);
  if (route.layer != 0) return find_leaf(tree, part, key_in_layer(route.layer, key));
  if (batch.last_counts != nullptr && batch.last_counts[number] > 0) {
    const std::uint32_t leaf = min(batch.last_leaves[number], part.last_leaf);
    if (box_distance_sq(position, tree.boxes[leaf]) <= bound / 8) return leaf;
  }
  return find_leaf(tree, part, key);
}

/// Which searches of a batch a launch serves: those that look in layer 0, or those that look in
/// other layers.
enum class TreeShare { layer_0, other_layers };

// `lanes` lanes for each search of the batch. Searches that are not in `share` do nothing. A search
// whose filter no object passes belongs to TreeShare::layer_0. Dynamic shared memory:
// NearestInShared::bytes(entries) for each search of a block. Writes the list's length to
// counts[number], and its entries to neighbors and slots, from index rooms[number] on. Writes
// leaves[number] if there is a neighbour.
template <unsigned lanes, TreeShare share>
__global__ void __launch_bounds__(group_search_threads, group_search_blocks)
    group_search_kernel(const __grid_constant__ TreeView tree,
                        const __grid_constant__ ObjectsView objects,
                        const __grid_constant__ SearchBatch batch, std::uint32_t entries) {
  using Nearest = NearestInShared<lanes, leaf_objects>;
  extern __shared__ __align__(16) std::byte memory[];
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  const LaneGroup<lanes> group;
  const std::uint32_t number = batch.order[min(i, std::uint64_t{batch.count - 1})];
  const SearchSpec spec = batch.specs[number];
  const FilterRoute route = route_of(spec, batch, tree.count);
  const bool is_served = i < batch.count && (route.layer == 0) == (share == TreeShare::layer_0);
  LatticePoint position{};
  const bool is_searching = is_served && route.count > 0 && find_position(spec, objects, position);
  const unsigned searching = __ballot_sync(all_lanes, is_searching);
  if (searching == 0) {
    if (is_served && group.lane == 0) batch.counts[number] = 0;
    return;
  }
  const Acceptance acceptance(spec, batch.tau_us);
  const std::uint64_t bound =
      seeded_bound<lanes>(batch, number, spec, acceptance, objects, position);
  std::uint32_t home = is_searching ? home_leaf(tree, batch, number, route, position, bound) : 0;
  home = __shfl_sync(all_lanes, home, __ffs(static_cast<int>(searching)) - 1);
  const Nearest nearest(memory + threadIdx.x / lanes * Nearest::bytes(entries), entries, spec.k,
                        bound, bound < to_number(spec.filter.key_max),
                        IdOfPlace{tree.slots, objects.ids});
  const Acceptance along_route = acceptance.along(route);
  GroupSearch<lanes> search(tree, objects, along_route, part_of(route), position, is_searching,
                            nearest);
  search.run(home);
  const std::uint64_t room = batch.rooms[number];
  const std::uint32_t count = search.nearest().for_each(
      [&](std::uint32_t rank, std::uint64_t distance_sq, std::uint32_t place) {
        const Slot slot = tree.slots[place];
        batch.neighbors[room + rank] = {RankKey{distance_sq}, objects.ids[slot]};
        batch.slots[room + rank] = slot;
        if (rank == 0) batch.leaves[number] = place / leaf_objects;
      });
  if (is_served && group.lane == 0) batch.counts[number] = count;
}

}  // namespace starling::gpu
