// SPDX-License-Identifier: Apache-2.0
// How a search is cut into pieces for threads and caches: blocks of queries and parts of panels.
// PanelSearch and FilteredSearch use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace starling::cpu {

struct PanelRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// All panels of a corpus in parts of equal size; the last part may be smaller.
struct PanelParts {
  /// The bytes of a part's panels: half the second-level cache of today's server cores. All queries
  /// of a block read the panels from this cache.
  static constexpr std::size_t bytes_each = std::size_t{1} << 19;

  std::size_t panels = 0;
  std::size_t panels_each = 1;

  static PanelParts of(std::size_t panels, std::size_t panel_bytes) {
    return {panels, std::max<std::size_t>(1, bytes_each / panel_bytes)};
  }

  std::size_t count() const { return (panels + panels_each - 1) / panels_each; }
  PanelRange part(std::size_t number) const {
    return {number * panels_each, std::min((number + 1) * panels_each, panels)};
  }
};

struct QueryBlocks {
  static constexpr std::uint32_t queries_max = 128;
  static constexpr std::uint32_t queries_min = 16;
  static constexpr std::size_t per_thread = 4;  // several, because threads may differ in speed

  std::uint32_t queries = 0;
  std::uint32_t queries_each = 1;

  /// Makes the blocks small enough that each thread gets several, but not below queries_min.
  static QueryBlocks of(std::uint32_t queries, unsigned threads) {
    const auto shares = static_cast<std::uint32_t>(per_thread * threads);
    return {queries, std::clamp(queries / shares, queries_min, queries_max)};
  }

  std::size_t count() const { return (std::size_t{queries} + queries_each - 1) / queries_each; }
  std::uint32_t first(std::size_t block) const {
    return static_cast<std::uint32_t>(block * queries_each);
  }
  std::uint32_t count_of(std::size_t block) const {
    return std::min(queries_each, queries - first(block));
  }
  /// Whether threads should take blocks of queries and scan the whole corpus for each. Otherwise
  /// they should take parts of the corpus for the same queries.
  bool are_enough_for(const PanelParts& parts) const {
    return queries_each == queries_max || count() >= parts.count();
  }
};

}  // namespace starling::cpu
