// SPDX-License-Identifier: Apache-2.0
// Keeps each thread that works on a tick on its own core. A scheduler that wakes all threads on one
// core and spreads them milliseconds later doubles the time of a small tick.
#pragma once

namespace starling {

/// Binds the calling thread to the nth core that the process may use, counted from 0. Does nothing
/// if there is no such core or if the system is not Linux.
void pin_this_thread(unsigned nth);

}  // namespace starling
