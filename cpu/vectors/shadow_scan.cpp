// SPDX-License-Identifier: Apache-2.0
// Implements scan_shadows. Multiplies the shadows of four queries with all shadows of one panel at
// once, with all sums in registers. Adds a row to the candidates of a query only if the row is
// within the query's limit (ScoreInterval::limit). Compiled once per instruction set.
#include "starling/cpu/vectors/shadow_scan.hpp"

#include <cstdint>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/vectors/shadow_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/vectors/pair_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

// The sums of a tile of four queries and one panel use 16 of the 32 registers of AVX-512, or 8 of
// the 16 of AVX2. With 12 sums on AVX2, GCC 12 keeps some of them in memory, which takes 1.5 times
// as long.
inline constexpr std::size_t panel_vectors = pair_lanes == 16 ? 4 : 2;
inline constexpr std::size_t panel_rows = panel_vectors * pair_lanes;

// The products of the first `queries` shadows of a tile with all shadows of one panel.
template <std::size_t queries>
struct TileProducts {
  IntegerLanes of[queries][panel_vectors];

  HWY_INLINE TileProducts(const ShadowPair* panel, const ShadowPair* tile, std::size_t pairs) {
    IntegerLanes first[queries][panel_vectors];
    IntegerLanes second[queries][panel_vectors];
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t v = 0; v < panel_vectors; ++v) first[i][v] = second[i][v] = zero_integers();
    for (std::size_t j = 0; j < pairs; ++j) {
      PairLanes y[panel_vectors];
      for (std::size_t v = 0; v < panel_vectors; ++v)
        y[v] = load_pairs(panel + j * panel_rows + v * pair_lanes);
      for (std::size_t i = 0; i < queries; ++i) {
        const PairLanes x = all_pairs(tile + j * ShadowTiles::tile_queries + i);
        for (std::size_t v = 0; v < panel_vectors; ++v)
          add_products(x, y[v], first[i][v], second[i][v]);
      }
    }
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t v = 0; v < panel_vectors; ++v) of[i][v] = total(first[i][v], second[i][v]);
  }
};

// Adds the rows whose bits are set in `within`. Bit i and lane i of `products` belong to row
// first_row + i.
HWY_NOINLINE void add_rows(const IntegerLanes& products, std::uint32_t within, std::size_t query,
                           std::size_t first_row, CandidateRows& candidates) {
  std::int32_t stored[pair_lanes];
  store_integers(products, stored);
  for (std::size_t lane = 0; lane < pair_lanes; ++lane)
    if ((within >> lane & 1) != 0)
      candidates.add(query, static_cast<VectorRow>(first_row + lane), stored[lane]);
}

template <std::size_t queries>
void scan_tile(const ShadowScan& asked, std::size_t tile, CandidateRows& candidates) {
  const ShadowPair* const pairs = asked.tiles.tile(tile);
  const std::size_t first_query = tile * ShadowTiles::tile_queries;
  float scales[queries];
  for (std::size_t i = 0; i < queries; ++i)
    scales[i] = asked.tiles.shadow(first_query + i).scale * (asked.is_product ? 1.0f : 2.0f);
  for (std::size_t panel = asked.panels.begin; panel < asked.panels.end; ++panel) {
    const TileProducts<queries> products(asked.corpus.panel(panel), pairs, asked.corpus.pairs());
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t v = 0; v < panel_vectors; ++v) {
        const IntegerLanes& some = products.of[i][v];
        const std::uint32_t within = lanes_within(
            some, scales[i], asked.corpus.scales(panel) + v * pair_lanes,
            asked.corpus.bases(panel) + v * pair_lanes, candidates.limit(first_query + i));
        if (within != 0)
          add_rows(some, within, first_query + i, asked.corpus.first_row(panel) + v * pair_lanes,
                   candidates);
      }
  }
}

void scan_shadows_target(const ShadowScan& asked, CandidateRows& candidates) {
  static_assert(ShadowTiles::tile_queries == 4);
  std::size_t tile = 0;
  std::size_t queries = asked.tiles.queries();
  for (; queries >= 4; queries -= 4) scan_tile<4>(asked, tile++, candidates);
  if (queries == 3) scan_tile<3>(asked, tile, candidates);
  if (queries == 2) scan_tile<2>(asked, tile, candidates);
  if (queries == 1) scan_tile<1>(asked, tile, candidates);
}

std::size_t shadow_panel_rows_target() {
  return panel_rows;
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(scan_shadows_target);
HWY_EXPORT(shadow_panel_rows_target);

std::size_t shadow_panel_rows() {
  return HWY_DYNAMIC_DISPATCH(shadow_panel_rows_target)();
}

void scan_shadows(const ShadowScan& asked, CandidateRows& candidates) {
  candidates.go_on_with(asked.corpus.maxima(asked.panels));
  HWY_DYNAMIC_DISPATCH(scan_shadows_target)(asked, candidates);
}

}  // namespace starling::cpu
#endif
