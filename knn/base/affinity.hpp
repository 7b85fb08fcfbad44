// SPDX-License-Identifier: Apache-2.0
// Says where a thread runs and before which others. Each thread that works on a tick keeps its own
// core: a scheduler that wakes all threads on one core and spreads them milliseconds later doubles
// the time of a small tick.
#pragma once

namespace starling {

/// Binds the calling thread to the nth core that the process may use, counted from 0. Does nothing
/// if there is no such core or if the system is not Linux.
void pin_this_thread(unsigned nth);

/// Lets the calling thread, and the threads that it starts, give way to others: 0 to 19, see
/// nice(2). Does nothing if the system is not Linux.
void make_this_thread_nice(int niceness);

}  // namespace starling
