// SPDX-License-Identifier: Apache-2.0
// Kernels that write staged rows into the objects' arrays, by slot. Launched by objects_launch.cu.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

// One thread for each slot from `first` up to, but not including, `end`. Slot 0's thread also
// resets the bounds.
__global__ void clear_objects_kernel(ObjectsView objects, Slot first, Slot end) {
  const std::uint64_t slot = first + thread_index();
  if (slot >= end) return;
  if (slot == 0) *objects.bounds = no_bounds();
  objects.positions[slot] = {nowhere, 0, 0};
  objects.ids[slot] = ObjectId{};
  objects.times_us[slot] = 0;
  objects.tags[slot] = 0;
}

// One thread for each of the `count` births. Writes the id of a slot's new owner.
__global__ void apply_births_kernel(const ObjectBirth* births, std::uint32_t count,
                                    ObjectsView objects) {
  const std::uint64_t i = thread_index();
  if (i < count) objects.ids[births[i].slot] = births[i].id;
}

/// Widens the bounds to hold the positions of those lanes of the warp whose `is_alive` is true. All
/// lanes of the warp must call. Most positions lie within the bounds and cost only loads that hit
/// the cache. If a load returns an outdated bound, the worst result is an unnecessary atomic.
__device__ inline void widen(Bounds* bounds, bool is_alive, const LatticePoint& position) {
  const std::int32_t at[3] = {position.x, position.y, position.z};
  for (int d = 0; d < 3; ++d) {
    const bool is_outside = is_alive && (at[d] < bounds->min[d] || at[d] > bounds->max[d]);
    if (!__any_sync(~0u, is_outside)) continue;
    const std::int32_t low = __reduce_min_sync(~0u, is_outside ? at[d] : min_of_none);
    const std::int32_t high = __reduce_max_sync(~0u, is_outside ? at[d] : max_of_none);
    if (threadIdx.x % 32 != 0) continue;
    atomicMin(&bounds->min[d], low);
    atomicMax(&bounds->max[d], high);
  }
}

/// Reads the block's rows, and returns the thread's own row. If the thread has no row, the returned
/// row is unset. All threads of the block must call. Consecutive threads load consecutive pieces of
/// 16 bytes, and each byte is loaded once, because the rows may be in the host's memory. Static
/// shared memory: a row for each thread, 8 KiB.
__device__ inline ObjectRow read_row(const ObjectRow* rows, std::uint32_t count) {
  static_assert(sizeof(ObjectRow) == 2 * sizeof(int4));
  __shared__ int4 words[2 * block_threads];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * block_threads;
  const auto here = static_cast<std::uint32_t>(min(std::uint64_t{block_threads}, count - first));
  const auto* from = reinterpret_cast<const int4*>(rows + first);
  for (std::uint32_t i = threadIdx.x; i < 2 * here; i += block_threads) words[i] = from[i];
  __syncthreads();
  ObjectRow row;
  memcpy(&row, &words[2 * threadIdx.x], sizeof(row));
  return row;
}

// One thread for each of the `count` rows. No slot appears in two rows. Blocks of block_threads
// threads. If any object of a warp's rows came, left or changed its tags, the warp adds 1 to
// changes->members. It also adds to changes->alive how many objects came minus how many left. Most
// warps add nothing.
__global__ void __launch_bounds__(block_threads)
    apply_rows_kernel(const ObjectRow* rows, std::uint32_t count, ObjectsView objects,
                      ObjectChanges* changes) {
  const std::uint64_t i = thread_index();
  std::int32_t came = 0;
  bool is_member_change = false;
  bool alive = false;
  ObjectRow row = read_row(rows, count);
  if (i < count) {
    alive = is_alive(row.generation);
    const bool was_alive = objects.positions[row.slot].x != nowhere;
    if (!alive) row.position.x = nowhere;
    came = static_cast<std::int32_t>(alive) - static_cast<std::int32_t>(was_alive);
    is_member_change = came != 0 || objects.tags[row.slot] != row.tags;
    objects.positions[row.slot] = row.position;
    objects.times_us[row.slot] = row.time_us;
    objects.tags[row.slot] = row.tags;
  }
  widen(objects.bounds, alive, row.position);
  if (!__any_sync(~0u, is_member_change)) return;
  came = __reduce_add_sync(~0u, came);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&changes->members, 1);
  if (came != 0) atomicAdd(&changes->alive, came);
}

// One thread for each of the `count` slots. Sets alive[i] to 1 if slots[i] has a living object,
// otherwise to 0.
__global__ void __launch_bounds__(block_threads)
    find_alive_kernel(const Slot* slots, std::uint32_t count, ObjectsView objects,
                      std::uint8_t* alive) {
  const std::uint64_t i = thread_index();
  if (i >= count) return;
  const Slot slot = slots[i];
  alive[i] = slot < objects.slots && objects.positions[slot].x != nowhere ? 1 : 0;
}

}  // namespace starling::gpu
