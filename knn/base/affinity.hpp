// Keeps threads that work on one tick on cores of their own. A scheduler that wakes them on one
// core and spreads them milliseconds later would double the time of a small tick.
#pragma once

namespace starling {

/// Binds the calling thread to the nth core that the process may use, counted from 0. Does nothing
/// where there is no such core, or no such call.
void pin_this_thread(unsigned nth);

}  // namespace starling
