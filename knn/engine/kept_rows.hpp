// SPDX-License-Identifier: Apache-2.0
// Keeps staged rows that a failed tick could not apply, for the next tick. Engines call keep_rows.
#pragma once

#include "starling/knn/engine/staging.hpp"

namespace starling {

/// Merges the rows of `newer` into `kept` and clears `newer`. Keeps only the newest row of each
/// slot, so the number of kept rows is bounded, however many ticks fail. The process ends if there
/// is not enough memory: staged rows were acknowledged and must not be lost silently.
void keep_rows(Staging& newer, Staging& kept) noexcept;

}  // namespace starling
