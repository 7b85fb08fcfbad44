// SPDX-License-Identifier: Apache-2.0
// Chooses between std::sort and Highway's SIMD sort: see key_sort.hpp.
#include "starling/cpu/simd/key_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

namespace starling::cpu {
namespace {

// For fewer keys, std::sort is faster than a call of the SIMD sort.
constexpr std::size_t simd_sort_min = 48;

thread_local const hwy::Sorter simd_sort;  // one for each thread, because it owns a buffer

// SupportedTargets takes microseconds, because it executes CPUID, so it is called once.
bool has_simd_sort() {
  hwy::ChosenTarget& chosen = hwy::GetChosenTarget();
  if (!chosen.IsInitialized()) chosen.Update(hwy::SupportedTargets());
  constexpr std::size_t portable = HWY_MAX_DYNAMIC_TARGETS + 1;  // index in Highway's tables
  return chosen.GetIndex() != portable;
}

template <class Key, class Less>
void sort(std::span<Key> keys, Less less) {
  if (keys.size() < simd_sort_min || !has_simd_sort())
    std::sort(keys.begin(), keys.end(), less);
  else
    simd_sort(keys.data(), keys.size(), hwy::SortAscending());
}

}  // namespace

void sort_keys(std::span<std::uint64_t> keys) {
  sort(keys, [](std::uint64_t a, std::uint64_t b) { return a < b; });
}

void sort_keys(std::span<hwy::uint128_t> keys) {
  sort(keys, [](const hwy::uint128_t& a, const hwy::uint128_t& b) {
    return std::tie(a.hi, a.lo) < std::tie(b.hi, b.lo);
  });
}

}  // namespace starling::cpu
