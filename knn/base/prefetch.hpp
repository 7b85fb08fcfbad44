// SPDX-License-Identifier: Apache-2.0
// Cache prefetches, for the tables and searches whose memory accesses are scattered.
#pragma once

namespace starling {

/// Prefetches the cache line of `address`, which may have any value. Without the empty asm, GCC 12
/// assumes that the function has no effect and removes its calls.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}
/// The same as prefetch, for a cache line that will be written.
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace starling
