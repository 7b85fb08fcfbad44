// SPDX-License-Identifier: Apache-2.0
// The pause of a spin loop. ThreadPool calls spin_pause while its threads wait for each other.
#pragma once

namespace starling {

/// Tells an x86 processor that the loop only waits. This saves power and lets the other hardware
/// thread of the core run. Does nothing on other processors.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace starling
