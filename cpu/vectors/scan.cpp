// SPDX-License-Identifier: Apache-2.0
// Implements scan. Scores the rows of one panel for four queries at once, with all sums in
// registers. Stores scores only if at least one score is below the gate of its query. Compiled once
// per instruction set.
#include "starling/cpu/vectors/scan.hpp"

#include <algorithm>
#include <bit>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/vectors/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/vectors/lanes/recipe_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

// The sums of a tile of four queries and one panel use 16 of the 32 registers of AVX-512, or 12 of
// the 16 of AVX2. docs/decisions/0006-vector-sums.md has the cost of other shapes.
inline constexpr std::size_t panel_vectors = lanes == 8 ? 3 : 4;
inline constexpr std::size_t panel_rows = panel_vectors * lanes;
static_assert(lanes <= NearestRows::rows_at_once_max);

// The scores of the rows of one panel for `queries` neighbouring queries of a tile. `tile` points
// to the first component of the first of these queries.
template <Recipe recipe, std::size_t queries>
struct TileScores {
  FloatLanes of[queries][panel_vectors];

  HWY_INLINE TileScores(const float* panel, const float* tile, std::size_t dimension) {
    FloatLanes sums[queries][panel_vectors];
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t v = 0; v < panel_vectors; ++v) sums[i][v] = all_lanes(0);
    for (std::size_t j = 0; j < dimension; ++j) {
      FloatLanes y[panel_vectors];
      for (std::size_t v = 0; v < panel_vectors; ++v)
        y[v] = load_lanes(panel + j * panel_rows + v * lanes);
      for (std::size_t i = 0; i < queries; ++i) {
        const FloatLanes x = all_lanes(tile[j * QueryTiles::tile_queries + i]);
        for (std::size_t v = 0; v < panel_vectors; ++v)
          sums[i][v] = add_component<recipe>(x, y[v], sums[i][v]);
      }
    }
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t v = 0; v < panel_vectors; ++v)
        of[i][v] = recipe == Recipe::product ? subtract(all_lanes(0), sums[i][v]) : sums[i][v];
  }
};

// Adds the rows of a panel whose scores are below the gate of one query. Not inlined, because calls
// are rare once the gate is low.
template <class Rows>
HWY_NOINLINE void add_below_gate(const FloatLanes (&scores)[panel_vectors], std::size_t query,
                                 VectorRow first_row, VectorRow end_row, Rows& nearest) {
  static_assert(64 % lanes == 0 && panel_rows % lanes == 0,
                "a word of a mask has the bits of a whole register");
  const std::uint64_t* const mask = nearest.mask(query);
  for (const FloatLanes& some : scores) {
    if (first_row == end_row) return;
    std::uint32_t below = lanes_below(some, all_lanes(nearest.gate(query)));
    if (mask != nullptr)
      below &= static_cast<std::uint32_t>(mask[first_row / 64] >> first_row % 64);
    // Lanes from end_row on hold the zeros that fill the last panel. They are not rows.
    if (end_row - first_row < lanes) below &= (1u << (end_row - first_row)) - 1;
    if (below != 0) {
      float stored[lanes];
      store_lanes(some, stored);
      for (; below != 0; below &= below - 1) {
        const auto lane = static_cast<VectorRow>(std::countr_zero(below));
        nearest.add(query, stored[lane], first_row + lane);
      }
      nearest.make_room(query, first_row + static_cast<VectorRow>(lanes));
    }
    first_row = std::min(end_row, first_row + static_cast<VectorRow>(lanes));
  }
}

// Scans for the `queries` queries from `first_query` on. They must be in one tile.
template <Recipe recipe, std::size_t queries, class Rows>
void scan_some(const VectorScan& asked, std::size_t first_query, Rows& nearest) {
  const float* const components = asked.tiles.tile(first_query / QueryTiles::tile_queries) +
                                  first_query % QueryTiles::tile_queries;
  const std::size_t dimension = asked.corpus.dimension();
  for (std::size_t panel = asked.panels.begin; panel < asked.panels.end; ++panel) {
    const TileScores<recipe, queries> scores(asked.corpus.panel(panel), components, dimension);
    for (std::size_t i = 0; i < queries; ++i) {
      FloatLanes lowest = scores.of[i][0];
      for (std::size_t v = 1; v < panel_vectors; ++v) lowest = least(lowest, scores.of[i][v]);
      if (!any_below(lowest, all_lanes(nearest.gate(first_query + i)))) continue;
      add_below_gate(scores.of[i], first_query + i, static_cast<VectorRow>(panel * panel_rows),
                     asked.corpus.rows(), nearest);
    }
  }
}

// The step of a divergence has about fifty operations, so several queries at once would save
// nothing and would fill the instruction cache. Only the two frequent recipes have code for 2 and 3
// queries.
template <Recipe recipe, class Rows>
void scan_tiles(const VectorScan& asked, Rows& nearest) {
  static_assert(QueryTiles::tile_queries == 4);
  constexpr bool is_divergence =
      recipe == Recipe::jensen_shannon || recipe == Recipe::kullback_leibler;
  const std::size_t queries = asked.tiles.queries();
  std::size_t query = 0;
  if constexpr (!is_divergence)
    for (; query + 4 <= queries; query += 4) scan_some<recipe, 4>(asked, query, nearest);
  if constexpr (has_filter(recipe)) {
    if (query + 3 == queries) return scan_some<recipe, 3>(asked, query, nearest);
    if (query + 2 == queries) return scan_some<recipe, 2>(asked, query, nearest);
  }
  for (; query < queries; ++query) scan_some<recipe, 1>(asked, query, nearest);
}

template <class Rows>
void scan_all(const VectorScan& asked, Rows& nearest) {
  switch (recipe_of(asked.metric)) {
    case Recipe::squared_differences:
      return scan_tiles<Recipe::squared_differences>(asked, nearest);
    case Recipe::product:
      return scan_tiles<Recipe::product>(asked, nearest);
    case Recipe::absolute_differences:
      return scan_tiles<Recipe::absolute_differences>(asked, nearest);
    case Recipe::largest_difference:
      return scan_tiles<Recipe::largest_difference>(asked, nearest);
    case Recipe::jensen_shannon:
      return scan_tiles<Recipe::jensen_shannon>(asked, nearest);
    case Recipe::kullback_leibler:
      return scan_tiles<Recipe::kullback_leibler>(asked, nearest);
  }
}

void scan_nearest_target(const VectorScan& asked, NearestRows& nearest) {
  scan_all(asked, nearest);
}

void scan_within_target(const VectorScan& asked, RowsWithin& near) {
  scan_all(asked, near);
}

std::size_t panel_rows_target() {
  return panel_rows;
}

bool has_fused_multiply_add_target() {
  return HWY_NATIVE_FMA != 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(scan_nearest_target);
HWY_EXPORT(scan_within_target);
HWY_EXPORT(panel_rows_target);
HWY_EXPORT(has_fused_multiply_add_target);

std::size_t scan_panel_rows() {
  return HWY_DYNAMIC_DISPATCH(panel_rows_target)();
}

bool scan_has_fused_multiply_add() {
  return HWY_DYNAMIC_DISPATCH(has_fused_multiply_add_target)();
}

void scan(const VectorScan& asked, NearestRows& nearest) {
  HWY_DYNAMIC_DISPATCH(scan_nearest_target)(asked, nearest);
}

void scan(const VectorScan& asked, RowsWithin& near) {
  HWY_DYNAMIC_DISPATCH(scan_within_target)(asked, near);
}

}  // namespace starling::cpu
#endif
