// SPDX-License-Identifier: Apache-2.0
// Kernels that test every object for many filters: they count the objects that pass each filter,
// and list them. Launched by passing_launch.cu.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/filters/passing_launch.hpp"

namespace starling::gpu {

inline constexpr unsigned passing_warps = block_threads / warp_lanes;
/// Objects of a thread. More would save loads of filters, and leave a small tick too few blocks.
inline constexpr unsigned objects_a_thread = 4;
inline constexpr unsigned objects_a_block = objects_a_thread * block_threads;
/// Filters that a block tests at once, one for each lane of a warp.
inline constexpr unsigned filters_at_once = warp_lanes;

/// The test of one filter. Shared memory can hold it, because no member has an initial value.
struct PassingTest {
  std::uint32_t care;      ///< the tags that matter
  std::uint32_t expected;  ///< those of them that an object must have
  std::int64_t oldest_us;
  bool has_age;  ///< whether oldest_us matters

  __device__ bool tags_pass(std::uint32_t tags) const { return (tags & care) == expected; }
};

__device__ inline PassingTest test_of(const DeviceFilter& filter, std::int64_t tau_us) {
  const auto [required, forbidden] = filter.tags;
  const bool is_possible = (required & forbidden) == 0;
  return {is_possible ? required | forbidden : 0, is_possible ? required : 1,
          oldest_time_us(tau_us, filter.age_us_max), filter.age_us_max != Filter::any_age};
}

/// Tests the block's objects for filters_at_once filters. All threads of a block must construct it
/// and call its functions together.
class BlockOfObjects {
 public:
  __device__ BlockOfObjects(const ObjectsView& objects, std::uint32_t block) {
    const std::uint64_t first = std::uint64_t{block} * objects_a_block + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) {
      const std::uint64_t slot = first + i * block_threads;
      slots_[i] = static_cast<Slot>(slot);
      const bool is_alive = slot < objects.slots && objects.positions[slot].x != nowhere;
      alive_[i] = __ballot_sync(all_lanes, is_alive);
      tags_[i] = is_alive ? objects.tags[slot] : 0;
      times_us_[i] = is_alive ? objects.times_us[slot] : 0;
    }
  }

  /// Tests `count` filters, at most filters_at_once. Afterwards lane f of each warp knows the
  /// warp's objects that pass tests[f].
  __device__ void test(const PassingTest* tests, unsigned count) {
    const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) passing_[i] = 0;
    for (unsigned f = 0; f < count; ++f) {
      const PassingTest test = tests[f];
      unsigned passing[objects_a_thread];
#pragma unroll
      for (unsigned i = 0; i < objects_a_thread; ++i)
        passing[i] = __ballot_sync(all_lanes, test.tags_pass(tags_[i]));
      if (test.has_age)
#pragma unroll
        for (unsigned i = 0; i < objects_a_thread; ++i)
          passing[i] &= __ballot_sync(all_lanes, times_us_[i] >= test.oldest_us);
      if (lane != f) continue;
#pragma unroll
      for (unsigned i = 0; i < objects_a_thread; ++i) passing_[i] = passing[i] & alive_[i];
    }
  }

  /// How many of the warp's objects pass the lane's filter.
  __device__ std::uint32_t count() const {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i)
      sum += static_cast<std::uint32_t>(__popc(passing_[i]));
    return sum;
  }

  /// Calls put(rank, slot) for each of the warp's objects that pass filter f. The ranks are 0, 1
  /// and so on.
  template <class Put>
  __device__ void for_each(unsigned f, const Put& put) const {
    const LaneGroup<warp_lanes> warp;
    std::uint32_t before = 0;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) {
      const unsigned passing = __shfl_sync(all_lanes, passing_[i], static_cast<int>(f));
      if ((passing >> warp.lane & 1) != 0)
        put(before + static_cast<std::uint32_t>(__popc(warp.before(passing))), slots_[i]);
      before += static_cast<std::uint32_t>(__popc(passing));
    }
  }

 private:
  Slot slots_[objects_a_thread];
  std::uint32_t tags_[objects_a_thread];
  std::int64_t times_us_[objects_a_thread];
  unsigned alive_[objects_a_thread];    ///< of the warp: bit i is lane i's object
  unsigned passing_[objects_a_thread];  ///< of the warp, for the lane's filter
};

/// Puts the tests of up to filters_at_once filters into shared memory, and returns their number.
/// filters[numbers[first + i]] is filter i; without `numbers`, filters[first + i]. All threads of
/// the block must call.
__device__ inline unsigned load_tests(const DeviceFilter* filters, const std::uint32_t* numbers,
                                      std::uint32_t first, std::uint32_t end, std::int64_t tau_us,
                                      PassingTest* tests) {
  const unsigned count = min(end - first, filters_at_once);
  if (threadIdx.x < count) {
    const std::uint32_t i = first + threadIdx.x;
    tests[threadIdx.x] = test_of(filters[numbers == nullptr ? i : numbers[i]], tau_us);
  }
  __syncthreads();
  return count;
}

// A block for every objects_a_block slots and every filters_a_block filters: adds to counts[f] how
// many of the objects pass filter f. Static shared memory: tests and counts of filters_at_once
// filters.
__global__ void __launch_bounds__(block_threads)
    count_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                         std::uint32_t count, std::uint32_t filters_a_block, std::int64_t tau_us,
                         std::uint32_t* counts) {
  __shared__ PassingTest tests[filters_at_once];
  __shared__ std::uint32_t sums[filters_at_once];
  BlockOfObjects block(objects, blockIdx.x);
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t end = min(begin + filters_a_block, count);
  for (std::uint32_t first = begin; first < end; first += filters_at_once) {
    if (threadIdx.x < filters_at_once) sums[threadIdx.x] = 0;
    const unsigned tested = load_tests(filters, nullptr, first, end, tau_us, tests);
    block.test(tests, tested);
    const std::uint32_t own = block.count();
    if (own != 0) atomicAdd(&sums[threadIdx.x % warp_lanes], own);
    __syncthreads();
    if (threadIdx.x < tested && sums[threadIdx.x] != 0)
      atomicAdd(&counts[first + threadIdx.x], sums[threadIdx.x]);
    __syncthreads();
  }
}

// As count_passing_kernel, for the filters of layers: lists the objects of layer i + 1, which pass
// filters[numbers[i]], from to.entries[to.cursors[i]] on, in any order. Advances the cursors.
// Static shared memory: tests of filters_at_once filters, and a number for each of them and each
// warp.
__global__ void __launch_bounds__(block_threads)
    list_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                        const std::uint32_t* numbers, std::uint32_t layers,
                        std::uint32_t filters_a_block, std::int64_t tau_us,
                        const __grid_constant__ LayerOutput to) {
  __shared__ PassingTest tests[filters_at_once];
  __shared__ std::uint32_t firsts[passing_warps][filters_at_once];
  BlockOfObjects block(objects, blockIdx.x);
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t end = min(begin + filters_a_block, layers);
  for (std::uint32_t first = begin; first < end; first += filters_at_once) {
    block.test(tests, load_tests(filters, numbers, first, end, tau_us, tests));
    const std::uint32_t own = block.count();
    firsts[warp][lane] = own;
    __syncthreads();
    if (warp == 0) {  // replaces each warp's count with its first entry
      std::uint32_t sum = 0;
      for (unsigned i = 0; i < passing_warps; ++i) sum += firsts[i][lane];
      std::uint32_t place = sum == 0 ? 0 : atomicAdd(&to.cursors[first + lane], sum);
      for (unsigned i = 0; i < passing_warps; ++i) {
        const std::uint32_t count = firsts[i][lane];
        firsts[i][lane] = place;
        place += count;
      }
    }
    __syncthreads();
    for (unsigned left = __ballot_sync(all_lanes, own != 0); left != 0; left &= left - 1) {
      const auto f = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      block.for_each(f, [&](std::uint32_t rank, Slot slot) {
        to.entries[firsts[warp][f] + rank] = {slot, first + f + 1};
      });
    }
    __syncthreads();
  }
}

// Any number of threads: stores the counts to pinned memory, and sets them to 0.
__global__ void tell_counts_kernel(std::uint32_t* counts, std::uint32_t count,
                                   std::uint32_t* host) {
  const auto threads = static_cast<std::uint32_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < count; i += threads) {
    host[i] = counts[i];
    counts[i] = 0;
  }
}

// Any number of threads: copies a choice from pinned memory, sets each layer's cursor to its first
// entry, and writes the unused entries that make each layer's entries a multiple of `group`.
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
