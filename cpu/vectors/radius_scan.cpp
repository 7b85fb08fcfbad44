// SPDX-License-Identifier: Apache-2.0
// Implements RadiusScan. Threads take blocks of queries. If there are few blocks, several threads
// search the same block, each in another range of panels.
#include "starling/cpu/vectors/radius_scan.hpp"

#include <algorithm>
#include <limits>

#include "starling/cpu/simd/key_sort.hpp"
#include "starling/cpu/vectors/scan.hpp"

namespace starling::cpu {
namespace {

// The lists of the queries under way should together have about entries_wanted entries of 20 bytes.
// Above entries_max the scan ends and begins again with fewer queries.
constexpr std::uint64_t entries_wanted = std::uint64_t{1} << 22;
constexpr std::uint64_t entries_max = 2 * entries_wanted;
// The scan begins with few queries, because the length of their lists is unknown. It then takes at
// most growth_max times as many queries as before.
constexpr std::uint32_t growth_max = 8;
// A thread polls after this many matches that it counts or copies.
constexpr std::size_t matches_a_poll = std::size_t{1} << 14;
constexpr std::size_t tasks_per_thread = 4;

float score_max_of(Metric metric, double radius) {
  if (radius == std::numeric_limits<double>::infinity()) return std::numeric_limits<float>::max();
  return score_of(key_within(metric, radius));
}

}  // namespace

void RadiusScan::start(Metric metric, const RadiusSearch& search) {
  metric_ = metric;
  search_ = &search;
  score_max_ = score_max_of(metric, search.radius);
  first_ = count_ = 0;
  entries_ = 0;
}

bool RadiusScan::next_queries() {
  const std::uint32_t queries = search_->queries.rows();
  const std::uint32_t few = QueryBlocks::queries_min * pool_.threads();
  std::uint32_t wanted = few;
  const bool is_again = is_too_long();
  if (is_again) {
    wanted = std::max<std::uint32_t>(count_ / growth_max, QueryTiles::tile_queries);
    found_.clear();
  } else if (count_ > 0) {
    const std::uint64_t length = neighbors_.size() / count_ + 1;
    const std::uint32_t many = QueryBlocks::queries_max * QueryBlocks::per_thread * pool_.threads();
    const std::uint64_t limit = std::min<std::uint64_t>(many, std::uint64_t{count_} * growth_max);
    wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        entries_wanted / length, QueryTiles::tile_queries, std::max<std::uint64_t>(limit, few)));
  }
  if (!is_again) first_ += count_;
  count_ = std::min(wanted, queries - first_);
  blocks_ = QueryBlocks::of(count_, pool_.threads());
  ranges_ = 0;
  entries_ = 0;
  if (count_ > 0) return true;
  found_ = {};
  offsets_ = {};
  neighbors_ = {};
  return false;
}

bool RadiusScan::is_too_long() const {
  return entries_ > entries_max && count_ > QueryTiles::tile_queries;
}

std::size_t RadiusScan::add_ranges(std::size_t count, VectorRow first_row) {
  const std::size_t begin = ranges_;
  ranges_ += count;
  if (found_.size() < ranges_ * blocks_.count()) found_.resize(ranges_ * blocks_.count());
  for (std::size_t range = begin; range < ranges_; ++range)
    for (std::size_t block = 0; block < blocks_.count(); ++block) {
      Found& place = found(range, block);
      place.first_row = first_row;
      place.rows.matches().clear();
      place.rows.start(blocks_.count_of(block), score_max_);
    }
  return begin;
}

void RadiusScan::add_panels(const VectorPanels& panels, VectorRow first_row) {
  if (panels.panels() == 0) return;
  const auto parts = PanelParts::of(panels.panels(), panels.panel_bytes());
  const std::size_t tasks = tasks_per_thread * pool_.threads();
  const std::size_t ranges = std::clamp<std::size_t>(tasks / blocks_.count(), 1, parts.count());
  const std::size_t parts_each = (parts.count() + ranges - 1) / ranges;
  const std::size_t begin = add_ranges(ranges, first_row);
  is_by_row_ = true;
  pool_.run(ranges * blocks_.count(), [&](std::size_t task, unsigned thread) {
    const std::size_t block = task % blocks_.count();
    const std::size_t range = task / blocks_.count();
    QueryTiles& tiles = scratch_[thread].tiles;
    tiles.pack(search_->queries, first_ + blocks_.first(block), blocks_.count_of(block));
    const std::size_t end = std::min(parts.count(), (range + 1) * parts_each);
    RowsWithin& rows = found(begin + range, block).rows;
    for (std::size_t part = range * parts_each; part < end && !is_too_long(); ++part) {
      pool_.poll(thread);
      const std::size_t before = rows.matches().size();
      scan({metric_, panels, parts.part(part), tiles}, rows);
      entries_ += rows.matches().size() - before;
    }
  });
}

void RadiusScan::add_tree(const RowTree& tree) {
  const std::size_t range = add_ranges(1, 0);
  is_by_row_ = false;
  pool_.run(blocks_.count(), [&](std::size_t block, unsigned thread) {
    std::vector<VectorMatch>& matches = found(range, block).rows.matches();
    for (std::uint32_t query = 0; query < blocks_.count_of(block) && !is_too_long(); ++query) {
      std::size_t counted = matches.size();
      const auto goes_on = [&] {
        pool_.poll(thread);
        entries_ += matches.size() - counted;
        counted = matches.size();
        return !is_too_long();
      };
      tree.within(search_->queries, first_ + blocks_.first(block), query, score_max_, goes_on,
                  matches);
      entries_ += matches.size() - counted;
    }
  });
}

template <class Act>
void RadiusScan::for_matches(std::size_t block, unsigned thread, const Act& act) {
  const std::uint32_t first = blocks_.first(block);
  const std::uint64_t first_self = search_->first_self == no_row
                                       ? std::uint64_t{no_row} + 1
                                       : std::uint64_t{search_->first_self} + first_;
  for (std::size_t range = 0; range < ranges_; ++range) {
    Found& place = found(range, block);
    const std::span<const VectorMatch> matches = place.rows.matches();
    for (std::size_t begin = 0; begin < matches.size(); begin += matches_a_poll) {
      pool_.poll(thread);
      const std::size_t count = std::min(matches_a_poll, matches.size() - begin);
      for (const VectorMatch& match : matches.subspan(begin, count)) {
        const std::uint32_t query = first + match.query;
        const VectorRow row = match.row.row + place.first_row;
        if (row != first_self + query) act(query, VectorNeighbor{match.row.score, row});
      }
    }
  }
}

RadiusLists RadiusScan::gather() {
  offsets_.assign(std::size_t{count_} + 1, 0);
  pool_.run(blocks_.count(), [&](std::size_t block, unsigned thread) {
    for_matches(block, thread, [&](std::uint32_t query, VectorNeighbor) { ++offsets_[query + 1]; });
  });
  for (std::uint32_t query = 0; query < count_; ++query) offsets_[query + 1] += offsets_[query];
  neighbors_.resize(offsets_[count_]);
  const bool is_in_order = search_->order == ListOrder::by_row && is_by_row_;
  pool_.run(blocks_.count(), [&](std::size_t block, unsigned thread) {
    const std::uint32_t first = blocks_.first(block);
    const std::uint32_t count = blocks_.count_of(block);
    std::vector<std::uint64_t>& next = scratch_[thread].keys;
    next.assign(offsets_.begin() + first, offsets_.begin() + first + count);
    for_matches(block, thread, [&](std::uint32_t query, VectorNeighbor neighbor) {
      neighbors_[next[query - first]++] = neighbor;
    });
    if (is_in_order) return;
    for (std::uint32_t query = first; query < first + count; ++query) {
      pool_.poll(thread);
      sort(std::span(neighbors_).subspan(offsets_[query], offsets_[query + 1] - offsets_[query]),
           scratch_[thread].keys);
    }
  });
  return {offsets_, neighbors_};
}

void RadiusScan::sort(std::span<VectorNeighbor> list, std::vector<std::uint64_t>& keys) const {
  const bool is_by_row = search_->order == ListOrder::by_row;
  keys.clear();
  for (const VectorNeighbor& neighbor : list) {
    const std::uint64_t score = ordered_of(neighbor.score);
    const std::uint64_t row = neighbor.row;
    keys.push_back(is_by_row ? row << 32 | score : score << 32 | row);
  }
  sort_keys(keys);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto high = static_cast<std::uint32_t>(keys[i] >> 32);
    const auto low = static_cast<std::uint32_t>(keys[i]);
    list[i] = is_by_row ? VectorNeighbor{score_of_ordered(low), high}
                        : VectorNeighbor{score_of_ordered(high), low};
  }
}

}  // namespace starling::cpu
