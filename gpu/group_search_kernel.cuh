// Eight lanes a search, for small k: a lane tests one child of a node or one object of a leaf.
#pragma once

#include "gpu/search_kernel.cuh"

namespace starling::gpu {

inline constexpr unsigned group_lanes = fan_out;
inline constexpr unsigned group_search_threads = 128;

/// A lane's place among the eight of its search.
struct Group {
  unsigned lane = threadIdx.x % group_lanes;
  unsigned first = threadIdx.x % 32 - lane;  ///< of the group, in the warp
  unsigned mask = ((1u << group_lanes) - 1) << first;

  __device__ unsigned ballot(bool value) const { return __ballot_sync(mask, value) >> first; }
  __device__ std::uint32_t sum(std::uint32_t value) const { return __reduce_add_sync(mask, value); }
};

/// The nearest k of those offered by a search's eight lanes: a buffer of 8 * `share` in shared
/// memory, more than k, which is cut to the k nearest, in the total order, whenever it is full.
template <int share>
class NearestInGroup {
 public:
  static constexpr std::uint32_t entries = group_lanes * share;

  struct Memory {
    std::uint64_t distances_sq[entries];
    std::uint32_t places[entries];
  };

  /// Nobody beyond `bound` enters.
  __device__ NearestInGroup(Memory& memory, std::uint32_t k, std::uint64_t bound)
      : memory_(memory), k_(k), bound_(bound) {}

  __device__ std::uint64_t bound() const { return bound_; }
  __device__ std::uint32_t size() const { return size_; }
  __device__ std::uint64_t distance_sq(std::uint32_t i) const { return memory_.distances_sq[i]; }
  __device__ std::uint32_t place(std::uint32_t i) const { return memory_.places[i]; }

  /// Each lane offers one, or not. `id_of` gives the id of the object at a place.
  __device__ __forceinline__ void offer(const Group& group, bool is_offered,
                                        std::uint64_t distance_sq, std::uint32_t place,
                                        const IdOfPlace& id_of) {
    unsigned offered = group.ballot(is_offered);
    if (offered == 0) return;
    if (size_ + static_cast<std::uint32_t>(__popc(offered)) > entries) {
      cut(group, id_of);
      is_offered = is_offered && distance_sq <= bound_;
      offered = group.ballot(is_offered);
    }
    if (is_offered) {
      const auto i = size_ + static_cast<std::uint32_t>(__popc(offered & ((1u << group.lane) - 1)));
      memory_.distances_sq[i] = distance_sq;
      memory_.places[i] = place;
    }
    size_ += static_cast<std::uint32_t>(__popc(offered));
    __syncwarp(group.mask);
  }

  /// Orders the buffer, and keeps the nearest k.
  __device__ __forceinline__ void cut(const Group& group, const IdOfPlace& id_of) {
    order(memory_, size_, k_, group, id_of);
    if (size_ < k_) return;
    size_ = k_;
    bound_ = memory_.distances_sq[k_ - 1];
  }

 private:
  /// By ranks; what has a rank of k or more is lost. Ties, which are rare, show in the sum of the
  /// ranks. Not inlined: its registers are needed elsewhere.
  __device__ __noinline__ static void order(Memory& memory, std::uint32_t size, std::uint32_t k,
                                            Group group, IdOfPlace id_of) {
    std::uint64_t distances_sq[share];
    std::uint32_t places[share];
    std::uint32_t ranks[share];
#pragma unroll
    for (int i = 0; i < share; ++i) {
      const std::uint32_t at = static_cast<std::uint32_t>(i) * group_lanes + group.lane;
      distances_sq[i] = at < size ? memory.distances_sq[at] : ~std::uint64_t{0};
      places[i] = at < size ? memory.places[at] : place_none;
      ranks[i] = 0;
    }
    std::uint32_t sum = 0;
    for (std::uint32_t j = 0; j < size; ++j) {
      const std::uint64_t other_sq = memory.distances_sq[j];
#pragma unroll
      for (int i = 0; i < share; ++i) ranks[i] += other_sq < distances_sq[i] ? 1 : 0;
    }
#pragma unroll
    for (int i = 0; i < share; ++i) sum += places[i] == place_none ? 0 : ranks[i];
    if (group.sum(sum) != size * (size - 1) / 2)
      for (std::uint32_t j = 0; j < size; ++j) {
        const std::uint64_t other_sq = memory.distances_sq[j];
        const std::uint32_t other = memory.places[j];
#pragma unroll
        for (int i = 0; i < share; ++i)
          if (other_sq == distances_sq[i] && other != places[i])
            ranks[i] += id_of(other) < id_of(places[i]) ? 1 : 0;
      }
    __syncwarp(group.mask);
#pragma unroll
    for (int i = 0; i < share; ++i) {
      if (places[i] == place_none || ranks[i] >= k) continue;
      memory.distances_sq[ranks[i]] = distances_sq[i];
      memory.places[ranks[i]] = places[i];
    }
    __syncwarp(group.mask);
  }

  Memory& memory_;
  std::uint32_t k_;
  std::uint32_t size_ = 0;
  std::uint64_t bound_;
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

template <int dimensions, int share>
class GroupSearch {
 public:
  using Nearest = NearestInGroup<share>;

  __device__ GroupSearch(const TreeView<dimensions>& tree, const ObjectsView& objects,
                         const Acceptance& acceptance, const LatticePoint& position,
                         Nearest& nearest)
      : tree_(tree),
        objects_(objects),
        acceptance_(acceptance),
        position_(position),
        nearest_(nearest) {}

  /// From the query's own leaf upwards, at each level its siblings, depth first: what is near comes
  /// early and bounds the rest.
  __device__ __forceinline__ void run() {
    std::uint32_t home =
        find_leaf(tree_, key_of<dimensions>(position_, *tree_.bounds, tree_.axis_bits));
    unsigned nodes = 1u << home % fan_out;
    bool is_first = true;
    for (int top = 0; top < tree_.levels;) {
      visit(top, home & ~(fan_out - 1), nodes);
      if (!is_first) {
        home >>= fan_out_bits;
        ++top;
      }
      is_first = false;
      if (top < tree_.levels) nodes = within(top, home & ~(fan_out - 1)) & ~(1u << home % fan_out);
    }
  }

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
    const bool is_node = node < tree_.nodes[level];
    return group_.ballot(is_node &&
                         box_distance_sq(position_, tree_.boxes[tree_.firsts[level] + node]) <=
                             nearest_.bound());
  }

  __device__ __forceinline__ void scan(std::uint32_t leaf) {
    const std::uint32_t place = leaf * fan_out + group_.lane;
    const std::uint64_t distance = distance_sq(position_, tree_.points[place]);
    const bool is_offered = place < tree_.count && distance <= nearest_.bound() &&
                            acceptance_.accepts(place, tree_.slots, objects_);
    nearest_.offer(group_, is_offered, distance, place, IdOfPlace{tree_.slots, objects_.ids});
  }

  const TreeView<dimensions>& tree_;
  const ObjectsView& objects_;
  const Acceptance& acceptance_;
  LatticePoint position_;
  Group group_;
  Nearest& nearest_;
};

/// A bound on the k-th distance: the farthest of last tick's k, where they are now. They need not
/// be the nearest any more, nor the same objects in their slots: k that the search accepts suffice.
/// `distance_sq_max` where there are not.
__device__ __forceinline__ std::uint64_t seeded_bound(const Group& group, const SearchBatch& batch,
                                                      std::uint32_t number, const SearchSpec& spec,
                                                      const Acceptance& acceptance,
                                                      const ObjectsView& objects,
                                                      const LatticePoint& position) {
  const std::uint64_t unseeded = spec.filter.distance_sq_max;
  if (batch.last_counts == nullptr || batch.last_counts[number] != spec.k) return unseeded;
  const Slot* slots = batch.last_slots + batch.rooms[number];
  std::uint64_t farthest_sq = 0;
  bool all_accepted = true;
  for (std::uint32_t i = group.lane; i < spec.k; i += group_lanes) {
    const Slot slot = slots[i];
    const LatticePoint at = objects.positions[slot];
    all_accepted = all_accepted && at.x != nowhere && acceptance.accepts_slot(slot, objects);
    farthest_sq = max(farthest_sq, distance_sq(position, at));
  }
  if (group.ballot(!all_accepted) != 0) return unseeded;
  for (unsigned step = 1; step < group_lanes; step *= 2)
    farthest_sq = max(farthest_sq, __shfl_xor_sync(group.mask, farthest_sq, step));
  return min(farthest_sq, unseeded);
}

// Eight lanes a search of the batch, whose k are at most 4 * `share`.
template <int dimensions, int share>
__global__ void __launch_bounds__(group_search_threads, 8)
    group_search_kernel(const __grid_constant__ TreeView<dimensions> tree,
                        const __grid_constant__ ObjectsView objects,
                        const __grid_constant__ SearchBatch batch) {
  using Nearest = NearestInGroup<share>;
  __shared__ typename Nearest::Memory memory[group_search_threads / group_lanes];
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / group_lanes;
  if (i >= batch.count) return;
  const Group group;
  const std::uint32_t number = batch.order[i];
  const SearchSpec spec = batch.specs[number];
  LatticePoint position;
  if (tree.count == 0 || !find_position(spec, objects, position)) {
    if (group.lane == 0) batch.counts[number] = 0;
    return;
  }
  const Acceptance acceptance(spec, batch.tau_us);
  Nearest nearest(memory[threadIdx.x / group_lanes], spec.k,
                  seeded_bound(group, batch, number, spec, acceptance, objects, position));
  GroupSearch<dimensions, share>(tree, objects, acceptance, position, nearest).run();
  nearest.cut(group, IdOfPlace{tree.slots, objects.ids});
  const std::uint64_t room = batch.rooms[number];
  const std::uint32_t count = min(nearest.size(), spec.k);
  for (std::uint32_t rank = group.lane; rank < count; rank += group_lanes) {
    const Slot slot = tree.slots[nearest.place(rank)];
    batch.neighbors[room + rank] = {nearest.distance_sq(rank), objects.ids[slot]};
    batch.slots[room + rank] = slot;
  }
  if (group.lane == 0) batch.counts[number] = count;
}

}  // namespace starling::gpu
