// Exact k-NN over a GridIndex: all objects within a radius that should hold a few more than k, by
// the density around; were there fewer, a larger one. Then the nearest by estimate, ranked exactly.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "cpu/search.hpp"

// Compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction
// set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/ranking-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

static_assert(GridIndex::padding >= lanes_max);

template <std::size_t dimensions>
class GridSearch {
 public:
  GridSearch(const GridIndex& index, const ObjectSnapshot& objects, SearchScratch& scratch)
      : index_(index), scratch_(scratch), ranking_(index, objects, scratch) {
    for (std::size_t axis = 0; axis < dimensions; ++axis)
      coordinates_[axis] = index.coordinates(axis);
    make_room(2 * lanes_max);
  }

  void answer(SearchRequest& request) {
    request.found = 0;
    if (request.k == 0) return;
    const std::int32_t at[3] = {request.position.x, request.position.y, request.position.z};
    for (std::size_t axis = 0; axis < 3; ++axis) query_[axis] = at[index_.axes()[axis]];
    ranking_.start(request);
    const double enough = wanted();
    // The radius is `gap` to where objects begin (0 until nothing is found) plus `reach`.
    double gap = 0;
    bool has_gap = false;
    double reach_sq = first_reach_sq(enough);
    for (;;) {
      const double radius = gap + std::sqrt(reach_sq);
      const bool is_last = set_radius(radius * radius, request.distance_sq_max);
      gather();
      if (gathered_ == 0 && !is_last && !has_gap) {
        has_gap = true;
        std::tie(gap, reach_sq) = nearest_block(enough);
        continue;
      }
      if (ranking_.filters_objects()) drop_filtered();
      if (gathered_ >= ranking_.k() || is_last) {
        if (!rank_by_estimates()) {
          cut();
          rank_exactly();
        }
        if (ranking_.count() >= ranking_.k() || is_last) break;
      }
      reach_sq *= std::clamp(enough / (static_cast<double>(gathered_) + 0.5), 2.0, 16.0);
    }
    ranking_.write(request);
  }

 private:
  static constexpr std::size_t few = Ranking<GridIndex>::few;

  // So many that a circle expected to hold them has k most of the time.
  double wanted() const {
    const auto k = static_cast<double>(ranking_.k());
    return k + 1.5 * std::sqrt(k) + 1;
  }

  double first_reach_sq(double enough) const {
    const GridIndex::Outer& outer = index_.outer();
    const auto block_at = [&](std::size_t axis) {
      return static_cast<std::size_t>(
          std::clamp<std::int64_t>(std::int64_t{query_[axis]} - outer.origin[axis], 0,
                                   outer.extent[axis]) >>
          outer.shift);
    };
    return enough * double{index_.block(block_at(0), block_at(1)).radius_sq_per_object};
  }

  // For a query in the void: how far it is to the nearest block's objects, and the square of how
  // far to reach in among them.
  std::pair<double, double> nearest_block(double enough) const {
    double least_sq = std::numeric_limits<double>::infinity();
    double reach_sq = 0;
    for (const GridBlock& block : index_.blocks()) {
      if (block.count == 0) continue;
      double gap_sq = 0;
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t offset = std::int64_t{query_[axis]} - block.min[axis];
        const auto gap = static_cast<double>(
            std::max({-offset, offset - std::int64_t{block.extent[axis]}, std::int64_t{0}}));
        gap_sq += gap * gap;
      }
      if (gap_sq >= least_sq) continue;
      least_sq = gap_sq;
      reach_sq = enough * double{block.radius_sq_per_object};
    }
    return {std::sqrt(least_sq), reach_sq};
  }

  // True if no larger radius can find more.
  bool set_radius(double radius_sq, std::uint64_t distance_sq_max) {
    constexpr double farthest_sq = 0x1p+64;  // beyond any two points of the lattice
    const bool is_last =
        !(radius_sq < static_cast<double>(distance_sq_max)) || !(radius_sq < farthest_sq * 0.99);
    radius_sq_ = is_last ? distance_sq_max : static_cast<std::uint64_t>(radius_sq);
    radius_ = static_cast<std::int64_t>(std::sqrt(static_cast<double>(radius_sq_))) + 2;
    limit_ = filter_limit(radius_sq_);
    return is_last;
  }

  struct Range {
    std::size_t first;
    std::size_t last;
    bool is_empty;
  };

  // The cells of width 2^shift from `low` on, `extent` wide, that the radius around the query
  // meets.
  HWY_INLINE Range cells_within(std::size_t axis, std::int32_t low, std::uint32_t extent,
                                std::uint32_t shift) const {
    const std::int64_t begin = query_[axis] - radius_ - low;
    const std::int64_t end = query_[axis] + radius_ - low;
    if (end < 0 || begin > std::int64_t{extent}) return {0, 0, true};
    return {static_cast<std::size_t>(std::max<std::int64_t>(begin, 0)) >> shift,
            static_cast<std::size_t>(std::min<std::int64_t>(end, extent)) >> shift, false};
  }

  void gather() {
    gathered_ = 0;
    const GridIndex::Outer& outer = index_.outer();
    const Range columns = cells_within(0, outer.origin[0], outer.extent[0], outer.shift);
    const Range rows = cells_within(1, outer.origin[1], outer.extent[1], outer.shift);
    if (columns.is_empty || rows.is_empty) return;
    for (std::size_t row = rows.first; row <= rows.last; ++row)
      for (std::size_t column = columns.first; column <= columns.last; ++column)
        gather_block(index_.block(column, row));
  }

  void gather_block(const GridBlock& block) {
    if (block.count == 0) return;
    const Range columns = cells_within(0, block.min[0], block.extent[0], block.shift);
    const Range rows = cells_within(1, block.min[1], block.extent[1], block.shift);
    if (columns.is_empty || rows.is_empty) return;
    const std::uint32_t* begins = index_.cell_begins(block);
    for (std::size_t row = rows.first; row <= rows.last; ++row) {
      const std::uint32_t* cells = begins + row * block.columns;
      gather_run(cells[columns.first], cells[columns.last + 1]);
    }
  }

  // Notes the objects in places [begin, end) whose estimates are within the limit.
  HWY_INLINE void gather_run(std::size_t begin, std::size_t end) {
    const Lanes d;
    const FloatLanes f;
    make_room(gathered_ + (end - begin) + 2 * lanes_max);
    for (std::size_t i = begin; i < end; i += hn::Lanes(d)) {
      auto sum = hn::Zero(f);
      for (std::size_t axis = 0; axis < dimensions; ++axis) {
        const auto difference =
            hn::Sub(hn::LoadU(d, coordinates_[axis] + i), hn::Set(d, query_[axis]));
        const auto gap = hn::ConvertTo(f, difference);
        sum = hn::MulAdd(gap, gap, sum);
      }
      const auto near = hn::And(hn::Le(sum, hn::Set(f, limit_)), hn::FirstN(f, end - i));
      const auto places = hn::Add(first_places_, hn::Set(d, static_cast<std::int32_t>(i)));
      hn::CompressBlendedStore(places, hn::RebindMask(d, near), d, places_ + gathered_);
      gathered_ += hn::CompressBlendedStore(sum, near, f, estimates_ + gathered_);
    }
  }

  void make_room(std::size_t count) {
    if (count <= room_) return;
    room_ = 2 * count;
    scratch_.estimates.resize(room_);
    scratch_.gathered.resize(room_);
    estimates_ = scratch_.estimates.data();
    places_ = scratch_.gathered.data();
  }

  void drop_filtered() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < gathered_; ++i) {
      if (!ranking_.passes_filter(static_cast<std::uint32_t>(places_[i]))) continue;
      places_[kept] = places_[i];
      estimates_[kept++] = estimates_[i];
    }
    gathered_ = kept;
  }

  std::size_t count_within(float limit) const {
    const FloatLanes f;
    std::size_t count = 0;
    for (std::size_t i = 0; i < gathered_; i += hn::Lanes(f))
      count += hn::CountTrue(f, hn::And(hn::Le(hn::LoadU(f, estimates_ + i), hn::Set(f, limit)),
                                        hn::FirstN(f, gathered_ - i)));
    return count;
  }

  // Lowers the limit towards the k-th estimate. On a plane the count within a distance grows with
  // its square, so that interpolation comes close in two or three steps.
  void cut() {
    constexpr int steps_max = 5;
    const std::size_t k = ranking_.k();
    const std::size_t slack = 4 + k / 8;
    float low = 0;
    float high = limit_;
    std::size_t count_low = 0;
    std::size_t count_high = gathered_;
    for (int step = 0; step < steps_max && count_high > k + slack; ++step) {
      const float share =
          (static_cast<float>(k - count_low) + 2.0f) / static_cast<float>(count_high - count_low);
      const float middle = low + (high - low) * share;
      if (!(middle > low && middle < high)) break;
      const std::size_t count = count_within(middle);
      (count >= k ? high : low) = middle;
      (count >= k ? count_high : count_low) = count;
    }
    // At least k objects have estimates up to `high`: the k-th distance is within it, widened.
    if (count_high >= k) limit_ = std::min(limit_, widened(high));
  }

  // The usual case, a few estimates far enough apart to put their objects in order: only the k
  // nearest are computed exactly. False where that would not be certain.
  bool rank_by_estimates() {
    const Lanes d;
    const FloatLanes f;
    const std::size_t lanes = hn::Lanes(f);
    const std::size_t k = ranking_.k();
    if (gathered_ > few) return false;
    std::fill_n(estimates_ + gathered_, lanes, std::numeric_limits<float>::max());
    HWY_ALIGN std::int32_t ranks[few + lanes_max];
    const auto one = hn::Set(d, 1);
    for (std::size_t block = 0; block < gathered_; block += lanes) {
      const auto mine = hn::LoadU(f, estimates_ + block);
      auto smaller = hn::Zero(d);
      for (std::size_t i = 0; i < gathered_; ++i) {
        const auto is_smaller = hn::RebindMask(d, hn::Lt(hn::Set(f, estimates_[i]), mine));
        smaller = hn::Add(smaller, hn::IfThenElseZero(is_smaller, one));
      }
      hn::Store(smaller, d, ranks + block);
    }
    std::size_t order[few];
    std::size_t sum = 0;
    for (std::size_t i = 0; i < gathered_; ++i) {
      order[ranks[i]] = i;
      sum += static_cast<std::size_t>(ranks[i]);
    }
    const bool has_ties = 2 * sum != gathered_ * (gathered_ - 1);
    if (has_ties) return false;
    if (gathered_ > k && !(estimates_[order[k]] > widened(estimates_[order[k - 1]]))) return false;

    ranking_.restart(radius_sq_);
    ranking_.reserve(k + 1);
    const std::size_t kept = std::min(gathered_, k);
    for (std::size_t i = 0; i < kept; ++i)
      if (!ranking_.append(place_of(order[i]), distance_sq_of(place_of(order[i])))) return false;
    return true;
  }

  std::uint32_t place_of(std::size_t candidate) const {
    return static_cast<std::uint32_t>(places_[candidate]);
  }

  std::uint64_t distance_sq_of(std::uint32_t place) const {
    std::uint64_t sum = 0;
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      const std::int64_t gap = std::int64_t{coordinates_[axis][place]} - query_[axis];
      sum += static_cast<std::uint64_t>(gap * gap);
    }
    return sum;
  }

  void rank_exactly() {
    const FloatLanes f;
    ranking_.restart(radius_sq_);
    ranking_.reserve(gathered_ + 1);
    for (std::size_t i = 0; i < gathered_; i += hn::Lanes(f)) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(f,
                        hn::And(hn::Le(hn::LoadU(f, estimates_ + i), hn::Set(f, limit_)),
                                hn::FirstN(f, gathered_ - i)),
                        bytes);
      std::uint32_t near = bytes[0] | std::uint32_t{bytes[1]} << 8;
      for (; near != 0; near &= near - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(near));
        ranking_.add(distance_sq_of(place_of(i + lane)), place_of(i + lane));
      }
    }
    ranking_.rank();
  }

  const GridIndex& index_;
  SearchScratch& scratch_;
  Ranking<GridIndex> ranking_;
  const std::int32_t* coordinates_[dimensions];
  std::int32_t query_[3] = {};
  std::uint64_t radius_sq_ = 0;
  std::int64_t radius_ = 0;  // rounded up
  float limit_ = 0;
  hn::Vec<Lanes> first_places_ = hn::Iota(Lanes(), 0);
  std::size_t gathered_ = 0;
  std::size_t room_ = 0;
  float* estimates_ = nullptr;
  std::int32_t* places_ = nullptr;
};

void search_grid_all(const GridIndex& index, const ObjectSnapshot& objects,
                     std::span<SearchRequest> requests, SearchScratch& scratch) {
  if (index.dimensions() == 2) {
    GridSearch<2> search(index, objects, scratch);
    answer_all(search, objects, requests);
  } else {
    GridSearch<3> search(index, objects, scratch);
    answer_all(search, objects, requests);
  }
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
