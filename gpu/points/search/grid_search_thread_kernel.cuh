// SPDX-License-Identifier: Apache-2.0
// Searches on the plane with one thread for each search, for small k. A thread ranks objects by
// rounded distances. If these leave the order in doubt, or if the window becomes too large, the
// thread postpones the search, and a warp repeats the search (see grid_search_warp_kernel.cuh).
// Launched by grid_search_launch.cu.
#pragma once

#include <type_traits>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/index/grid_window.cuh"
#include "starling/gpu/points/search/nearest_keys.cuh"
#include "starling/gpu/points/search/search_common.cuh"

namespace starling::gpu {

inline constexpr unsigned thread_search_threads = 128;

/// How the searches of a launch use their filters. Routing is a template parameter, because code
/// for filters costs registers even where no search needs it.
enum class Routing {
  none,    ///< all searches look in layer 0, and test no objects for filters
  layers,  ///< each search looks in the layer of its route, and tests no objects
  tests,   ///< each search looks in the layer of its route, and some test objects
};

struct NoAcceptance {};

/// One lane's search. All lanes of a warp must construct a ThreadSearch together, and call run()
/// and write() together.
template <int k_limit, Routing routing>
class ThreadSearch {
 public:
  using Shape = ThreadSearchShape<k_limit>;
  using Keys = NearestKeys<k_limit>;

  __device__ ThreadSearch(const GridView& grid, const ObjectsView& objects,
                          const SearchBatch& batch, std::uint32_t number,
                          const LatticePoint& position, const SearchSpec& spec,
                          const FilterRoute& route, std::byte* memory_of_warp)
      : grid_(grid),
        objects_(objects),
        batch_(batch),
        number_(number),
        geometry_(geometry_of(grid, route)),
        x_(position.x),
        y_(position.y),
        k_(static_cast<int>(spec.k)),
        distance_sq_max_(to_number(spec.filter.key_max)),
        keys_(reinterpret_cast<std::uint32_t*>(memory_of_warp) + threadIdx.x % warp_lanes),
        runs_(reinterpret_cast<std::uint32_t*>(memory_of_warp + Shape::places_bytes) +
                  threadIdx.x % warp_lanes,
              reinterpret_cast<std::uint16_t*>(memory_of_warp + Shape::places_bytes +
                                               Shape::begins_bytes) +
                  threadIdx.x % warp_lanes) {
    if (spec.anchor != no_slot) checked_ = 1;  // the excluded object's distance and key are 0
    if constexpr (routing == Routing::tests) {
      passing_share_ = route.passing_share;
      acceptance_ = Acceptance(spec, batch.tau_us).along(route);
      if (acceptance_.reads_objects) checked_ = Keys::infinity;
    }
  }

  /// Returns true if a warp would be faster than a thread, because so few objects pass that the
  /// search must read many.
  __device__ bool is_for_warp() const {
    if constexpr (routing != Routing::tests) return false;
    constexpr float objects_max = 250;
    return static_cast<float>(k_) > objects_max * passing_share_;
  }

  // With Routing::none, searches read only layer 0, and its first cell is 0. A constant takes no
  // register.
  __device__ static GridGeometry geometry_of(const GridView& grid, const FilterRoute& route) {
    GridGeometry geometry = grid.geometry[route.layer];
    if constexpr (routing == Routing::none) geometry.first_cell = 0;
    return geometry;
  }

  /// Scans growing windows until the keys certainly include the k nearest objects. Returns false if
  /// a window was too large, or if passes_max windows were not enough.
  __device__ __forceinline__ bool run(bool is_searching) {
    Reach reach = first_reach();
    GridWindow seen = empty_window();
    bool is_found = false;
    for (int pass = 0; any_in_warp(is_searching); ++pass) {
      GridWindow window = seen;
      runs_.clear();
      if (is_searching) {
        window = window_around(geometry_, x_, y_, reach);
        list_runs(window, seen);
        if (runs_.is_overfull()) {
          is_searching = false;
          runs_.clear();
        }
      }
      __syncwarp();
      offer_runs();
      __syncwarp();
      if (!is_searching) continue;
      const float needed = needed_distance();
      is_found = is_seen(needed, reach);
      is_searching = !is_found && pass + 1 < passes_max;
      seen = window;
      widen(reach, needed);
    }
    return is_found;
  }

  /// Writes what run() found. All lanes of the warp write the lists together, a few lists at a
  /// time, so that stores fill whole cache lines. Only the first `searches` lanes have a search.
  /// Returns false on a lane without a result. Also returns false on a lane whose list's order is
  /// in doubt; the list that was written may then be wrong.
  __device__ __forceinline__ bool write(bool is_found, unsigned searches) {
    // Keys are in the right order, whatever the rounding, if their upper bits differ by at least 2.
    const std::uint32_t kth = keys_.key_at(k_ - 1);
    const std::uint32_t after = keys_.key_at(k_);
    bool is_sure = is_found && (after >= Keys::infinity ||
                                (after >> Shape::number_bits) - (kth >> Shape::number_bits) > 1);
    keys_.rank_places(is_found ? k_ : 0);
    const std::uint64_t room = batch_.rooms[number_];
    std::uint32_t count = 0;
    for (unsigned first = 0; first < searches; first += rounds_at_once * searches_a_round)
      is_sure = write_some(first, room, count) && is_sure;
    if (is_found) batch_.counts[number_] = count;
    return is_sure;
  }

 private:
  static constexpr int passes_max = 4;
  static constexpr int window_cells_max = 64;
  static constexpr unsigned searches_a_round = warp_lanes / k_limit;
  static constexpr unsigned rounds_at_once = 4;  ///< rounds whose loads are in flight together

  /// Writes the lists of rounds_at_once rounds of searches, beginning with the search of lane
  /// `first`. In a round each lane writes one neighbour. On the lanes of these searches, sets
  /// `count` to the length of the lane's list, and returns false if the order of the list is in
  /// doubt.
  __device__ __forceinline__ bool write_some(unsigned first, std::uint64_t room,
                                             std::uint32_t& count) const {
    const unsigned lane = threadIdx.x % warp_lanes;
    const unsigned rank = lane % k_limit;
    std::uint32_t places[rounds_at_once];
    Slot slots[rounds_at_once];
    std::uint64_t distances_sq[rounds_at_once];
#pragma unroll
    for (unsigned round = 0; round < rounds_at_once; ++round) {
      const unsigned search = first + round * searches_a_round + lane / k_limit;
      const bool is_one = lane / k_limit < searches_a_round && search < warp_lanes;
      places[round] = is_one ? keys_.place_at(rank, search) : place_none;
      const std::uint32_t place = places[round] == place_none ? 0 : places[round];
      const int from = static_cast<int>(search % warp_lanes);
      const LatticePoint at{__shfl_sync(all_lanes, x_, from), __shfl_sync(all_lanes, y_, from), 0};
      slots[round] = __ldg(&grid_.slots[place]);
      distances_sq[round] = distance_sq(at, __ldg(&grid_.points[place]));
    }
    ObjectId ids[rounds_at_once];
#pragma unroll
    for (unsigned round = 0; round < rounds_at_once; ++round)
      ids[round] = objects_.ids[slots[round]];
    bool is_sure = true;
#pragma unroll
    for (unsigned round = 0; round < rounds_at_once; ++round) {
      const unsigned begin = first + round * searches_a_round;
      const int from = static_cast<int>((begin + lane / k_limit) % warp_lanes);
      const std::uint64_t to = __shfl_sync(all_lanes, room, from) + rank;
      const std::uint64_t limit_sq = __shfl_sync(all_lanes, distance_sq_max_, from);
      const std::uint64_t before_sq = __shfl_up_sync(all_lanes, distances_sq[round], 1);
      const bool is_there = places[round] != place_none;
      const bool is_within = is_there && distances_sq[round] <= limit_sq;
      if (is_within) {
        put({RankKey{distances_sq[round]}, ids[round]}, batch_.neighbors + to);
        batch_.slots[to] = slots[round];
      }
      // A warp must repeat the search if there is a tie, which only ids can break, or a wrong
      // order.
      const unsigned doubtful =
          __ballot_sync(all_lanes, is_there && rank > 0 && distances_sq[round] <= before_sq);
      const unsigned within = __ballot_sync(all_lanes, is_within);
      if (lane - begin >= searches_a_round) continue;
      const unsigned own = all_lanes >> (warp_lanes - k_limit) << (lane - begin) * k_limit;
      count = static_cast<std::uint32_t>(__popc(within & own));
      is_sure = is_sure && (doubtful & own) == 0;
    }
    return is_sure;
  }

  /// Writes a neighbour in one store.
  __device__ static void put(const Neighbor& neighbor, Neighbor* to) {
    static_assert(sizeof(Neighbor) == sizeof(ulonglong2));
    *reinterpret_cast<ulonglong2*>(to) = {to_number(neighbor.key), to_number(neighbor.object)};
  }

  /// Returns the reach of the first window. The window should hold k objects that pass, if objects
  /// are everywhere as dense as in the search's cell. If there are routes, the reach is not much
  /// more than the filter's greatest distance. The sides are extended to the borders of leaves.
  __device__ __forceinline__ Reach first_reach() const {
    // 1.1 and 1.2 are the fastest factors between 1.0 and 1.5. Circles of these radii hold 1.2 k
    // and 1.4 k objects.
    constexpr float share_of_radius = (k_limit <= 16 ? 1.1f : 1.2f) * 0.5641896f;  // 1 / sqrt(pi)
    const std::uint64_t x = along_x(geometry_, x_);
    const std::uint64_t y = along_y(geometry_, y_);
    const std::uint32_t cell = cell_number(geometry_, cell_of(x), cell_of(y));
    const std::uint32_t count = __ldg(&grid_.starts[cell + 1]) - __ldg(&grid_.starts[cell]);
    const auto splits = static_cast<float>(splits_of(count));
    const float leaf_side = geometry_.cell_side / splits;
    const float expected = share_of_radius * splits *
                           __fsqrt_rn(static_cast<float>(k_) /
                                      (fmaxf(static_cast<float>(count), 1.0f) * passing_share_));
    float in_leaves = expected;
    if constexpr (routing != Routing::none)
      in_leaves = fminf(expected, enough(needed_distance()) / leaf_side);
    const float x_in_leaves = static_cast<float>(fraction_of(x)) * 0x1p-32f * splits;
    const float y_in_leaves = static_cast<float>(fraction_of(y)) * 0x1p-32f * splits;
    const auto units = [leaf_side](float leaves) {
      return static_cast<std::int64_t>(leaves * leaf_side * 0.99999f);
    };
    return {units(x_in_leaves - floorf(x_in_leaves - in_leaves)),
            units(ceilf(x_in_leaves + in_leaves) - x_in_leaves),
            units(y_in_leaves - floorf(y_in_leaves - in_leaves)),
            units(ceilf(y_in_leaves + in_leaves) - y_in_leaves)};
  }

  /// Lists the runs that are in `window` but not in `seen`. If the window has too many cells, marks
  /// the list as overfull.
  __device__ __forceinline__ void list_runs(const GridWindow& window, const GridWindow& seen) {
    const std::int32_t columns = window.columns();
    const std::int32_t rows = window.rows();
    if (columns > window_cells_max || rows > window_cells_max ||
        columns * rows > window_cells_max) {
      runs_.overfill();
      return;
    }
    const std::int32_t column_end = cell_of(window.x_high) + 1;
    std::int32_t column = cell_of(window.x_low);
    std::int32_t row = cell_of(window.y_low);
    for (std::int32_t cell = 0; cell < columns * rows; ++cell) {
      for (CellRuns runs(grid_, geometry_, column, row, window, seen); !runs.is_done();) {
        const CellRuns::Row next = runs.next();
        runs_.add(next.left);
        runs_.add(next.right);
      }
      if (++column < column_end) continue;
      column -= columns;
      ++row;
    }
  }

  /// Iterates over the places of all runs, two by two.
  struct PairCursor {
    const RunList<k_limit>& runs;
    int next_run = 0;
    Run run{0, 0};
    std::uint32_t place = 0;  ///< the first of a pair

    __device__ bool advance() {
      place += 2;
      if (place < run.end) return true;
      if (next_run >= runs.size()) return false;
      run = runs.run(next_run++);
      place = run.begin & ~1u;
      return true;
    }
    /// has_first() returns true if the pair's first place belongs to the run, and has_second() if
    /// the second place does. The first and the last pair of a run may include a place outside the
    /// run.
    __device__ bool has_first() const { return place >= run.begin; }
    __device__ bool has_second() const { return place + 1 < run.end; }
  };

  __device__ __forceinline__ void offer_runs() {
    if constexpr (Shape::pairs_at_once == 1)
      offer_pairs();
    else
      offer_blocks();
  }

  /// Loads the next pair while it offers the current one.
  __device__ __forceinline__ void offer_pairs() {
    PairCursor cursor{runs_};
    bool has_more = cursor.advance();
    int4 coming{};
    if (has_more) coming = points_at(cursor.place);
    while (has_more) {
      const int4 points = coming;
      const std::uint32_t place = cursor.place;
      const bool has_first = cursor.has_first();
      const bool has_second = cursor.has_second();
      has_more = cursor.advance();
      if (has_more) coming = points_at(cursor.place);
      offer(0, has_first ? key_at(points.x, points.y) : Keys::infinity,
            has_second ? key_at(points.z, points.w) : Keys::infinity, place);
    }
  }

  /// Loads the next block of pairs while it offers the current one.
  __device__ __forceinline__ void offer_blocks() {
    struct Pair {
      int4 points;
      std::uint32_t place;
      bool has_first;
      bool has_second;
    };
    constexpr int at_once = Shape::pairs_at_once;
    PairCursor cursor{runs_};
    bool has_more = cursor.advance();
    Pair pairs[at_once];
    const auto fetch = [&] {
#pragma unroll
      for (Pair& pair : pairs) {
        pair.place = cursor.place;
        pair.has_first = has_more && cursor.has_first();
        pair.has_second = has_more && cursor.has_second();
        if (!has_more) continue;
        pair.points = points_at(cursor.place);
        has_more = cursor.advance();
      }
    };
    fetch();
    while (pairs[0].has_first || pairs[0].has_second) {
      std::uint32_t keys[2 * at_once];
      std::uint32_t places[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const Pair& pair = pairs[i];
        places[i] = pair.place;
        keys[2 * i] = pair.has_first ? key_at(pair.points.x, pair.points.y) : Keys::infinity;
        keys[2 * i + 1] = pair.has_second ? key_at(pair.points.z, pair.points.w) : Keys::infinity;
      }
      fetch();
#pragma unroll
      for (int i = 0; i < at_once; ++i) offer(i, keys[2 * i], keys[2 * i + 1], places[i]);
      keys_.take_in();
    }
  }

  /// Returns the points at `place`, which must be even, and at `place + 1`.
  __device__ int4 points_at(std::uint32_t place) const {
    return __ldg(reinterpret_cast<const int4*>(grid_.points) + place / 2);
  }

  /// Offers the candidates at `place` and `place + 1`, except those that the search rejects.
  __device__ __forceinline__ void offer(int pair, std::uint32_t key, std::uint32_t next_key,
                                        std::uint32_t place) {
    const std::uint32_t checked = min(checked_, keys_.last());
    if (min(key, next_key) < checked) {
      const auto is_accepted = [this](std::uint32_t at) {
        if constexpr (routing == Routing::tests)
          return acceptance_.accepts(at, grid_.slots, grid_.attached, objects_);
        else
          return grid_.slots[at] != batch_.specs[number_].anchor;
      };
      if (key < checked && !is_accepted(place)) key = Keys::infinity;
      if (next_key < checked && !is_accepted(place + 1)) next_key = Keys::infinity;
    }
    keys_.offer(pair, key, next_key, place);
  }

  __device__ std::uint32_t key_at(std::int32_t x, std::int32_t y) const {
    const auto across = static_cast<float>(x - x_);
    const auto up = static_cast<float>(y - y_);
    return Keys::key_of(fmaf(across, across, up * up));
  }

  /// Returns a little more than `needed`, but at most a length that reaches beyond every grid.
  __device__ static float enough(float needed) {
    return fminf(needed * 1.0001f + 2, 8e9f);
  }

  /// Returns an upper bound on the distance of the farthest neighbour of the final list, in lattice
  /// units.
  __device__ float needed_distance() const {
    const std::uint32_t kth = keys_.key_at(k_ - 1) & ~Keys::number_mask;
    const float limit_sq = __ull2float_ru(distance_sq_max_);
    if (kth >= Keys::infinity) return __fsqrt_ru(limit_sq);
    const float kth_sq = __uint_as_float(kth + Keys::number_mask + 1) * rounded_up;
    return __fsqrt_ru(fminf(kth_sq, limit_sq)) * rounded_up;
  }

  /// Returns true if all objects within `distance` have been offered. A side of the window that
  /// reaches the border of the grid also covers the objects beyond that border.
  __device__ bool is_seen(float distance, const Reach& reach) const {
    const auto is_short = [distance](std::int64_t reached) {
      return static_cast<float>(reached) * rounded_down <= distance;
    };
    const std::int64_t max_x = std::int64_t{geometry_.min_x} + geometry_.extent_x;
    const std::int64_t max_y = std::int64_t{geometry_.min_y} + geometry_.extent_y;
    return !((x_ - reach.left > geometry_.min_x && is_short(reach.left)) ||
             (x_ + reach.right < max_x && is_short(reach.right)) ||
             (y_ - reach.down > geometry_.min_y && is_short(reach.down)) ||
             (y_ + reach.up < max_y && is_short(reach.up)));
  }

  /// Lengthens each side to a little more than `needed`. If fewer than k objects are known, no side
  /// becomes more than about twice as long as before.
  __device__ void widen(Reach& reach, float needed) const {
    const bool is_full = keys_.key_at(k_ - 1) < Keys::infinity;
    const auto least = static_cast<std::int64_t>(enough(needed));
    const auto widened = [&](std::int64_t reached) {
      return is_full ? max(reached, least) : min(2 * reached + 1, max(reached, least));
    };
    reach = {widened(reach.left), widened(reach.right), widened(reach.down), widened(reach.up)};
  }

  static constexpr float rounded_up = 1.00001f;
  static constexpr float rounded_down = 0.99999f;

  const GridView& grid_;
  const ObjectsView& objects_;
  const SearchBatch& batch_;
  std::uint32_t number_;
  const GridGeometry geometry_;
  std::int32_t x_;
  std::int32_t y_;
  int k_;
  float passing_share_ = 1;
  std::uint32_t checked_ = 0;  ///< candidates with a lower key are checked for acceptance
  std::conditional_t<routing == Routing::tests, Acceptance, NoAcceptance> acceptance_{};
  std::uint64_t distance_sq_max_;
  Keys keys_;
  RunList<k_limit> runs_;
};

/// Adds the searches of lanes whose `is_postponed` is true to the list of searches that warps
/// repeat. All lanes of the warp must call.
__device__ inline void postpone(const SearchBatch& batch, bool is_postponed, std::uint32_t number) {
  const unsigned lanes = __ballot_sync(all_lanes, is_postponed);
  if (lanes == 0) return;
  const LaneGroup<warp_lanes> warp;
  std::uint32_t first = 0;
  if (warp.lane == 0) first = atomicAdd(batch.postponed, static_cast<std::uint32_t>(__popc(lanes)));
  first = __shfl_sync(all_lanes, first, 0);
  if (is_postponed)
    batch.postponed[1 + first + static_cast<std::uint32_t>(__popc(warp.before(lanes)))] = number;
}

// One thread for each search of the batch; every search's k is at most k_limit. Only the first
// searches_a_warp lanes of a warp have a search. A block has at most `threads` threads, and a
// multiprocessor should hold `blocks` blocks. Dynamic shared memory:
// ThreadSearchShape<k_limit>::warp_bytes for each warp. Writes the list's length to counts[number],
// and its entries to neighbors and slots, from index rooms[number] on. The list is valid unless the
// search is postponed.
template <int k_limit, Routing routing, unsigned threads, unsigned blocks>
__global__ void __launch_bounds__(threads, blocks)
    thread_search_kernel(const __grid_constant__ GridView grid,
                         const __grid_constant__ ObjectsView objects,
                         const __grid_constant__ SearchBatch batch, unsigned searches_a_warp) {
  extern __shared__ __align__(16) std::byte memory[];
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint64_t i = thread_index() / warp_lanes * searches_a_warp + lane;
  const bool is_search = lane < searches_a_warp && i < batch.count;
  const std::uint32_t number = batch.order[is_search ? i : 0];
  const SearchSpec spec = batch.specs[number];
  FilterRoute route{.count = grid.count};
  if constexpr (routing != Routing::none) route = route_of(spec, batch, grid.count);
  LatticePoint position{};
  const bool is_found = route.count > 0 && find_position(spec, objects, position);
  if (is_search && !is_found) batch.counts[number] = 0;
  const bool is_searching = is_search && is_found;
  if (!any_in_warp(is_searching)) return;
  ThreadSearch<k_limit, routing> search(
      grid, objects, batch, number, position, spec, route,
      memory + threadIdx.x / warp_lanes * ThreadSearchShape<k_limit>::warp_bytes);
  const bool is_done =
      search.write(search.run(is_searching && !search.is_for_warp()), searches_a_warp);
  postpone(batch, is_searching && !is_done, number);
}

}  // namespace starling::gpu
