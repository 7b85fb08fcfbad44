// Least-significant-digit radix sort of 64-bit entries by their upper 32 bits, stable, in parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/thread_pool.hpp"

namespace starling::cpu {

/// Sorts `entries` by (entry >> 32), using `spare` (resized to the same size); both may change
/// places. `key_bits` is how many low bits of the key may be set.
void radix_sort(std::vector<std::uint64_t>& entries, std::vector<std::uint64_t>& spare,
                int key_bits, ThreadPool& pool);

}  // namespace starling::cpu
