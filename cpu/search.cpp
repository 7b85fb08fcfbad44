#include "cpu/search.hpp"

#include <algorithm>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<std::int32_t, fanout>;
using FloatLanes = hn::RebindToFloat<Lanes>;
using KeyLanes = hn::CappedTag<std::int64_t, 8>;

// The float32 estimate of a squared distance is within 2^-22 of it, relatively: a difference is
// exact in int32, its conversion, square and the sums each round by 2^-24 at most. A limit widened
// by 2^-20 therefore never drops what the exact comparison would keep.
inline float filter_limit(std::uint64_t distance_sq) {
  return static_cast<float>(distance_sq) * (1.0f + 0x1p-20f);
}

inline std::uint64_t exact_gap_sq(std::int32_t value, std::int32_t low, std::int32_t high) {
  const std::int64_t gap = std::max<std::int64_t>(
      {std::int64_t{low} - value, std::int64_t{value} - high, std::int64_t{0}});
  return static_cast<std::uint64_t>(gap * gap);
}

// One question at a time: gather candidates near the question's leaf, so that the k-th of them
// bounds the answer, then walk the tree for all that the bound lets through.
template <std::size_t dimensions>
class Search {
 public:
  Search(const SpatialIndex& index, const ObjectSnapshot& objects, SearchScratch& scratch)
      : index_(index), objects_(objects), scratch_(scratch) {
    for (std::size_t d = 0; d < dimensions; ++d)
      coordinates_[d] = index.coordinates(static_cast<int>(d));
  }

  void answer(SearchRequest& request) {
    request_ = &request;
    query_[0] = request.position.x;
    query_[1] = request.position.y;
    query_[2] = request.position.z;
    // The excluded object may hold a place among the nearest: ask for one more, then leave it out.
    k_ = request.k + (request.exclude == no_slot ? 0 : 1);
    filters_objects_ = request.filters_objects();
    count_ = 0;
    is_ranked_ = true;
    set_bound(request.distance_sq_max);
    bound_id_ = ObjectId{std::numeric_limits<std::uint64_t>::max()};
    const std::size_t room = 2 * std::size_t{k_} + rank_max;
    if (scratch_.places.size() < room) {
      scratch_.places.resize(room);
      scratch_.distances_sq.resize(room);
    }
    flush_at_ = k_ + std::max<std::size_t>(k_, rank_max / 2);
    if (index_.count() > 0 && request.k > 0) {
      seed();
      walk();
      rank();
    }
    write();
  }

 private:
  static constexpr std::size_t rank_max = 64;

  void set_bound(std::uint64_t distance_sq) {
    bound_sq_ = distance_sq;
    limit_ = filter_limit(distance_sq);
  }

  // Outwards along the curve until there are k candidates. Under a limit on distance there may
  // never be, but then the limit bounds the walk, and a few leaves are enough.
  void seed() {
    const std::size_t leaves = index_.levels()[0].count;
    seed_begin_ = seed_end_ = index_.leaf_of_cell(index_.cell(request_->position));
    std::size_t leaves_left = request_->distance_sq_max == Filter::any_distance
                                  ? leaves
                                  : 2 * ((k_ + fanout - 1) / fanout);
    while (count_ < k_ && leaves_left > 0 && (seed_begin_ > 0 || seed_end_ < leaves)) {
      if (seed_end_ < leaves) scan(seed_end_++);
      if (count_ < k_ && seed_begin_ > 0) scan(--seed_begin_);
      --leaves_left;
    }
    if (count_ >= k_) rank();
  }

  void walk() {
    const auto& levels = index_.levels();
    std::vector<std::uint64_t>& stack = scratch_.stack;
    stack.clear();
    if (levels.size() == 1) {
      if (!is_seed(0)) scan(0);
      return;
    }
    stack.push_back((levels.size() - 1) << 32);
    while (!stack.empty()) {
      const std::size_t level = stack.back() >> 32;
      const std::size_t node = stack.back() & 0xffffffffu;
      stack.pop_back();
      visit_children(levels[level - 1], level - 1, node * fanout);
    }
  }

  bool is_seed(std::size_t leaf) const { return leaf >= seed_begin_ && leaf < seed_end_; }

  void visit_children(const IndexLevel& level, std::size_t depth, std::size_t first) {
    const Lanes d;
    const FloatLanes f;
    const std::size_t last = std::min(first + fanout, level.count);
    std::uint32_t open[fanout + 16];
    std::size_t opened = 0;
    for (std::size_t i = first; i < last; i += hn::Lanes(d)) {
      auto sum = hn::Zero(f);
      for (std::size_t dim = 0; dim < dimensions; ++dim) {
        const auto q = hn::Set(d, query_[dim]);
        const auto below = hn::Sub(hn::LoadU(d, &level.min[dim][i]), q);
        const auto above = hn::Sub(q, hn::LoadU(d, &level.max[dim][i]));
        const auto gap = hn::ConvertTo(f, hn::Max(hn::Max(below, above), hn::Zero(d)));
        sum = hn::MulAdd(gap, gap, sum);
      }
      const auto near = hn::And(hn::Le(sum, hn::Set(f, limit_)), hn::FirstN(f, last - i));
      opened += hn::CompressBlendedStore(hn::Iota(d, static_cast<std::int32_t>(i)),
                                         hn::RebindMask(d, near), d,
                                         reinterpret_cast<std::int32_t*>(open + opened));
    }
    for (std::size_t i = 0; i < opened; ++i) {
      const std::size_t node = open[i];
      if (!level.min_id.empty() && !can_improve(level, node)) continue;
      if (depth > 0)
        scratch_.stack.push_back((depth << 32) | node);
      else if (!is_seed(node))
        scan(node);
    }
  }

  // Decides exactly, ids included: without it, many coincident objects would all be visited.
  bool can_improve(const IndexLevel& level, std::size_t node) const {
    std::uint64_t gap_sq = 0;
    for (std::size_t dim = 0; dim < dimensions; ++dim)
      gap_sq += exact_gap_sq(query_[dim], level.min[dim][node], level.max[dim][node]);
    return gap_sq < bound_sq_ || (gap_sq == bound_sq_ && level.min_id[node] <= bound_id_);
  }

  void scan(std::size_t leaf) {
    const Lanes d;
    const FloatLanes f;
    const std::size_t first = leaf * fanout;
    const std::size_t last = std::min(first + fanout, index_.count());
    std::uint32_t near_places[fanout + 16];
    std::size_t near_count = 0;
    for (std::size_t i = first; i < last; i += hn::Lanes(d)) {
      auto sum = hn::Zero(f);
      for (std::size_t dim = 0; dim < dimensions; ++dim) {
        const auto difference =
            hn::Sub(hn::LoadU(d, coordinates_[dim] + i), hn::Set(d, query_[dim]));
        const auto gap = hn::ConvertTo(f, difference);
        sum = hn::MulAdd(gap, gap, sum);
      }
      const auto near = hn::And(hn::Le(sum, hn::Set(f, limit_)), hn::FirstN(f, last - i));
      near_count += hn::CompressBlendedStore(
          hn::Iota(d, static_cast<std::int32_t>(i)), hn::RebindMask(d, near), d,
          reinterpret_cast<std::int32_t*>(near_places + near_count));
    }
    for (std::size_t i = 0; i < near_count; ++i) add(near_places[i]);
    if (count_ >= flush_at_) rank();
  }

  void add(std::uint32_t place) {
    std::uint64_t sum = 0;
    for (std::size_t dim = 0; dim < dimensions; ++dim) {
      const std::int64_t gap = std::int64_t{coordinates_[dim][place]} - query_[dim];
      sum += static_cast<std::uint64_t>(gap * gap);
    }
    if (sum > bound_sq_ || (filters_objects_ && !passes(index_.slots()[place]))) return;
    scratch_.distances_sq[count_] = sum;
    scratch_.places[count_] = place;
    ++count_;
    is_ranked_ = false;
  }

  bool passes(Slot slot) const {
    return request_->tags.passes(objects_.tags(slot)) &&
           objects_.time_us(slot) >= request_->time_us_min;
  }

  // Keeps the k best candidates, in order; with k of them, the last one bounds the answer.
  void rank() {
    if (!is_ranked_ && (count_ > rank_max || !rank_few())) rank_any();
    is_ranked_ = true;
    count_ = std::min<std::size_t>(count_, k_);
    if (count_ < k_) return;
    set_bound(scratch_.distances_sq[count_ - 1]);
    bound_id_ = objects_.id(index_.slots()[scratch_.places[count_ - 1]]);
  }

  // Up to 64 candidates: each one's rank is how many are smaller, counted in SIMD without a branch.
  // False, with nothing changed, where squared distances tie or exceed what a key holds.
  bool rank_few() {
    const KeyLanes d;
    const std::size_t lanes = hn::Lanes(d);
    HWY_ALIGN std::int64_t keys[rank_max + 8];
    HWY_ALIGN std::int64_t ranks[rank_max + 8];
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      all |= scratch_.distances_sq[i];
      keys[i] = static_cast<std::int64_t>((scratch_.distances_sq[i] << 6) | i);
    }
    if (all >> 57 != 0) return false;
    for (std::size_t i = count_; i < count_ + lanes; ++i)
      keys[i] = std::numeric_limits<std::int64_t>::max();
    const auto one = hn::Set(d, 1);
    for (std::size_t block = 0; block < count_; block += lanes) {
      const auto mine = hn::Load(d, keys + block);
      auto smaller = hn::Zero(d);
      for (std::size_t i = 0; i < count_; ++i)
        smaller = hn::Add(smaller, hn::IfThenElseZero(hn::Lt(hn::Set(d, keys[i]), mine), one));
      hn::Store(smaller, d, ranks + block);
    }
    std::uint64_t distances_sq[rank_max];
    std::uint32_t places[rank_max];
    for (std::size_t i = 0; i < count_; ++i) {
      distances_sq[ranks[i]] = scratch_.distances_sq[i];
      places[ranks[i]] = scratch_.places[i];
    }
    const std::size_t kept = std::min<std::size_t>(count_, k_ + 1);
    for (std::size_t i = 1; i < kept; ++i)
      if (distances_sq[i] == distances_sq[i - 1]) return false;
    std::copy_n(distances_sq, kept, scratch_.distances_sq.begin());
    std::copy_n(places, kept, scratch_.places.begin());
    return true;
  }

  void rank_any() {
    auto& candidates = scratch_.candidates;
    candidates.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const ObjectId id = objects_.id(index_.slots()[scratch_.places[i]]);
      candidates[i] = {{scratch_.distances_sq[i], id}, scratch_.places[i]};
    }
    const auto nearer = [](const auto& a, const auto& b) { return a.neighbor < b.neighbor; };
    const auto middle =
        candidates.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(k_, count_));
    if (middle != candidates.end())
      std::nth_element(candidates.begin(), middle, candidates.end(), nearer);
    std::sort(candidates.begin(), middle, nearer);
    for (std::size_t i = 0; i < static_cast<std::size_t>(middle - candidates.begin()); ++i) {
      scratch_.distances_sq[i] = candidates[i].neighbor.distance_sq;
      scratch_.places[i] = candidates[i].place;
    }
  }

  void write() {
    SearchRequest& request = *request_;
    request.found = 0;
    for (std::size_t i = 0; i < count_ && request.found < request.k; ++i) {
      const Slot slot = index_.slots()[scratch_.places[i]];
      if (slot == request.exclude) continue;
      request.neighbors[request.found] = {scratch_.distances_sq[i], objects_.id(slot)};
      if (request.slots != nullptr) request.slots[request.found] = slot;
      ++request.found;
    }
  }

  const SpatialIndex& index_;
  const ObjectSnapshot& objects_;
  SearchScratch& scratch_;
  const std::int32_t* coordinates_[dimensions];
  SearchRequest* request_ = nullptr;
  std::int32_t query_[3] = {};
  std::uint32_t k_ = 0;
  bool filters_objects_ = false;
  bool is_ranked_ = true;
  std::size_t count_ = 0;
  std::size_t flush_at_ = 0;
  std::size_t seed_begin_ = 0;
  std::size_t seed_end_ = 0;
  std::uint64_t bound_sq_ = 0;
  ObjectId bound_id_{};
  float limit_ = 0;
};

void search_all(const SpatialIndex& index, const ObjectSnapshot& objects,
                std::span<SearchRequest> requests, SearchScratch& scratch) {
  if (index.dimensions() == 2) {
    Search<2> search(index, objects, scratch);
    for (SearchRequest& request : requests) search.answer(request);
  } else {
    Search<3> search(index, objects, scratch);
    for (SearchRequest& request : requests) search.answer(request);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(search_all);

void search(const SpatialIndex& index, const ObjectSnapshot& objects,
            std::span<SearchRequest> requests, SearchScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(search_all)(index, objects, requests, scratch);
}

std::string_view simd_target() {
  const std::int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best
}

}  // namespace starling::cpu
#endif
