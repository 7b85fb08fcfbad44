// SPDX-License-Identifier: Apache-2.0
// Implements score_rows without SIMD, for several rows at a time. The sum of each row is one chain
// of fused multiply-adds, and the processor computes independent chains side by side. Compiled once
// per instruction set, so that std::fma is a single instruction where the set has one.
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

constexpr std::size_t at_once = 8;

template <bool is_product, std::size_t count>
HWY_INLINE void score_some(const CorpusRows& corpus, const float* query, std::uint64_t* candidates,
                           std::span<float> room) {
  const std::size_t dimension = corpus.dimension();
  const float* rows[count];
  float sums[count] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<VectorRow>(candidates[i]);
    rows[i] = corpus.in_memory().components.data() + number * dimension;
    if (room.empty()) continue;
    corpus.prepare(number, room.subspan(i * dimension, dimension));
    rows[i] = room.data() + i * dimension;
  }
  for (std::size_t j = 0; j < dimension; ++j)
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
void score_all(const CorpusRows& corpus, const float* query, std::span<std::uint64_t> candidates,
               std::span<float> room) {
  std::size_t i = 0;
  for (; i + at_once <= candidates.size(); i += at_once)
    score_some<is_product, at_once>(corpus, query, &candidates[i], room);
  for (; i < candidates.size(); ++i) score_some<is_product, 1>(corpus, query, &candidates[i], room);
}

void score_rows_target(Metric metric, const CorpusRows& corpus, std::span<const float> query,
                       std::span<std::uint64_t> candidates, std::vector<float>& room) {
  room.resize(corpus.are_prepared() ? 0 : at_once * corpus.dimension());
  if (metric == Metric::inner_product)
    score_all<true>(corpus, query.data(), candidates, room);
  else
    score_all<false>(corpus, query.data(), candidates, room);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(score_rows_target);

void score_rows(Metric metric, const CorpusRows& corpus, std::span<const float> query,
                std::span<std::uint64_t> candidates, std::vector<float>& room) {
  HWY_DYNAMIC_DISPATCH(score_rows_target)(metric, corpus, query, candidates, room);
}

}  // namespace starling::cpu
#endif
