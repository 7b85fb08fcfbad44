// SPDX-License-Identifier: Apache-2.0
// Exact k-NN search in a TreeIndex. The search starts at a leaf near the query and climbs the tree.
// At each level it visits those siblings of the current node that may hold an object nearer than
// the k-th candidate so far. See search.hpp.

#include <algorithm>
#include <bit>

#include "starling/cpu/points/search/search.hpp"

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/points/search/tree_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/points/search/ranking-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

static_assert(fanout == lanes_max);

template <std::size_t dimensions>
class TreeSearch {
 public:
  TreeSearch(const TreeIndex& index, const ObjectSnapshot& objects, SearchScratch& scratch)
      : index_(index), visits_max_(visits_max(objects)), ranking_(index, objects, scratch) {}

  void answer(std::span<SearchRequest> requests) {
    for (SearchRequest& request : requests) answer(request);
  }

 private:
  void answer(SearchRequest& request) {
    request.found = 0;
    request.gave_up = false;
    if (request.k == 0) return;
    visits_left_ = request.filters_objects() ? visits_max_ : never_;
    query_[0] = request.position.x;
    query_[1] = request.position.y;
    query_[2] = request.position.z;
    ranking_.start(request);
    flush_at_ = ranking_.k() + std::max(ranking_.k(), few / 2);
    ranking_.reserve(flush_at_ + fanout);
    limit_ = filter_limit(ranking_.bound_sq());
    home_ = index_.leaf_near(request.position, home_);
    if (index_.is_crowded(home_) && !begins_here(home_)) home_ = descend();
    request.gave_up = !climb();
    if (request.gave_up) return;
    ranking_.rank();
    ranking_.write(request);
  }

  static constexpr std::size_t depth_max = 8;  // enough for 16^8 = 2^32 objects

  struct Visit {
    std::uint32_t depth;
    std::uint32_t node;
  };

  // Searches from the home leaf up to the root. Returns false if the search gave up.
  bool climb() {
    scan(home_);
    tighten();
    const auto& levels = index_.levels();
    std::size_t node = home_;
    for (std::size_t depth = 0; depth < levels.size(); ++depth) {
      const std::size_t first = node / fanout * fanout;
      open(depth, first, near_children(levels[depth], first) & ~(1u << (node - first)));
      while (stacked_ > 0) {
        if (visits_left_ == 0) {
          stacked_ = 0;
          return false;
        }
        const Visit next = stack_[--stacked_];
        if (!can_improve(levels[next.depth], next.node)) continue;
        if (next.depth == 0) {
          scan(next.node);
        } else {
          const std::size_t children = std::size_t{next.node} * fanout;
          open(next.depth - 1, children, near_children(levels[next.depth - 1], children));
        }
      }
      tighten();
      node = first / fanout;
    }
    return true;
  }

  // Pushes the children whose bits are set in `near`. Pushes the first child last, so that it is
  // visited first, because the first of several children with coincident objects has the smallest
  // ids.
  void open(std::size_t depth, std::size_t first, std::uint32_t near) {
    while (near != 0) {
      const auto child = static_cast<std::uint32_t>(std::bit_width(near)) - 1;
      near ^= 1u << child;
      stack_[stacked_++] = {static_cast<std::uint32_t>(depth),
                            static_cast<std::uint32_t>(first) + child};
    }
  }

  // Returns true if the leaf's first object is at the query.
  bool begins_here(std::size_t leaf) const {
    const Line* lines = index_.leaf(leaf);
    for (std::size_t dim = 0; dim < dimensions; ++dim)
      if (lines[dim].lane[0] != query_[dim]) return false;
    return true;
  }

  // Goes down from the root, always to the child whose box is nearest, and returns the leaf. Takes
  // the first of several that are as near, because it has the smallest ids of coincident objects.
  std::size_t descend() const {
    const auto& levels = index_.levels();
    std::size_t node = 0;
    for (std::size_t depth = levels.size() - 1; depth-- > 0;) {
      const std::size_t first = node * fanout;
      const std::size_t count = std::min(fanout, levels[depth].count - first);
      HWY_ALIGN float gaps_sq[fanout];
      for (std::size_t i = 0; i < fanout; i += hn::Lanes(FloatLanes()))
        hn::Store(squared(i, box_gap(levels[depth], first)), FloatLanes(), gaps_sq + i);
      node = first + static_cast<std::size_t>(std::min_element(gaps_sq, gaps_sq + count) - gaps_sq);
    }
    return node;
  }

  // Returns the estimates of the squared distances of one vector of boxes or objects from lane `i`
  // on.
  template <class Gap>
  HWY_INLINE hn::Vec<FloatLanes> squared(std::size_t i, const Gap& gap_at) const {
    const FloatLanes f;
    auto sum = hn::Zero(f);
    for (std::size_t dim = 0; dim < dimensions; ++dim) {
      const auto gap = hn::ConvertTo(f, gap_at(Lanes(), dim, i));
      sum = hn::MulAdd(gap, gap, sum);
    }
    return sum;
  }

  // Returns a mask: bit i is set if the i-th of 16 boxes or objects may be within the bound. Only
  // the first `count` of them exist.
  template <class Gap>
  HWY_INLINE std::uint32_t near_mask(std::size_t count, const Gap& gap_at) const {
    const FloatLanes f;
    std::uint32_t near = 0;
    for (std::size_t i = 0; i < fanout; i += hn::Lanes(f)) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(f, hn::Le(squared(i, gap_at), hn::Set(f, limit_)), bytes);
      near |= (bytes[0] | std::uint32_t{bytes[1]} << 8) << i;
    }
    return count < fanout ? near & ((1u << count) - 1) : near;
  }

  std::uint32_t near_children(const IndexLevel& level, std::size_t first) const {
    return near_mask(level.count - first, box_gap(level, first));
  }

  // Returns a function of the gaps between the query and 16 boxes from node `first` on.
  HWY_INLINE auto box_gap(const IndexLevel& level, std::size_t first) const {
    const Line* group = &level.groups[first / fanout * 2 * dimensions];
    return [this, group](auto d, std::size_t dim, std::size_t i) HWY_ATTR {
      const auto q = hn::Set(d, query_[dim]);
      const auto below = hn::Sub(hn::Load(d, group[2 * dim].lane + i), q);
      const auto above = hn::Sub(q, hn::Load(d, group[2 * dim + 1].lane + i));
      return hn::Max(hn::Max(below, above), hn::Zero(d));
    };
  }

  // Returns true if the node can hold an object that improves the list. If the level has nodes
  // whose objects are all at one point, compares exact distances, and ids at equal distances.
  // Without this test, the search would visit all nodes of coincident objects. On other levels
  // returns true.
  bool can_improve(const IndexLevel& level, std::size_t node) {
    if (level.min_id.empty()) return true;
    if (!ranking_.is_full()) tighten();  // from then on `scan` does, each time that many were added
    const Line* group = &level.groups[node / fanout * 2 * dimensions];
    std::uint64_t gap_sq = 0;
    for (std::size_t dim = 0; dim < dimensions; ++dim) {
      const std::int64_t below = std::int64_t{group[2 * dim].lane[node % fanout]} - query_[dim];
      const std::int64_t above = std::int64_t{query_[dim]} - group[2 * dim + 1].lane[node % fanout];
      const std::int64_t gap = std::max({below, above, std::int64_t{0}});
      gap_sq += static_cast<std::uint64_t>(gap * gap);
    }
    if (gap_sq != ranking_.bound_sq()) return gap_sq < ranking_.bound_sq();
    return ranking_.takes_tied(level.min_id[node]);
  }

  void scan(std::size_t leaf) {
    visits_left_ -= std::min(visits_left_, fanout);
    const Line* lines = index_.leaf(leaf);
    const std::size_t first = leaf * fanout;
    std::uint32_t near =
        near_mask(index_.count() - first, [&](auto d, std::size_t dim, std::size_t i) HWY_ATTR {
          return hn::Sub(hn::Load(d, lines[dim].lane + i), hn::Set(d, query_[dim]));
        });
    for (; near != 0; near &= near - 1) add(lines, first, std::countr_zero(near));
    if (ranking_.count() >= flush_at_) tighten();
  }

  void add(const Line* lines, std::size_t first, int lane) {
    const auto place = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(lane);
    std::uint64_t sum = 0;
    for (std::size_t dim = 0; dim < dimensions; ++dim) {
      const std::int64_t gap = std::int64_t{lines[dim].lane[lane]} - query_[dim];
      sum += static_cast<std::uint64_t>(gap * gap);
    }
    if (!ranking_.filters_objects() || ranking_.passes_filter(place)) ranking_.add(sum, place);
  }

  void tighten() {
    ranking_.tighten();
    limit_ = filter_limit(ranking_.bound_sq());
  }

  // Larger than the number of objects that any search visits.
  static constexpr std::size_t never_ = std::size_t{1} << 62;

  const TreeIndex& index_;
  const std::size_t visits_max_;
  std::size_t visits_left_ = 0;
  Ranking<TreeIndex> ranking_;
  std::int32_t query_[3] = {};
  float limit_ = 0;
  std::size_t flush_at_ = 0;
  std::size_t home_ = 0;
  Visit stack_[depth_max * fanout];
  std::size_t stacked_ = 0;
};

void search_tree_all(const TreeIndex& index, const ObjectSnapshot& objects,
                     std::span<SearchRequest> requests, SearchScratch& scratch) {
  if (index.dimensions() == 2)
    answer_all(TreeSearch<2>(index, objects, scratch), objects, requests);
  else
    answer_all(TreeSearch<3>(index, objects, scratch), objects, requests);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(search_tree_all);

void search_tree(const TreeIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(search_tree_all)(index, objects, requests, scratch);
}

}  // namespace starling::cpu
#endif
