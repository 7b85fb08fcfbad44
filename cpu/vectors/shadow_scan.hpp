// SPDX-License-Identifier: Apache-2.0
// Multiplies the shadows of queries with the shadows of rows, with SIMD through Highway. The rows
// that may be among the k nearest are added to CandidateRows. FilteredSearch calls scan_shadows.
#pragma once

#include <cstddef>

#include "starling/cpu/vectors/candidate_rows.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/cpu/vectors/shadows.hpp"

namespace starling::cpu {

/// Returns the number of rows that a panel of shadows must have for the chosen instruction set.
std::size_t shadow_panel_rows();

struct ShadowScan {
  bool is_product = false;  ///< ScoreInterval::is_product
  const ShadowPanels& corpus;
  PanelRange panels;
  const ShadowTiles& tiles;
};

/// Adds to each query of `candidates` the rows within the query's limit. Query i of the tiles is
/// query i of `candidates`.
void scan_shadows(const ShadowScan& asked, CandidateRows& candidates);

}  // namespace starling::cpu
