// Asking for memory ahead of its use, for the tables and searches that read all over it.
#pragma once

namespace starling {

/// Fetches the cache line of `address`, which may be anything. GCC 12 takes a function that does
/// nothing else for one without effect and drops the calls of it; the empty asm keeps them.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}
/// The same for a line that will be written.
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace starling
