// SPDX-License-Identifier: Apache-2.0
// Kernels that compare, collect and copy lists. A group of `lanes` consecutive lanes handles a
// list. Lane i of the group handles the list's neighbours i, i + lanes and so on. Launched by
// lists_launch.cu.
#pragma once

#include <cub/block/block_scan.cuh>
#include <cuda/std/functional>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {

/// A whole warp handles a list. Only report_few_kernel may use fewer lanes.
inline constexpr unsigned list_lanes = 32;

/// Returns the index in the grid of the calling thread's group of `lanes` lanes.
template <unsigned lanes = list_lanes>
__device__ std::uint32_t group_index() {
  return static_cast<std::uint32_t>(thread_index() / lanes);
}
template <unsigned lanes = list_lanes>
__device__ std::uint32_t lane_index() {
  return threadIdx.x % lanes;
}
/// Returns true if `value` is true on all lanes of the group. All lanes of the group must call.
template <unsigned lanes>
__device__ bool all_of_group(bool value) {
  constexpr unsigned mask = ~0u >> (32 - lanes);
  return __all_sync(mask << (threadIdx.x % 32 / lanes * lanes), value) != 0;
}

__device__ inline bool holds(const Neighbor* neighbors, std::uint32_t count, ObjectId object) {
  for (std::uint32_t i = 0; i < count; ++i)
    if (neighbors[i].object == object) return true;
  return false;
}

/// Returns true if a list changed in the way that `on` reports. `last` and `now` are the list's
/// neighbours in the last tick and in this tick. Both have `count` neighbours. All lanes of the
/// group must call, and all get the same answer.
template <unsigned lanes>
__device__ bool has_changed(const Neighbor* last, const Neighbor* now, std::uint32_t count,
                            ReportOn on) {
  bool in_order = true;
  bool same_distances = true;
  for (std::uint32_t i = lane_index<lanes>(); i < count; i += lanes) {
    in_order = in_order && last[i].object == now[i].object;
    same_distances = same_distances && last[i].key == now[i].key;
  }
  in_order = all_of_group<lanes>(in_order);
  if (in_order) return on == ReportOn::distance && !all_of_group<lanes>(same_distances);
  if (on != ReportOn::membership) return true;
  bool same_members = true;  // no list names an object twice, so `now` within `last` is enough
  for (std::uint32_t i = lane_index<lanes>(); i < count && same_members; i += lanes)
    same_members = holds(last, count, now[i].object);
  return !all_of_group<lanes>(same_members);
}

/// Returns the size of the list's report, or zeros if the list is not reported. All lanes of the
/// group must call, and all get the same answer.
template <unsigned lanes>
__device__ ReportSize report_size(const ListRow& row, const ListsView& now, const ListsView& last,
                                  const std::uint32_t* last_searches) {
  const std::uint32_t before = last_searches == nullptr ? row.search : last_searches[row.search];
  const std::uint32_t count = now.counts[row.search];
  const bool is_reported = before == ListMatching::none || last.counts[before] != count ||
                           has_changed<lanes>(last.neighbors + last.rooms[before],
                                              now.neighbors + now.rooms[row.search], count, row.on);
  if (!is_reported) return {};
  return {count, row.with_state ? count : 0, 1};
}

// One warp for each list. Reads rows[lists], and last_searches with one entry for each search;
// last_searches is null if every search has kept its number. Writes the size of each list's report
// to sizes[lists].
__global__ void compare_kernel(const ListRow* rows, std::uint32_t lists, ListsView now,
                               ListsView last, const std::uint32_t* last_searches,
                               ReportSize* sizes) {
  const std::uint32_t list = group_index();
  if (list >= lists) return;
  const ReportSize size = report_size<list_lanes>(rows[list], now, last, last_searches);
  if (lane_index() == 0) sizes[list] = size;
}

__device__ inline NeighborState state_of(Slot slot, const ObjectsView& objects) {
  return {objects.positions[slot], objects.tags[slot]};
}

/// Writes the list's report. `before` is the total size of all earlier reports. All lanes of the
/// group must call.
template <unsigned lanes>
__device__ void write_report(const ListRow& row, const ReportSize& before, const ListsView& now,
                             const ObjectsView& objects, const ReportsView& reports) {
  const std::uint32_t count = now.counts[row.search];
  const std::uint64_t room = now.rooms[row.search];
  for (std::uint32_t i = lane_index<lanes>(); i < count; i += lanes) {
    reports.neighbors[before.neighbors + i] = now.neighbors[room + i];
    if (row.with_state) reports.states[before.states + i] = state_of(now.slots[room + i], objects);
  }
  if (lane_index<lanes>() != 0) return;
  ReportedList& report = reports.lists[before.lists];
  report.query = row.query;
  report.event = ListEvent::updated;
  report.has_subject = row.has_subject;
  report.subject = row.subject;
  report.count = count;
  report.first = before.neighbors;
  report.first_state = row.with_state ? before.states : ReportedList::no_state;
}

// One warp for each list. Reads rows[lists] and sums[lists]; sums[i] is the total size of the
// reports of lists 0 to i. Writes the reports of the lists that changed, without gaps, in the order
// of the lists.
__global__ void collect_kernel(const ListRow* rows, std::uint32_t lists, ListsView now,
                               const ReportSize* sums, ObjectsView objects, ReportsView reports) {
  const std::uint32_t list = group_index();
  if (list >= lists) return;
  const ReportSize before = list == 0 ? ReportSize{} : sums[list - 1];
  if (sums[list].lists != before.lists)
    write_report<list_lanes>(rows[list], before, now, objects, reports);
}

inline constexpr unsigned few_lists_threads = 1024;
static_assert(few_lists_max <= few_lists_threads);

// One block for at most few_lists_max lists. First each group of `lanes` lanes compares its lists,
// one after the other. Then thread i gets the total size of the reports of all lists before list i.
// Then each group writes the reports of its lists. Static shared memory: two arrays of
// few_lists_max sizes (12 KiB) and the scan's storage. The kernel stores the reports, their total
// size and the change counts to pinned memory. All three are valid after the host has waited for
// the CUDA stream.
template <unsigned lanes>
__global__ void __launch_bounds__(few_lists_threads)
    report_few_kernel(const ListRow* rows, std::uint32_t lists, ListsView now, ListsView last,
                      const std::uint32_t* last_searches, ObjectsView objects, HostStores stores) {
  using Scan = cub::BlockScan<ReportSize, few_lists_threads>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ ReportSize sizes[few_lists_max];
  __shared__ ReportSize before[few_lists_max];
  constexpr unsigned groups = few_lists_threads / lanes;
  for (std::uint32_t list = group_index<lanes>(); list < lists; list += groups) {
    const ReportSize size = report_size<lanes>(rows[list], now, last, last_searches);
    if (lane_index<lanes>() == 0) sizes[list] = size;
  }
  __syncthreads();
  const bool has_list = threadIdx.x < lists;
  ReportSize sum;
  ReportSize all;
  Scan(scan).ExclusiveScan(has_list ? sizes[threadIdx.x] : ReportSize{}, sum, ReportSize{},
                           cuda::std::plus<>{}, all);
  if (has_list) before[threadIdx.x] = sum;
  if (threadIdx.x == 0) {
    *stores.size = all;
    *stores.changes_told = *stores.changes;
  }
  __syncthreads();
  for (std::uint32_t list = group_index<lanes>(); list < lists; list += groups)
    if (sizes[list].lists != 0)
      write_report<lanes>(rows[list], before[list], now, objects, stores.reports);
}

// One warp for each of copy.count lists. The warp copies the list's neighbours and their number. If
// the list carries states, the warp also copies the neighbours' states. Room after a list's last
// neighbour is not written.
__global__ void copy_lists_kernel(ListsView now, ObjectsView objects, ListCopy copy) {
  const std::uint32_t i = group_index();
  if (i >= copy.count) return;
  const std::uint32_t search = copy.searches[i];
  const std::uint32_t count = now.counts[search];
  const std::uint64_t room = now.rooms[search];
  const std::uint64_t first_state = copy.first_states[i];
  for (std::uint32_t at = lane_index(); at < count; at += list_lanes) {
    copy.neighbors[copy.firsts[i] + at] = now.neighbors[room + at];
    if (first_state != ReportedList::no_state)
      copy.states[first_state + at] = state_of(now.slots[room + at], objects);
  }
  if (lane_index() == 0) copy.counts[i] = count;
}

}  // namespace starling::gpu
