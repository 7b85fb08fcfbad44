// SPDX-License-Identifier: Apache-2.0
// Searches on the plane with one warp for each search, for any k and filter. The warp scans a small
// window around the position, and widens the window until no nearer object can lie outside.
// Launched by grid_search_launch.cu.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/index/grid_window.cuh"
#include "starling/gpu/points/search/nearest_in_shared.cuh"
#include "starling/gpu/points/search/search_common.cuh"

namespace starling::gpu {

inline constexpr unsigned warp_search_threads = 128;
/// How many blocks a multiprocessor should hold. Without this limit, the compiler takes more
/// registers, and fewer blocks fit.
inline constexpr unsigned warp_search_blocks = 4;

/// Each lane offers at most one candidate between two calls of tighten().
using WarpNearest = NearestInShared<warp_lanes, warp_lanes>;

/// One warp's search. All lanes of the warp must construct it and call its functions together. If
/// `has_tests` is false, no search tests objects for its filter.
template <bool has_tests>
class WarpSearch {
 public:
  using Nearest = WarpNearest;

  __device__ WarpSearch(const GridView& grid, const ObjectsView& objects,
                        const Acceptance& acceptance, const FilterRoute& route,
                        const LatticePoint& position, std::uint32_t k, const Nearest& nearest)
      : grid_(grid),
        objects_(objects),
        acceptance_(acceptance),
        geometry_(grid.geometry[route.layer]),
        position_(position),
        k_(k),
        passing_share_(route.passing_share),
        nearest_(nearest) {}

  __device__ void run() {
    std::int64_t radius = min(first_radius(), root_of(nearest_.bound()));
    for (GridWindow seen = empty_window();;) {
      const GridWindow window = window_of(radius);
      scan(window, seen);
      const bool is_full = nearest_.close();
      if (is_whole(radius)) return;
      const auto squared = static_cast<std::uint64_t>(radius) * static_cast<std::uint64_t>(radius);
      if (nearest_.bound() <= squared) return;
      const std::int64_t enough = root_of(nearest_.bound());
      radius = is_full ? enough : min(wider(radius), enough);
      seen = window;
    }
  }

  __device__ Nearest& nearest() { return nearest_; }

 private:
  /// Returns an integer that is not less than the square root of `distance_sq`.
  __device__ static std::int64_t root_of(std::uint64_t distance_sq) {
    return static_cast<std::int64_t>(__dsqrt_ru(__ull2double_ru(distance_sq))) + 1;
  }

  /// Returns the radius of the next window if a window of `radius` has fewer than k neighbours:
  /// usually twice `radius`. A search that tests objects reads many of them in a large window. Its
  /// radius grows less if many objects have passed so far.
  __device__ std::int64_t wider(std::int64_t radius) const {
    if (!has_tests || !acceptance_.reads_objects) return 2 * radius;
    const float found = fmaxf(static_cast<float>(nearest_.size()), 1.0f);
    const float factor = __fsqrt_rn(1.5f * (static_cast<float>(k_) + 1.0f) / found);
    return static_cast<std::int64_t>(static_cast<float>(radius) * fminf(factor, 2.0f)) + 1;
  }

  __device__ GridWindow window_of(std::int64_t radius) const {
    return window_around(geometry_, position_.x, position_.y, {radius, radius, radius, radius});
  }

  /// Returns the radius of the first window. If objects are everywhere as dense as in the search's
  /// cell, the window should hold at least k objects that pass. If the position lies outside the
  /// grid, the distance from the position to the grid is added.
  __device__ std::int64_t first_radius() const {
    const std::uint64_t x = along_x(geometry_, position_.x);
    const std::uint64_t y = along_y(geometry_, position_.y);
    const std::uint32_t cell = cell_number(geometry_, cell_of(x), cell_of(y));
    const std::uint32_t count = grid_.starts[cell + 1] - grid_.starts[cell];
    const float radius = 0.6f * geometry_.cell_side *
                         __fsqrt_rn(static_cast<float>(k_) /
                                    (fmaxf(static_cast<float>(count), 1.0f) * passing_share_));
    const auto outside = [](std::int64_t at, std::int64_t min, std::uint32_t extent) {
      return max(max(min - at, at - (min + extent)), std::int64_t{0});
    };
    return static_cast<std::int64_t>(fminf(radius, static_cast<float>(radius_max))) + 1 +
           max(outside(position_.x, geometry_.min_x, geometry_.extent_x),
               outside(position_.y, geometry_.min_y, geometry_.extent_y));
  }

  /// Returns true if the window of this radius reaches all borders of the grid.
  __device__ bool is_whole(std::int64_t radius) const {
    return position_.x - radius <= geometry_.min_x && position_.y - radius <= geometry_.min_y &&
           position_.x + radius >= std::int64_t{geometry_.min_x} + geometry_.extent_x &&
           position_.y + radius >= std::int64_t{geometry_.min_y} + geometry_.extent_y;
  }

  /// Offers the objects that are in `window` but not in `seen`. Each lane lists the runs of one
  /// cell at a time.
  __device__ void scan(const GridWindow& window, const GridWindow& seen) {
    const auto columns = static_cast<std::uint32_t>(window.columns());
    const std::uint32_t cells = columns * static_cast<std::uint32_t>(window.rows());
    for (std::uint32_t first = 0; first < cells; first += warp_lanes) {
      const std::uint32_t cell = min(first + warp_.lane, cells - 1);
      const auto column = static_cast<std::int32_t>(cell % columns) + cell_of(window.x_low);
      const auto row = static_cast<std::int32_t>(cell / columns) + cell_of(window.y_low);
      CellRuns runs(grid_, geometry_, column, row, window, seen);
      bool is_done = first + warp_.lane >= cells || runs.is_done();
      while (any_in_warp(!is_done)) {
        CellRuns::Row next;
        if (!is_done) next = runs.next();
        is_done = is_done || runs.is_done();
        offer(needed_of(next.left));
        offer(needed_of(next.right));
      }
    }
  }

  /// Returns the part of a run that the search must read.
  __device__ __forceinline__ Run needed_of(const Run& run) const {
    return has_tests && acceptance_.reads_objects ? run : run.without_crowd(grid_, k_);
  }

  /// Offers the objects of all lanes' runs; each lane calls with one run. The objects of the first
  /// lane's run have the ranks from 0 on, the objects of the next lane's run have the next ranks,
  /// and so on. The lanes offer objects of consecutive ranks at the same time.
  __device__ void offer(const Run& run) {
    std::uint32_t end = run.count();  // becomes the rank after the lane's run
    if (!any_in_warp(end > 0)) return;
    for (unsigned step = 1; step < warp_lanes; step *= 2) {
      const std::uint32_t before = __shfl_up_sync(all_lanes, end, step);
      if (warp_.lane >= step) end += before;
    }
    const std::uint32_t total = __shfl_sync(all_lanes, end, warp_lanes - 1);
    const std::uint32_t shift = run.begin - (end - run.count());
    std::uint32_t first = 0;
    if (has_tests && acceptance_.reads_objects) {
      for (; first + 4 * warp_lanes <= total; first += 4 * warp_lanes)
        offer_passing<4>(first, total, end, shift);
      for (; first < total; first += warp_lanes) offer_passing<1>(first, total, end, shift);
    }
    for (; first < total; first += warp_lanes) offer_one(first, total, end, shift);
  }

  /// Each lane offers the object at rank `first` + lane, if this rank is below `total`. For the
  /// objects of a lane's own run, the place is the rank plus the lane's `shift`, and the ranks are
  /// below the lane's `end`.
  __device__ __forceinline__ void offer_one(std::uint32_t first, std::uint32_t total,
                                            std::uint32_t end, std::uint32_t shift) {
    const std::uint32_t rank = first + warp_.lane;
    const std::uint32_t place = rank + __shfl_sync(all_lanes, shift, owner_of(rank, end));
    const bool is_object = rank < total;
    const std::uint64_t distance =
        is_object ? distance_sq(position_, grid_.points[place]) : ~std::uint64_t{0};
    const bool is_offered = is_object && distance <= nearest_.bound() &&
                            acceptance_.accepts_but_filter(place, grid_.slots);
    nearest_.offer(is_offered, distance, place);
    nearest_.tighten(false);
  }

  /// Does the same as offer_one for `count` ranks of each lane, in a search that tests objects. Few
  /// objects pass, so the filter comes before the distance. The loads for the `count` ranks are in
  /// flight at the same time.
  template <unsigned count>
  __device__ __forceinline__ void offer_passing(std::uint32_t first, std::uint32_t total,
                                                std::uint32_t end, std::uint32_t shift) {
    std::uint32_t places[count];
    bool passes[count];
#pragma unroll
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t rank = first + i * warp_lanes + warp_.lane;
      places[i] = rank + __shfl_sync(all_lanes, shift, owner_of(rank, end));
      passes[i] = rank < total;
    }
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
      passes[i] = passes[i] && acceptance_.passes(places[i], grid_.slots, grid_.attached, objects_);
#pragma unroll
    for (unsigned i = 0; i < count; ++i) {
      if (!any_in_warp(passes[i])) continue;
      const std::uint64_t distance =
          passes[i] ? distance_sq(position_, grid_.points[places[i]]) : ~std::uint64_t{0};
      const bool is_offered = passes[i] && distance <= nearest_.bound() &&
                              acceptance_.accepts_but_filter(places[i], grid_.slots);
      nearest_.offer(is_offered, distance, places[i]);
      nearest_.tighten(false);
    }
  }

  /// Returns the lane whose run holds the object at this rank: the first lane whose `end` is
  /// greater than `rank`.
  __device__ static int owner_of(std::uint32_t rank, std::uint32_t end) {
    int lane = 0;
    for (int step = warp_lanes / 2; step > 0; step /= 2) {
      const std::uint32_t before = __shfl_sync(all_lanes, end, lane + step - 1);
      if (before <= rank) lane += step;
    }
    return lane;
  }

  /// A window of this radius around any position on the lattice reaches beyond the lattice.
  static constexpr std::int64_t radius_max = std::int64_t{1} << 31;

  const GridView& grid_;
  const ObjectsView& objects_;
  const Acceptance& acceptance_;
  const GridGeometry geometry_;
  LatticePoint position_;
  std::uint32_t k_;
  float passing_share_;
  LaneGroup<warp_lanes> warp_;
  Nearest nearest_;
};

/// Runs the search with this number, and writes its list. All lanes of the warp must call. `memory`
/// is shared memory of this warp only, with WarpNearest::bytes(entries) bytes.
template <bool has_tests>
__device__ void search_by_warp(const GridView& grid, const ObjectsView& objects,
                               const SearchBatch& batch, std::uint32_t number, std::byte* memory,
                               std::uint32_t entries) {
  const SearchSpec spec = batch.specs[number];
  LatticePoint position{};
  std::uint32_t count = 0;
  const FilterRoute route = route_of(spec, batch, grid.count);
  if (route.count > 0 && find_position(spec, objects, position)) {
    const Acceptance acceptance = Acceptance(spec, batch.tau_us).along(route);
    WarpSearch<has_tests> search(
        grid, objects, acceptance, route, position, spec.k,
        WarpNearest(memory, entries, spec.k, to_number(spec.filter.key_max), false,
                    IdOfPlace{grid.slots, objects.ids}));
    search.run();
    const std::uint64_t room = batch.rooms[number];
    count = search.nearest().for_each(
        [&](std::uint32_t rank, std::uint64_t distance_sq, std::uint32_t place) {
          const Slot slot = grid.slots[place];
          batch.neighbors[room + rank] = {RankKey{distance_sq}, objects.ids[slot]};
          batch.slots[room + rank] = slot;
        });
  }
  if (threadIdx.x % warp_lanes == 0) batch.counts[number] = count;
  __syncwarp();  // the next search uses the same memory
}

/// Whether a warp kernel does all searches of the batch, or only the postponed searches.
enum class WarpShare { all, postponed };

// Any number of warps; each serves one search after another. Dynamic shared memory:
// WarpNearest::bytes(entries) for each warp. Writes each list's length to counts[number], and its
// entries to neighbors and slots, from index rooms[number] on.
template <WarpShare share, bool has_tests>
__global__ void __launch_bounds__(warp_search_threads, warp_search_blocks)
    warp_search_kernel(const __grid_constant__ GridView grid,
                       const __grid_constant__ ObjectsView objects,
                       const __grid_constant__ SearchBatch batch, std::uint32_t entries) {
  extern __shared__ __align__(16) std::byte memory[];
  constexpr bool is_all = share == WarpShare::all;
  const std::uint32_t count = is_all ? batch.count : batch.postponed[0];
  const std::uint32_t* numbers = is_all ? batch.order : batch.postponed + 1;
  const auto first = static_cast<std::uint32_t>(thread_index() / warp_lanes);
  const std::uint32_t warps = gridDim.x * (blockDim.x / warp_lanes);
  for (std::uint32_t i = first; i < count; i += warps)
    search_by_warp<has_tests>(grid, objects, batch, numbers[i],
                              memory + threadIdx.x / warp_lanes * WarpNearest::bytes(entries),
                              entries);
}

}  // namespace starling::gpu
