// SPDX-License-Identifier: Apache-2.0
// Implements score_rows without SIMD, for several rows at a time. The sum of each row is one chain
// of fused multiply-adds, and the processor computes independent chains side by side. Compiled once
// per instruction set, so that std::fma is a single instruction wherever the set has one for it.
#include "starling/cpu/vectors/row_scores.hpp"

#include <cmath>
#include <cstddef>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/vectors/row_scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

template <bool is_product, std::size_t count>
HWY_INLINE void score_some(VectorsView corpus, const float* query, std::uint64_t* candidates) {
  const float* rows[count];
  float sums[count] = {};
  for (std::size_t i = 0; i < count; ++i)
    rows[i] = corpus.components.data() +
              std::size_t{static_cast<VectorRow>(candidates[i])} * corpus.dimension;
  for (std::size_t j = 0; j < corpus.dimension; ++j)
    for (std::size_t i = 0; i < count; ++i) {
      const float y = rows[i][j];
      const float a = is_product ? query[j] : query[j] - y;
      sums[i] = std::fma(a, is_product ? y : a, sums[i]);
    }
  for (std::size_t i = 0; i < count; ++i) {
    const float score = is_product ? 0 - sums[i] : sums[i];
    candidates[i] = std::uint64_t{ordered_of(score)} << 32 | static_cast<VectorRow>(candidates[i]);
  }
}

template <bool is_product>
void score_all(VectorsView corpus, const float* query, std::span<std::uint64_t> candidates) {
  constexpr std::size_t at_once = 8;
  std::size_t i = 0;
  for (; i + at_once <= candidates.size(); i += at_once)
    score_some<is_product, at_once>(corpus, query, &candidates[i]);
  for (; i < candidates.size(); ++i) score_some<is_product, 1>(corpus, query, &candidates[i]);
}

void score_rows_target(Metric metric, VectorsView corpus, std::span<const float> query,
                       std::span<std::uint64_t> candidates) {
  if (metric == Metric::inner_product)
    score_all<true>(corpus, query.data(), candidates);
  else
    score_all<false>(corpus, query.data(), candidates);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(score_rows_target);

void score_rows(Metric metric, VectorsView corpus, std::span<const float> query,
                std::span<std::uint64_t> candidates) {
  HWY_DYNAMIC_DISPATCH(score_rows_target)(metric, corpus, query, candidates);
}

}  // namespace starling::cpu
#endif
