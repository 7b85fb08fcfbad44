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
#include "starling/cpu/simd/key_sort.hpp"

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

/// Up to this many candidates are sorted by distance and id at once. More are sorted by distance
/// with SIMD first, and then only the ties by id.
inline constexpr std::size_t several = 128;

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
    worst_ = unknown;
    bound_sq_ = bound_sq;
  }

  std::size_t k() const { return k_; }
  std::size_t count() const { return count_; }
  std::uint64_t bound_sq() const { return bound_sq_; }
  /// Returns true if the bound is the distance of a candidate.
  bool is_full() const { return is_full_; }
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
    worst_ = scratch_.places[k_ - 1];
  }

  /// If there are k candidates, makes the k-th smallest distance the bound, and drops those beyond
  /// it. Takes a small part of the time of `rank`, because it neither sorts nor reads ids.
  void tighten() {
    if (count_ < k_) return;
    if (count_ <= several) return rank();
    if (is_full_ && count_ == k_) return;  // none was added
    const std::uint64_t bound_before_sq = bound_sq_;
    narrow();
    if (!is_full_ || bound_sq_ < bound_before_sq) worst_ = unknown;
    is_full_ = true;
    if (count_ > k_ + k_ / 2) rank();  // ids decide among many at the bound
  }

  /// Returns true if an object with this id, at exactly the distance of the bound, can be among the
  /// k best.
  bool takes_tied(ObjectId id) const { return worst_ == unknown || id <= id_of(worst_); }

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

  // Makes the k-th smallest distance the bound, and keeps the candidates up to it, in any order.
  HWY_NOINLINE void narrow() {
    auto& selected = scratch_.selected;
    selected.assign(scratch_.distances_sq.begin(),
                    scratch_.distances_sq.begin() + static_cast<std::ptrdiff_t>(count_));
    const auto last = selected.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(selected.begin(), last, selected.end());
    bound_sq_ = *last;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      scratch_.distances_sq[kept] = scratch_.distances_sq[i];
      scratch_.places[kept] = scratch_.places[i];
      kept += scratch_.distances_sq[i] <= bound_sq_ ? 1u : 0u;
    }
    count_ = kept;
    is_ranked_ = false;
  }

  void rank_any() {
    if (count_ > several)
      rank_many();
    else
      rank_several();
  }

  HWY_NOINLINE void rank_several() {
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

  HWY_NOINLINE void rank_many() {
    if (count_ > k_) narrow();
    order_by(std::span(scratch_.places).first(count_),
             [&](std::size_t i) { return scratch_.distances_sq[i]; });
    for (std::size_t i = 0; i < count_; ++i) scratch_.distances_sq[i] = scratch_.keys[i].hi;
    for (std::size_t begin = 0; begin < count_;) {
      std::size_t end = begin + 1;
      while (end < count_ && scratch_.distances_sq[end] == scratch_.distances_sq[begin]) ++end;
      const auto tied = std::span(scratch_.places).subspan(begin, end - begin);
      if (tied.size() > 1) order_by(tied, [&](std::size_t i) { return to_number(id_of(tied[i])); });
      begin = end;
    }
  }

  // Sorts places by the key of each, and leaves the sorted keys in scratch_.keys.
  template <class KeyOf>
  void order_by(std::span<std::uint32_t> places, const KeyOf& key_of) {
    auto& keys = scratch_.keys;
    keys.resize(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) keys[i] = {.lo = places[i], .hi = key_of(i)};
    const auto key = [](const hwy::uint128_t& each) { return each.hi; };
    if (std::ranges::is_sorted(keys, {}, key)) return;  // often objects at one point
    sort_keys(keys);
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = static_cast<std::uint32_t>(keys[i].lo);
  }

  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

  const Index& index_;
  const ObjectSnapshot& objects_;
  SearchScratch& scratch_;
  const SearchRequest* request_ = nullptr;
  std::size_t k_ = 0;
  std::size_t count_ = 0;
  std::uint64_t bound_sq_ = 0;
  bool filters_objects_ = false;
  bool is_ranked_ = true;
  bool is_full_ = false;           // the bound is the k-th smallest distance of the candidates
  std::uint32_t worst_ = unknown;  // the place of a candidate at the bound; k have no larger id
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
