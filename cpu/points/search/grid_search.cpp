// SPDX-License-Identifier: Apache-2.0
// Exact k-NN search in a GridIndex. The search gathers all objects in a circle around the query. By
// the local density, the circle should hold a few more than k objects. If it holds fewer than k, a
// larger circle is taken. Then the search selects the nearest objects by estimated distance and
// ranks them exactly. See search.hpp.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "starling/cpu/points/search/search.hpp"
#include "starling/knn/base/prefetch.hpp"

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/points/search/grid_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/points/search/candidates-inl.hpp"
#include "starling/cpu/points/search/ranking-inl.hpp"
#include "starling/cpu/simd/packer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

static_assert(GridIndex::padding >= lanes_max);

// The circle around a query in which objects are gathered. The coordinates of the centre are in the
// order of the grid's axes.
struct Circle {
  std::int32_t center[3] = {};
  std::uint64_t radius_sq = 0;
  double radius = 0;
  std::int64_t bound = 0;  ///< an integer above the radius
  float limit = 0;         ///< the limit on estimates of squared distances
  bool is_last = false;    ///< a larger radius cannot find more objects
};

// Each step is done for several requests before the next step begins. The steps of one request wait
// for each other; the same step of different requests overlaps in the processor.
template <std::size_t dimensions>
class GridSearch {
 public:
  GridSearch(const GridIndex& index, const ObjectSnapshot& objects, SearchScratch& scratch)
      : index_(index),
        visits_max_(visits_max(objects)),
        scratch_(scratch),
        ranking_(slots_, objects, scratch) {
    make_room(2 * lanes_max);
  }

  /// Answers at most requests_at_once requests. It prefetches the ids of the neighbours but does
  /// not write them.
  void answer(std::span<SearchRequest> requests) {
    Circle circles[requests_at_once];
    std::size_t ends[requests_at_once];
    std::size_t met[requests_at_once] = {};
    const GridBlock* homes[requests_at_once];
    for (std::size_t i = 0; i < requests.size(); ++i) {
      homes[i] = &home_block(requests[i], circles[i]);
      prefetch(homes[i]);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      set_radius(circles[i], std::sqrt(reach_sq(*homes[i], requests[i])), requests[i]);
      prefetch(home_cell(*homes[i], circles[i]));
    }
    for (std::size_t i = 0; i < requests.size(); ++i) prefetch_around(*homes[i], circles[i]);
    std::size_t gathered = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (is_usual(requests[i])) {
        gathered = gather(circles[i], requests[i], gathered);
        met[i] = met_;
      }
      ends[i] = gathered;
    }
    std::size_t unanswered[requests_at_once];
    std::size_t counts[requests_at_once];
    std::size_t unanswered_count = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Candidates candidates = gathered_from(begin, ends[i] - begin);
      begin = ends[i];
      const bool is_answered =
          is_usual(requests[i]) && answer_from(candidates, circles[i], requests[i]);
      if (!is_answered) {
        counts[unanswered_count] = candidates.count;
        unanswered[unanswered_count++] = i;
      }
      if (requests[i].expected_sq > 0) learn_slack(is_answered);
    }
    for (std::size_t i = 0; i < unanswered_count; ++i)
      widen(circles[unanswered[i]], met[unanswered[i]], counts[i], requests[unanswered[i]]);
  }

 private:
  // Ranking identifies objects by their places in an index. The grid search passes slots as places.
  struct Slots {
    Slot slot(std::uint32_t place) const { return place; }
  };

  // Returns true if the first circle can be gathered together with the circles of other requests.
  bool is_usual(const SearchRequest& request) const {
    return request.k > 0 && request.k < few && (!request.filters_objects() || has_test(request));
  }

  // Returns true if gather leaves out the objects that do not pass the filter.
  bool has_test(const SearchRequest& request) const {
    return request.test != nullptr && index_.has_attached();
  }

  // Returns the number of objects to find: k, or k + 1 if an object is excluded, because the
  // excluded object may be among the nearest.
  static std::size_t needed(const SearchRequest& request) {
    return request.k + (request.exclude == no_slot ? 0u : 1u);
  }

  // Returns a number above k. A circle that should hold this number of objects usually holds k.
  double enough(const SearchRequest& request) {
    const std::size_t k = needed(request);
    if (k != last_k_) {
      last_k_ = k;
      enough_ = static_cast<double>(k) + 1.5 * std::sqrt(static_cast<double>(k)) + 1;
    }
    return enough_;
  }

  // Returns the square of the first radius. It is computed from the expected distance of the k-th
  // neighbour if this is known, else from the local density. The density also limits a radius from
  // the expected distance, because many objects may have been added since the last tick.
  double reach_sq(const GridBlock& home, const SearchRequest& request) {
    constexpr double beyond_density_max = 4;
    const double enough = this->enough(request);
    if (index_.count() <= GridIndex::few_objects) return farthest * farthest;
    const double by_density =
        enough * double{home.radius_sq_per_object} / double{request.passing_share};
    if (request.expected_sq == 0) return by_density;
    const double more = scratch_.slack * (enough / static_cast<double>(needed(request)) - 1);
    return std::min(static_cast<double>(request.expected_sq) * (1 + more),
                    beyond_density_max * by_density);
  }

  // Adjusts the slack so that about one search in forty must widen its circle.
  void learn_slack(bool was_answered) {
    constexpr double step = 0.002;
    constexpr double slack_min = 0.05;
    constexpr double slack_max = 1.5;
    scratch_.slack =
        std::clamp(scratch_.slack + (was_answered ? -step : 39 * step), slack_min, slack_max);
  }

  // Sets the centre, and returns the block that contains it or is nearest to it.
  const GridBlock& home_block(const SearchRequest& request, Circle& circle) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      circle.center[axis] = request.position.*index_.axes()[axis];
    return index_.block(nearest_part(index_.outer(), circle, 0),
                        nearest_part(index_.outer(), circle, 1));
  }

  // Returns the column (axis 0) or the row (axis 1) that contains the centre or is nearest to it.
  static std::size_t nearest_part(const CellRectangle& rectangle, const Circle& circle,
                                  std::size_t axis) {
    const Division& division = rectangle.divisions[axis];
    return division.part(static_cast<std::uint32_t>(std::clamp<std::int64_t>(
        std::int64_t{circle.center[axis]} - rectangle.min[axis], 0, division.extent())));
  }

  const std::uint32_t* home_cell(const GridBlock& block, const Circle& circle) const {
    return index_.cell_begins(block) +
           nearest_part(block.grid, circle, 1) * block.grid.divisions[0].parts() +
           nearest_part(block.grid, circle, 0);
  }

  // Prefetches the objects of the centre's cell and of the cells above and below it.
  void prefetch_around(const GridBlock& block, const Circle& circle) const {
    if (block.count == 0) return;
    const std::size_t columns = block.grid.divisions[0].parts();
    const std::uint32_t* begins = index_.cell_begins(block);
    const auto cell = static_cast<std::size_t>(home_cell(block, circle) - begins);
    for (const std::size_t near :
         {cell - std::min(cell, columns), cell, std::min(cell + columns, block.grid.cells())}) {
      const std::int32_t* const first = index_.arrays(block) + (begins[near] - block.first);
      for (std::size_t array = 0; array <= dimensions; ++array)
        prefetch(first + array * block.count);
    }
  }

  // Above the distance of any two points of the lattice.
  static constexpr double farthest = 0x1.fp+31;

  static void set_radius(Circle& circle, double radius, const SearchRequest& request) {
    const auto radius_max_sq = static_cast<double>(request.distance_sq_max);
    circle.is_last = !(radius < farthest) || !(radius * radius < radius_max_sq);
    if (circle.is_last) radius = std::sqrt(radius_max_sq);
    circle.radius_sq =
        circle.is_last ? request.distance_sq_max : static_cast<std::uint64_t>(radius * radius);
    circle.radius = radius;
    circle.bound = static_cast<std::int64_t>(radius) + 2;
    circle.limit = filter_limit(circle.radius_sq);
  }

  // Answers from the objects in the circle. Returns false if the circle may hold too few objects.
  bool answer_from(const Candidates& candidates, const Circle& circle, SearchRequest& request) {
    if (candidates.count < needed(request) && !circle.is_last) return false;
    if (rank_by_estimates(candidates, circle, request)) return true;
    ranking_.start(request);
    rank_exactly(candidates, circle);
    if (ranking_.count() < ranking_.k() && !circle.is_last) return false;
    ranking_.write(request);
    return true;
  }

  // Answers a request whose first circle had too few objects. That circle met `met` objects; `kept`
  // of them are candidates. Takes larger circles until one has enough objects, or gives up.
  void widen(Circle circle, std::size_t met, std::size_t kept, SearchRequest& request) {
    request.found = 0;
    request.gave_up = false;
    if (request.k == 0) return;
    const double enough = this->enough(request);
    std::size_t visits = 0;
    // The radius is gap + reach. `gap` is 0 at first. If a circle was empty, `gap` is the distance
    // to the nearest block that has objects.
    double gap = 0;
    bool has_gap = false;
    double reach = circle.radius;
    for (bool is_gathered = is_usual(request);; is_gathered = false) {
      if (!is_gathered) {
        kept = gather(circle, request, 0);
        met = met_;
        if (request.filters_objects() && !has_test(request)) kept = drop_filtered(kept, request);
        const bool is_void = met == 0 && !has_gap && !circle.is_last;
        if (!is_void && answer_from(gathered_from(0, kept), circle, request)) return;
      }
      visits += met;
      request.gave_up = request.filters_objects() && visits > visits_max_;
      if (request.gave_up) return;
      if (met == 0 && !has_gap) {
        has_gap = true;
        std::tie(gap, reach) = nearest_block(circle, enough);
      } else {
        reach *= std::sqrt(std::clamp(enough / (static_cast<double>(kept) + 0.5), 2.0, 16.0));
      }
      set_radius(circle, gap + reach, request);
    }
  }

  // Returns, for a query far from all objects, the distance to the nearest block that has objects,
  // and how far to search beyond that distance.
  std::pair<double, double> nearest_block(const Circle& circle, double enough) const {
    double least_sq = std::numeric_limits<double>::infinity();
    double reach_sq = 0;
    for (const GridBlock& block : index_.blocks()) {
      if (block.count == 0) continue;
      double gap_sq = 0;
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t offset = std::int64_t{circle.center[axis]} - block.grid.min[axis];
        const std::int64_t extent = block.grid.divisions[axis].extent();
        const auto gap = static_cast<double>(std::max({-offset, offset - extent, std::int64_t{0}}));
        gap_sq += gap * gap;
      }
      if (gap_sq >= least_sq) continue;
      least_sq = gap_sq;
      reach_sq = enough * double{block.radius_sq_per_object};
    }
    return {std::sqrt(least_sq), std::sqrt(reach_sq)};
  }

  struct Range {
    std::size_t first;
    std::size_t last;
    bool is_empty;
  };

  // Returns the columns (axis 0) or rows (axis 1) of cells that the circle may touch.
  static HWY_INLINE Range cells_within(const CellRectangle& rectangle, const Circle& circle,
                                       std::size_t axis) {
    const Division& division = rectangle.divisions[axis];
    const std::int64_t begin = circle.center[axis] - circle.bound - rectangle.min[axis];
    const std::int64_t end = circle.center[axis] + circle.bound - rectangle.min[axis];
    const std::int64_t extent = division.extent();
    if (end < 0 || begin > extent) return {0, 0, true};
    return {division.part(static_cast<std::uint32_t>(std::max<std::int64_t>(begin, 0))),
            division.part(static_cast<std::uint32_t>(std::min(end, extent))), false};
  }

  // Appends the objects whose estimates are within the limit, after the first `gathered` objects.
  // Returns the new number of gathered objects.
  std::size_t gather(const Circle& circle, const SearchRequest& request, std::size_t gathered) {
    if (!has_test(request)) {
      const std::size_t end = gather_if(circle, AcceptAll(), gathered);
      met_ = end - gathered;
      return end;
    }
    met_ = 0;
    return gather_if(circle, *request.test, gathered);
  }

  struct AcceptAll {};

  template <class Test>
  HWY_INLINE std::size_t gather_if(const Circle& circle, const Test& test, std::size_t gathered) {
    const Range columns = cells_within(index_.outer(), circle, 0);
    const Range rows = cells_within(index_.outer(), circle, 1);
    if (columns.is_empty || rows.is_empty) return gathered;
    for (std::size_t row = rows.first; row <= rows.last; ++row)
      for (std::size_t column = columns.first; column <= columns.last; ++column)
        gathered = gather_block(index_.block(column, row), circle, test, gathered);
    return gathered;
  }

  template <class Test>
  HWY_INLINE std::size_t gather_block(const GridBlock& block, const Circle& circle,
                                      const Test& test, std::size_t gathered) {
    if (block.count == 0) return gathered;
    const Range columns = cells_within(block.grid, circle, 0);
    const Range rows = cells_within(block.grid, circle, 1);
    if (columns.is_empty || rows.is_empty) return gathered;
    const std::uint32_t* begins = index_.cell_begins(block);
    for (std::size_t row = rows.first; row <= rows.last; ++row) {
      const std::uint32_t* cells = begins + row * block.grid.divisions[0].parts();
      gathered =
          gather_run(block, cells[columns.first], cells[columns.last + 1], circle, test, gathered);
    }
    return gathered;
  }

  template <class Test>
  HWY_INLINE std::size_t gather_run(const GridBlock& block, std::size_t begin, std::size_t end,
                                    const Circle& circle, const Test& test, std::size_t gathered) {
    constexpr bool has_test = std::is_same_v<Test, PassingTest>;
    if constexpr (has_test) met_ += end - begin;
    const Lanes d;
    const FloatLanes f;
    make_room(gathered + (end - begin) + 2 * lanes_max);
    const std::int32_t* const arrays = index_.arrays(block) - block.first;
    const std::size_t count = block.count;
    for (std::size_t i = begin; i < end; i += hn::Lanes(d)) {
      const auto gap_a = hn::Sub(hn::LoadU(d, arrays + i), hn::Set(d, circle.center[0]));
      const auto gap_b = hn::Sub(hn::LoadU(d, arrays + count + i), hn::Set(d, circle.center[1]));
      const auto gap_depth = dimensions == 2 ? hn::Zero(d)
                                             : hn::Sub(hn::LoadU(d, arrays + 2 * count + i),
                                                       hn::Set(d, circle.center[2]));
      const auto sum = estimate(gap_a, gap_b, gap_depth);
      auto near = hn::And(hn::Le(sum, hn::Set(f, circle.limit)), hn::FirstN(f, end - i));
      if constexpr (has_test) {
        near = hn::And(near, passing(i, test));
        if (hn::AllFalse(f, near)) continue;
      }
      const Packer packer(f, near);
      packer.store(f, sum, estimates_ + gathered);
      packer.store(d, gap_a, gaps_[0] + gathered);
      packer.store(d, gap_b, gaps_[1] + gathered);
      if constexpr (dimensions == 3) packer.store(d, gap_depth, gaps_[2] + gathered);
      packer.store(d, hn::LoadU(d, arrays + dimensions * count + i), gathered_slots_ + gathered);
      gathered += packer.count();
    }
    return gathered;
  }

  // Returns a mask for one vector of objects from `place` on: the objects that pass the test.
  HWY_INLINE hn::Mask<FloatLanes> passing(std::size_t place, const PassingTest& test) const {
    const Lanes d;
    const hn::RebindToUnsigned<Lanes> u;
    const FloatLanes f;
    const auto tags = hn::And(hn::LoadU(u, index_.tags() + place), hn::Set(u, test.care));
    const auto tags_pass = hn::RebindMask(f, hn::Eq(tags, hn::Set(u, test.required)));
    const auto ranks = hn::LoadU(d, index_.ranks() + place);
    return hn::And(tags_pass, hn::RebindMask(f, hn::Gt(ranks, hn::Set(d, test.least_rank - 1))));
  }

  // Returns estimates of the squared distances of a vector of objects.
  static HWY_INLINE hn::Vec<FloatLanes> estimate(hn::Vec<Lanes> gap_a, hn::Vec<Lanes> gap_b,
                                                 hn::Vec<Lanes> gap_depth) {
    const FloatLanes f;
    const auto a = hn::ConvertTo(f, gap_a);
    const auto b = hn::ConvertTo(f, gap_b);
    const auto sum = hn::MulAdd(b, b, hn::Mul(a, a));
    if constexpr (dimensions == 2) return sum;
    const auto depth = hn::ConvertTo(f, gap_depth);
    return hn::MulAdd(depth, depth, sum);
  }

  HWY_INLINE void make_room(std::size_t count) {
    if (count > room_) grow(count);
  }
  HWY_NOINLINE void grow(std::size_t count) {
    room_ = 2 * count;
    scratch_.estimates.resize(room_);
    estimates_ = scratch_.estimates.data();
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      scratch_.gaps[axis].resize(room_);
      gaps_[axis] = scratch_.gaps[axis].data();
    }
    scratch_.slots.resize(room_);
    gathered_slots_ = scratch_.slots.data();
  }

  Candidates gathered_from(std::size_t begin, std::size_t count) const {
    Candidates candidates{estimates_ + begin, {}, gathered_slots_ + begin, count};
    for (std::size_t axis = 0; axis < dimensions; ++axis)
      candidates.gaps[axis] = gaps_[axis] + begin;
    return candidates;
  }

  std::size_t drop_filtered(std::size_t count, const SearchRequest& request) {
    ranking_.start(request);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!ranking_.passes_filter(static_cast<Slot>(gathered_slots_[i]))) continue;
      estimates_[kept] = estimates_[i];
      for (std::size_t axis = 0; axis < dimensions; ++axis) gaps_[axis][kept] = gaps_[axis][i];
      gathered_slots_[kept++] = gathered_slots_[i];
    }
    return kept;
  }

  // Answers in the usual case: few objects, whose estimates are far enough apart to order them.
  // Exact distances are computed only for the k nearest. Returns false if the order is not certain,
  // or if too few objects are found.
  bool rank_by_estimates(const Candidates& candidates, const Circle& circle,
                         SearchRequest& request) {
    std::uint8_t order[few];
    const std::size_t k = needed(request);
    if (!order_by_estimates(candidates, k, order)) return false;
    std::size_t nearest = std::min(candidates.count, k);
    std::uint64_t distances_sq[few];
    bool is_in_order = true;
    for (std::size_t i = 0; i < nearest; ++i)
      distances_sq[i] = candidates.distance_sq<dimensions>(order[i]);
    for (std::size_t i = 1; i < nearest; ++i)
      is_in_order = is_in_order && distances_sq[i - 1] < distances_sq[i];
    if (!is_in_order) return false;
    while (nearest > 0 && distances_sq[nearest - 1] > circle.radius_sq) --nearest;
    if (nearest < k && !circle.is_last) return false;

    std::uint32_t found = 0;
    for (std::size_t i = 0; i < nearest; ++i) {
      const auto slot = static_cast<Slot>(candidates.slots[order[i]]);
      if (slot != request.exclude && found < request.k)
        ranking_.put(request, found++, slot, distances_sq[i]);
    }
    request.found = found;
    return true;
  }

  void rank_exactly(const Candidates& candidates, const Circle& circle) {
    const FloatLanes f;
    const float limit = limit_near(ranking_.k(), candidates, circle.limit);
    ranking_.restart(circle.radius_sq);
    ranking_.reserve(candidates.count + 1);
    for (std::size_t i = 0; i < candidates.count; i += hn::Lanes(f)) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(f, within(limit, candidates, i), bytes);
      std::uint32_t near = bytes[0] | std::uint32_t{bytes[1]} << 8;
      for (; near != 0; near &= near - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(near));
        ranking_.add(candidates.distance_sq<dimensions>(i + lane),
                     static_cast<Slot>(candidates.slots[i + lane]));
      }
    }
    ranking_.rank();
  }

  const GridIndex& index_;
  const std::size_t visits_max_;
  SearchScratch& scratch_;
  Slots slots_;
  Ranking<Slots> ranking_;
  std::size_t last_k_ = 0;
  double enough_ = 0;  // what enough() returned for last_k_
  // The number of objects that the last gather met: those in the circle or, for a request with a
  // test, those in the cells that the circle touches.
  std::size_t met_ = 0;
  std::size_t room_ = 0;
  float* estimates_ = nullptr;  // [gathered object], as are the next two; SearchScratch owns them
  std::int32_t* gaps_[3] = {};
  std::int32_t* gathered_slots_ = nullptr;
};

void search_grid_all(const GridIndex& index, const ObjectSnapshot& objects,
                     std::span<SearchRequest> requests, SearchScratch& scratch) {
  if (index.dimensions() == 2)
    answer_all(GridSearch<2>(index, objects, scratch), objects, requests);
  else
    answer_all(GridSearch<3>(index, objects, scratch), objects, requests);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(search_grid_all);

void search_grid(const GridIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(search_grid_all)(index, objects, requests, scratch);
}

}  // namespace starling::cpu
#endif
