// SPDX-License-Identifier: Apache-2.0
// Scores all rows of some panels for all queries of some tiles, with SIMD through Highway. The
// instruction set is chosen at run time. All instruction sets give the same bits, because each lane
// computes the score of one row and one query in the order that VectorNeighbor specifies.
// PanelSearch calls scan.
#pragma once

#include <cstddef>

#include "starling/cpu/vectors/nearest_rows.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rows_within.hpp"
#include "starling/cpu/vectors/search_parts.hpp"

namespace starling::cpu {

/// Returns the number of rows that a panel must have for the chosen instruction set.
std::size_t scan_panel_rows();
/// Returns true if the chosen instruction set has a fused multiply-add. Without this instruction, a
/// scan gives the same bits but costs many times as much.
bool scan_has_fused_multiply_add();

struct VectorScan {
  Metric metric;  ///< metrics with the same recipe are scanned alike
  const VectorPanels& corpus;
  PanelRange panels;
  const QueryTiles& tiles;
};

/// Scans the panels in ascending order. Adds to each query of `nearest` the rows whose scores are
/// below the query's gate. Query i of the tiles is query i of `nearest`.
void scan(const VectorScan& asked, NearestRows& nearest);
/// Does the same with the queries and gates of `near`.
void scan(const VectorScan& asked, RowsWithin& near);

}  // namespace starling::cpu
