// SPDX-License-Identifier: Apache-2.0
// Computes the scores of queries and panels of a corpus, with SIMD through Highway. The instruction
// set is chosen at run time, and all instruction sets give the same bits: a lane sums one pair of
// rows as VectorNeighbor specifies. PanelSearch calls scan.
#pragma once

#include <cstddef>

#include "starling/cpu/vectors/nearest_rows.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rows_within.hpp"
#include "starling/cpu/vectors/search_parts.hpp"

namespace starling::cpu {

/// Returns the number of rows in a panel that suits this machine's instruction set.
std::size_t scan_panel_rows();
/// Returns whether this machine's instruction set has a fused multiply-add. Without it the same
/// bits cost about a hundred times as much.
bool scan_has_fused_multiply_add();

struct VectorScan {
  Metric metric;  ///< all metrics except inner_product are scanned alike
  const VectorPanels& corpus;
  PanelRange panels;
  const QueryTiles& tiles;
};

/// Scans the panels in order and adds to `nearest` the rows below the gate of each query. Query i
/// of the tiles is query i of `nearest`.
void scan(const VectorScan& asked, NearestRows& nearest);
/// As above, for the rows within a bound.
void scan(const VectorScan& asked, RowsWithin& near);

}  // namespace starling::cpu
