// SPDX-License-Identifier: Apache-2.0
// Sets a thread's core and priority. Each thread that works on a tick keeps its own core: a
// scheduler that wakes all threads on one core and spreads them milliseconds later doubles the time
// of a small tick.
#pragma once

#include <cstdint>

namespace starling {

/// Binds the calling thread to the nth core that the process may use, counted from 0. Does nothing
/// if there is no such core or if the system is not Linux.
void pin_this_thread(unsigned nth);

enum class ThreadPriority : std::uint8_t {
  normal,
  // The other threads, and the threads that they start, give way to normal ones. On a machine whose
  // cores are all busy, a `below_normal` thread gets about a third of a normal thread's time, and a
  // `low` thread a tenth; a `lowest` thread may wait for seconds.
  below_normal,
  low,
  lowest,
};

/// Sets the priority of the calling thread. A priority cannot be raised again. Does nothing if the
/// system is not Linux.
void set_priority_of_this_thread(ThreadPriority priority);

}  // namespace starling
