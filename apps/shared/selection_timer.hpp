// Which GPU times selections for `starling bench selection`.
#pragma once

#include "bench/vectors/selection_table.hpp"

namespace starling::apps {

/// Fills in the timer, the device's name and its speed of reading. Throws std::runtime_error with a
/// sentence where there is no such GPU.
void set_selection_timer(int device, bench::SelectionTableOptions& options);

}  // namespace starling::apps
