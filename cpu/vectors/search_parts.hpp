// SPDX-License-Identifier: Apache-2.0
// Cuts a search into pieces for threads and caches: the queries into blocks, the panels into parts.
// PanelSearch and FilteredSearch use these pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace starling::cpu {

struct PanelRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// All panels of a corpus, cut into parts of equal size. Only the last part may be smaller.
struct PanelParts {
  /// The size of a part in bytes. It is half the second-level cache of today's server cores, so
  /// that a part stays in this cache while all queries of a block are compared with it.
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
  static constexpr std::size_t per_thread = 4;  // blocks; several, because threads differ in speed

  std::uint32_t queries = 0;
  std::uint32_t queries_each = 1;

  /// Makes blocks of queries_min to queries_max queries. Within these limits, each thread gets
  /// about per_thread blocks.
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
  /// Returns true if each thread should take its own blocks of queries and scan the whole corpus.
  /// Returns false if all threads should search for the same queries, each in other parts of the
  /// corpus.
  bool are_enough_for(const PanelParts& parts) const {
    return queries_each == queries_max || count() >= parts.count();
  }
};

}  // namespace starling::cpu
