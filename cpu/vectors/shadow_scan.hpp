// SPDX-License-Identifier: Apache-2.0
// Multiplies the shadows of queries with panels of shadows, with SIMD through Highway, and adds the
// rows that may be among the k nearest to CandidateRows. FilteredSearch calls scan_shadows.
#pragma once

#include <cstddef>

#include "starling/cpu/vectors/candidate_rows.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/cpu/vectors/shadows.hpp"

namespace starling::cpu {

/// Returns the number of rows in a panel of shadows that suits this machine's instruction set.
std::size_t shadow_panel_rows();

struct ShadowScan {
  bool is_product = false;  ///< ScoreInterval::is_product
  const ShadowPanels& corpus;
  PanelRange panels;
  const ShadowTiles& tiles;
};

/// Query i of the tiles is query i of `candidates`.
void scan_shadows(const ShadowScan& asked, CandidateRows& candidates);

}  // namespace starling::cpu
