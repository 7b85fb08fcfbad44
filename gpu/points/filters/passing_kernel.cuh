// SPDX-License-Identifier: Apache-2.0
// Kernels that test every object for many filters. One kernel counts the objects that pass each
// filter, and one lists these objects. Launched by passing_launch.cu.
//
// A warp writes the tags and ranks of its objects into rows of bits: row b has bit b of each
// object's tags, and the rows from 32 on have the bits of the ranks. Then each lane tests all these
// objects for a filter of its own, with a few bitwise operations on rows.
#pragma once

#include <bit>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/filters/passing_launch.hpp"
#include "starling/gpu/points/index/age_rank.cuh"

namespace starling::gpu {

inline constexpr unsigned passing_warps = block_threads / warp_lanes;
inline constexpr unsigned words_a_row = 4;
inline constexpr unsigned objects_a_warp = words_a_row * warp_lanes;
inline constexpr unsigned objects_a_block = passing_warps * objects_a_warp;
/// How many filters a warp tests at once: one for each lane.
inline constexpr unsigned filters_at_once = warp_lanes;
/// The most filters that a block tests for.
inline constexpr unsigned filters_a_block_max = 1024;

/// One bit for each object of a warp. Bit j of words[i] is the bit of the object whose slot is 32 i
/// + j after the warp's first slot.
struct alignas(16) BitRow {
  std::uint32_t words[words_a_row];

  __device__ std::uint32_t count() const {
    std::uint32_t sum = 0;
#pragma unroll
    for (const std::uint32_t word : words) sum += static_cast<std::uint32_t>(__popc(word));
    return sum;
  }
};

/// Transposes 32 x 32 bits: bit j of lane i becomes bit i of lane j. All lanes of the warp call it.
__device__ inline std::uint32_t transposed(std::uint32_t bits) {
  const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
  for (unsigned step = warp_lanes / 2; step > 0; step /= 2) {
    const std::uint32_t low = all_lanes / ((1u << step) + 1);  // bits p with (p & step) == 0
    const std::uint32_t other = __shfl_xor_sync(all_lanes, bits, static_cast<int>(step));
    bits = (lane & step) == 0 ? (bits & low) | (other & low) << step
                              : (bits & ~low) | (other >> step & low);
  }
  return bits;
}

/// The tags and ranks of a warp's objects, as rows of bits. All lanes of the warp must construct it
/// together.
class WarpOfObjects {
 public:
  static constexpr unsigned tag_rows = 32;
  /// 32 rows of tag bits, then 32 rows of rank bits.
  static constexpr unsigned rows_max = tag_rows + 32;

  /// Reads the objects of the warp whose warp_number() is `warp`. `rows` is shared memory of this
  /// warp only, with rows_max rows.
  __device__ WarpOfObjects(const ObjectsView& objects, std::uint32_t warp, const AgeLimits& ages,
                           BitRow* rows)
      : rows_(rows),
        rank_bits_(static_cast<unsigned>(std::bit_width(ages.count))),
        first_slot_(warp * objects_a_warp) {
    const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
    for (unsigned i = 0; i < words_a_row; ++i) {
      const std::uint64_t slot = std::uint64_t{first_slot_} + i * warp_lanes + lane;
      const bool is_alive = slot < objects.slots && objects.positions[slot].x != nowhere;
      alive_.words[i] = __ballot_sync(all_lanes, is_alive);
      rows[lane].words[i] = transposed(is_alive ? objects.tags[slot] : 0);
      if (rank_bits_ == 0) continue;
      const std::uint32_t rank = is_alive ? rank_of(objects.times_us[slot], ages) : 0;
      rows[tag_rows + lane].words[i] = transposed(rank);
    }
    __syncwarp();
  }

  __device__ Slot first_slot() const {
    return first_slot_;
  }

  /// Returns a row whose bit is set for each living object that passes the filter. Lanes may call
  /// it with different filters, and not all lanes must call.
  __device__ BitRow passing(const DeviceFilter& filter) const {
    const auto [required, forbidden] = filter.tags;
    if ((required & forbidden) != 0) return {};
    BitRow passing = alive_;
    for (std::uint32_t left = required | forbidden; left != 0; left &= left - 1) {
      const int bit = __ffs(static_cast<int>(left)) - 1;
      const std::uint32_t rejected = (required >> bit & 1) - 1;  // all bits set if forbidden
      const BitRow row = rows_[bit];
#pragma unroll
      for (unsigned i = 0; i < words_a_row; ++i) passing.words[i] &= row.words[i] ^ rejected;
    }
    if (filter.least_rank == 0) return passing;
    // Compares the ranks with the least rank, from the lowest bit on.
    BitRow is_enough{{all_lanes, all_lanes, all_lanes, all_lanes}};
    for (unsigned bit = 0; bit < rank_bits_; ++bit) {
      const std::uint32_t needed = 0 - (filter.least_rank >> bit & 1);  // the bit, copied 32 times
      const BitRow row = rows_[tag_rows + bit];
#pragma unroll
      for (unsigned i = 0; i < words_a_row; ++i)
        is_enough.words[i] =
            (is_enough.words[i] & row.words[i]) | (~needed & (is_enough.words[i] | row.words[i]));
    }
#pragma unroll
    for (unsigned i = 0; i < words_a_row; ++i) passing.words[i] &= is_enough.words[i];
    return passing;
  }

 private:
  const BitRow* rows_;
  unsigned rank_bits_;  ///< how many bits a rank has; 0 if no filter has an age limit
  Slot first_slot_;
  BitRow alive_;
};

/// Returns the number of the calling warp among the warps of all blocks with the same blockIdx.y.
__device__ inline std::uint32_t warp_number() {
  return blockIdx.x * passing_warps + threadIdx.x / warp_lanes;
}

// Block (x, y) tests objects_a_block slots, from slot x * objects_a_block on, for filters_a_block
// filters, from filter y * filters_a_block on. It adds to counts[f] how many of these objects pass
// filters[f]. filters_a_block is at most filters_a_block_max. Static shared memory: the rows of
// each warp, and a sum for each filter.
__global__ void __launch_bounds__(block_threads)
    count_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                         std::uint32_t count, std::uint32_t filters_a_block,
                         const __grid_constant__ AgeLimits ages, std::uint32_t* counts) {
  __shared__ BitRow rows[passing_warps][WarpOfObjects::rows_max];
  __shared__ std::uint32_t sums[filters_a_block_max];
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t tested = min(filters_a_block, count - begin);
  for (std::uint32_t f = threadIdx.x; f < tested; f += block_threads) sums[f] = 0;
  const WarpOfObjects own(objects, warp_number(), ages, rows[threadIdx.x / warp_lanes]);
  __syncthreads();
  for (std::uint32_t f = threadIdx.x % warp_lanes; f < tested; f += filters_at_once) {
    const std::uint32_t passing = own.passing(filters[begin + f]).count();
    if (passing != 0) atomicAdd(&sums[f], passing);
  }
  __syncthreads();
  for (std::uint32_t f = threadIdx.x; f < tested; f += block_threads)
    if (sums[f] != 0) atomicAdd(&counts[begin + f], sums[f]);
}

/// Writes the entries of the warp's objects in one layer. All lanes of the warp must call, with the
/// same `passing`, `layer` and `first`. Lane j writes the object of bit j of each word, so that
/// stores fill whole cache lines.
__device__ inline void write_layer(const BitRow& passing, Slot first_slot, std::uint32_t layer,
                                   LayerEntry* entries, std::uint32_t first) {
  const LaneGroup<warp_lanes> warp;
#pragma unroll
  for (unsigned i = 0; i < words_a_row; ++i) {
    const std::uint32_t word = passing.words[i];
    if ((word >> warp.lane & 1) != 0)
      entries[first + static_cast<std::uint32_t>(__popc(warp.before(word)))] = {
          first_slot + i * warp_lanes + warp.lane, layer};
    first += static_cast<std::uint32_t>(__popc(word));
  }
}

/// For each lane's filter, writes the entries of the warp's objects that pass. On each lane,
/// `layer` is the layer of the lane's filter, and `first` is the index of the first entry to write.
/// All lanes of the warp must call.
__device__ inline void write_entries(const BitRow& passing, Slot first_slot, std::uint32_t layer,
                                     LayerEntry* entries, std::uint32_t first) {
  constexpr std::uint32_t alone_max = 6;  // a lane writes up to this many entries alone
  const bool is_alone = passing.count() <= alone_max;
  for (unsigned left = __ballot_sync(all_lanes, !is_alone); left != 0; left &= left - 1) {
    const int from = __ffs(static_cast<int>(left)) - 1;
    BitRow shared;
#pragma unroll
    for (unsigned i = 0; i < words_a_row; ++i)
      shared.words[i] = __shfl_sync(all_lanes, passing.words[i], from);
    write_layer(shared, first_slot, __shfl_sync(all_lanes, layer, from), entries,
                __shfl_sync(all_lanes, first, from));
  }
  if (!is_alone) return;
#pragma unroll
  for (unsigned i = 0; i < words_a_row; ++i)
    for (std::uint32_t left = passing.words[i]; left != 0; left &= left - 1) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      entries[first++] = {first_slot + i * warp_lanes + bit, layer};
    }
}

// Lists the objects of layers 1 to `layers`. Layer i + 1 has the objects that pass
// filters[numbers[i]]. Block (x, y) tests objects_a_block slots, from slot x * objects_a_block on,
// for filters_a_block filters, from numbers[y * filters_a_block] on. The block writes the objects
// of layer i + 1 to to.entries, in any order, from index to.cursors[i] on, and advances this
// cursor. Static shared memory: the rows of each warp, and two numbers for each of filters_at_once
// filters.
__global__ void __launch_bounds__(block_threads)
    list_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                        const std::uint32_t* numbers, std::uint32_t layers,
                        std::uint32_t filters_a_block, const __grid_constant__ AgeLimits ages,
                        const __grid_constant__ LayerOutput to) {
  __shared__ BitRow rows[passing_warps][WarpOfObjects::rows_max];
  __shared__ std::uint32_t sums[filters_at_once];
  __shared__ std::uint32_t firsts[filters_at_once];
  const unsigned lane = threadIdx.x % warp_lanes;
  if (threadIdx.x < filters_at_once) sums[threadIdx.x] = 0;
  const WarpOfObjects own(objects, warp_number(), ages, rows[threadIdx.x / warp_lanes]);
  __syncthreads();
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t end = min(begin + filters_a_block, layers);
  for (std::uint32_t first = begin; first < end; first += filters_at_once) {
    const std::uint32_t i = first + lane;
    BitRow passing{};
    if (i < end) passing = own.passing(filters[numbers[i]]);
    const std::uint32_t count = passing.count();
    const std::uint32_t before = count == 0 ? 0 : atomicAdd(&sums[lane], count);
    __syncthreads();
    if (threadIdx.x < filters_at_once) {
      firsts[lane] = sums[lane] == 0 ? 0 : atomicAdd(&to.cursors[i], sums[lane]);
      sums[lane] = 0;
    }
    __syncthreads();
    write_entries(passing, own.first_slot(), i + 1, to.entries, firsts[lane] + before);
  }
}

// Any number of threads. Copies `counts` to `host`, which is pinned memory. Sets `counts` to 0.
__global__ void tell_counts_kernel(std::uint32_t* counts, std::uint32_t count,
                                   std::uint32_t* host) {
  const auto threads = static_cast<std::uint32_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < count; i += threads) {
    host[i] = counts[i];
    counts[i] = 0;
  }
}

// Any number of threads. Copies `from`, which is in pinned memory, to `to`. Sets each layer's
// cursor to the layer's first entry. Writes the unused entries, so that each layer's number of
// entries is a multiple of `group`.
__global__ void take_choice_kernel(const __grid_constant__ LayerChoice from,
                                   const __grid_constant__ LayerChoice to, std::uint32_t filters,
                                   std::uint32_t layers, std::uint32_t group,
                                   const __grid_constant__ LayerOutput output) {
  const auto threads = static_cast<std::uint32_t>(gridDim.x * blockDim.x);
  const auto thread = static_cast<std::uint32_t>(thread_index());
  for (std::uint32_t i = thread; i < filters; i += threads) to.routes[i] = from.routes[i];
  for (std::uint32_t i = thread; i < layers; i += threads) {
    const Layer layer = from.layers[i];
    to.numbers[i] = from.numbers[i];
    to.layers[i] = layer;
    output.cursors[i] = layer.first;
    for (std::uint32_t unused = layer.count; unused % group != 0; ++unused)
      output.entries[layer.first + unused] = {no_slot, i + 1};
  }
}

}  // namespace starling::gpu
