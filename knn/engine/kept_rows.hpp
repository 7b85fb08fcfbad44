// Staged rows that a failed tick could not apply, kept for the next: an Engine's.
#pragma once

#include "starling/knn/engine/staging.hpp"

namespace starling {

/// Adds newer rows to those kept, and clears them: of a slot the newest stays, so that what is kept
/// is bounded however many ticks fail. The process ends if there is no room even for them: staged
/// rows were acknowledged and are not lost in silence.
void keep_rows(Staging& newer, Staging& kept) noexcept;

}  // namespace starling
