// SPDX-License-Identifier: Apache-2.0
// Keeps staged rows that a failed tick could not apply, for the next tick. Engines call it.
#pragma once

#include "starling/knn/engine/staging.hpp"

namespace starling {

/// Moves the newer rows into the kept ones and clears `newer`. Only the newest row of a slot is
/// kept, so the number of kept rows is bounded however many ticks fail. The process ends if there
/// is no memory for this: staged rows were acknowledged and must not be lost silently.
void keep_rows(Staging& newer, Staging& kept) noexcept;

}  // namespace starling
