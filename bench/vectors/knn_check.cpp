// SPDX-License-Identifier: Apache-2.0
// Computes the scores of all rows on all cores and sorts them partially: see knn_check.hpp. A score
// is summed one component after the other.
#include "starling/bench/vectors/knn_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "starling/bench/format.hpp"
#include "starling/bench/vectors/knn_data.hpp"

namespace starling::bench {
namespace {

float score(Metric metric, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float difference = x[j] - y[j];
    sum = metric == Metric::inner_product ? std::fma(x[j], y[j], sum)
                                          : std::fma(difference, difference, sum);
  }
  return metric == Metric::inner_product ? 0 - sum : sum;
}

std::string text_of(const VectorNeighbor& entry) {
  return entry.row == no_row ? "nothing" : format("row %u at %.9g", entry.row, entry.score);
}

}  // namespace

std::vector<VectorNeighbor> exact_list(Metric metric, VectorsView corpus,
                                       std::span<const float> query, std::uint32_t k,
                                       VectorRow self) {
  constexpr VectorNeighbor none{std::numeric_limits<float>::infinity(), no_row};
  std::vector<VectorNeighbor> all(std::max<std::size_t>(corpus.rows(), k), none);
  for_each_range(corpus.rows(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = static_cast<VectorRow>(i);
      if (row != self) all[i] = {score(metric, query, corpus.row(row)), row};
    }
  });
  std::ranges::partial_sort(all, all.begin() + k);
  all.resize(k);
  return all;
}

std::optional<std::string> difference(std::span<const VectorNeighbor> list,
                                      std::span<const VectorNeighbor> exact) {
  for (std::size_t i = 0; i < exact.size(); ++i)
    if (list[i] != exact[i])
      return format("entry %zu is ", i) + text_of(list[i]) + ", not " + text_of(exact[i]);
  return {};
}

}  // namespace starling::bench
