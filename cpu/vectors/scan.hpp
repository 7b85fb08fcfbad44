// Scores of queries against panels of a corpus, by SIMD through Highway, the target chosen at run
// time. Every target gives the same bits: a lane is one pair of rows, and sums it as VectorNeighbor
// has it.
#pragma once

#include <cstddef>

#include "starling/cpu/vectors/nearest_rows.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rows_within.hpp"

namespace starling::cpu {

/// How many rows the scan wants in a panel here.
std::size_t scan_panel_rows();

struct PanelRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct VectorScan {
  Metric metric;  ///< of which only whether it is inner_product matters
  const VectorPanels& corpus;
  PanelRange panels;
  const QueryTiles& tiles;
};

/// Offers the rows of some panels, in order, to all the queries of the tiles, which are those of
/// `nearest`.
void scan(const VectorScan& asked, NearestRows& nearest);
/// The same to all that want what is near enough.
void scan(const VectorScan& asked, RowsWithin& near);

}  // namespace starling::cpu
