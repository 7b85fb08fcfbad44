// SPDX-License-Identifier: Apache-2.0
// The candidates of one search with their exact distances, and the ranking of the candidates. Only
// the searches in the grid and in the tree include this file, once per instruction set.
#if defined(STARLING_CPU_RANKING_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_RANKING_INL_HPP
#undef STARLING_CPU_RANKING_INL_HPP
#else
#define STARLING_CPU_RANKING_INL_HPP
#endif

#include <algorithm>
#include <limits>

#include <hwy/highway.h>

#include "starling/cpu/points/search/search.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t lanes_max = 16;
using Lanes = hn::CappedTag<std::int32_t, lanes_max>;
using FloatLanes = hn::RebindToFloat<Lanes>;
using KeyLanes = hn::CappedTag<std::int64_t, 8>;

/// Up to this many candidates are ordered by counting: the rank of a candidate is the number of
/// candidates with smaller distances.
inline constexpr std::size_t few = 64;

// A float32 estimate of a squared distance has a relative error of at most 5 * 2^-24. The
// difference of two coordinates is exact in int32. Its conversion to float32 rounds by at most
// 2^-24, which counts twice after squaring. Up to three operations on the squares round by at most
// 2^-24 each. A limit widened by 2^-20 allows for more than twice this error, so it never drops a
// candidate that the exact comparison keeps.
inline float widened(float limit) {
  return limit * (1.0f + 0x1p-20f);
}
inline float filter_limit(std::uint64_t distance_sq) {
  return widened(static_cast<float>(distance_sq));
}

template <class Index>
class Ranking {
 public:
  Ranking(const Index& index, const ObjectSnapshot& objects, SearchScratch& scratch)
      : index_(index), objects_(objects), scratch_(scratch) {}

  void start(const SearchRequest& request) {
    request_ = &request;
    // The excluded object may be among the nearest: search for one more, and skip it in `write`.
    k_ = request.k + (request.exclude == no_slot ? 0u : 1u);
    filters_objects_ = request.filters_objects();
    restart(request.distance_sq_max);
  }

  void restart(std::uint64_t bound_sq) {
    count_ = 0;
    is_ranked_ = true;
    is_full_ = false;
    bound_sq_ = bound_sq;
  }

  std::size_t k() const { return k_; }
  std::size_t count() const { return count_; }
  std::uint64_t bound_sq() const { return bound_sq_; }
  bool filters_objects() const { return filters_objects_; }

  void reserve(std::size_t candidates) {
    if (scratch_.places.size() >= candidates) return;
    scratch_.places.resize(candidates);
    scratch_.distances_sq.resize(candidates);
  }

  /// Adds a candidate. The caller must have reserved room.
  void add(std::uint64_t distance_sq, std::uint32_t place) {
    if (distance_sq > bound_sq_) return;
    scratch_.distances_sq[count_] = distance_sq;
    scratch_.places[count_] = place;
    ++count_;
    is_ranked_ = false;
  }

  bool passes_filter(std::uint32_t place) const {
    const Slot slot = index_.slot(place);
    return request_->tags.passes(objects_.tags(slot)) &&
           objects_.time_us(slot) >= request_->time_us_min;
  }

  /// Keeps the k best candidates, in order. If there are k, the distance of the last one becomes
  /// the bound.
  void rank() {
    if (!is_ranked_ && (count_ > few || !rank_few())) rank_any();
    is_ranked_ = true;
    count_ = std::min(count_, k_);
    if (count_ < k_) return;
    is_full_ = true;
    bound_sq_ = scratch_.distances_sq[k_ - 1];
  }

  /// Returns true if an object with this id, at exactly the distance of the bound, can be among the
  /// k best.
  bool takes_tied(ObjectId id) const { return !is_full_ || id <= id_of(scratch_.places[k_ - 1]); }

  /// Writes slots and distances. Ids are scattered in memory, so `write` only prefetches them.
  /// answer_all reads them later.
  void write(SearchRequest& request) const {
    request.found = 0;
    for (std::size_t i = 0; i < count_ && request.found < request.k; ++i) {
      const Slot slot = index_.slot(scratch_.places[i]);
      if (slot != request.exclude) put(request, request.found++, slot, scratch_.distances_sq[i]);
    }
  }
  void put(SearchRequest& request, std::uint32_t i, Slot slot, std::uint64_t distance_sq) const {
    objects_.prefetch_id(slot);
    request.neighbors[i].key = RankKey{distance_sq};
    request.slots[i] = slot;
  }

 private:
  ObjectId id_of(std::uint32_t place) const { return objects_.id(index_.slot(place)); }

  // Orders at most `few` candidates. The rank of a candidate is the number of smaller candidates,
  // counted with SIMD and without branches. Returns false and changes nothing if two of the k + 1
  // smallest distances are equal, or if a squared distance needs more than 57 bits.
  bool rank_few() {
    const KeyLanes d;
    const std::size_t lanes = hn::Lanes(d);
    HWY_ALIGN std::int64_t keys[few + 8];
    HWY_ALIGN std::int64_t ranks[few + 8];
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
    std::uint64_t distances_sq[few];
    std::uint32_t places[few];
    for (std::size_t i = 0; i < count_; ++i) {
      distances_sq[ranks[i]] = scratch_.distances_sq[i];
      places[ranks[i]] = scratch_.places[i];
    }
    const std::size_t kept = std::min(count_, k_ + 1);
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
      const std::uint32_t place = scratch_.places[i];
      candidates[i] = {{RankKey{scratch_.distances_sq[i]}, id_of(place)}, place};
    }
    const auto nearer = [](const auto& a, const auto& b) { return a.neighbor < b.neighbor; };
    const std::size_t kept = std::min(count_, k_);
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
    if (kept < count_) std::nth_element(candidates.begin(), middle, candidates.end(), nearer);
    std::sort(candidates.begin(), middle, nearer);
    for (std::size_t i = 0; i < kept; ++i) {
      scratch_.distances_sq[i] = to_number(candidates[i].neighbor.key);
      scratch_.places[i] = candidates[i].place;
    }
  }

  const Index& index_;
  const ObjectSnapshot& objects_;
  SearchScratch& scratch_;
  const SearchRequest* request_ = nullptr;
  std::size_t k_ = 0;
  std::size_t count_ = 0;
  std::uint64_t bound_sq_ = 0;
  bool filters_objects_ = false;
  bool is_ranked_ = true;
  bool is_full_ = false;  // k candidates are ranked, and the last one is the bound
};

inline constexpr std::size_t requests_at_once = 32;

// Calls `search` for a few requests at a time, then fills in the ids, which have been prefetched.
template <class Search>
void answer_all(Search search, const ObjectSnapshot& objects, std::span<SearchRequest> requests) {
  while (!requests.empty()) {
    const auto some = requests.first(std::min(requests.size(), requests_at_once));
    search.answer(some);
    for (SearchRequest& request : some)
      for (std::uint32_t i = 0; i < request.found; ++i)
        request.neighbors[i].object = objects.id(request.slots[i]);
    requests = requests.subspan(some.size());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
