// What a thread does between two looks at what it waits for. ThreadPool spins so between rounds.
#pragma once

namespace starling {

/// Tells an x86 processor that this loop waits, which saves power and lets the core's other thread
/// run. Does nothing on other processors.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace starling
