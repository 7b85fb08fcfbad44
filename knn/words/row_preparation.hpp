// SPDX-License-Identifier: Apache-2.0
// Prepares one row for a metric in two steps: first measures the whole row, then prepares each
// component. prepare_vectors (metric.hpp) takes both steps. CorpusRows and cpu/vectors keep the
// result of the first step and repeat only the second step.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// The numbers that prepare the components of a row. A row without a direction has the length 0,
/// and its prepared components are zeros.
struct RowMeasure {
  double less = 0;    ///< subtracted from each component
  double length = 1;  ///< divides the differences
};

/// Returns the measure of a row without faults, or the default if the metric uses none.
RowMeasure measure_row(Metric metric, std::span<const float> raw);

/// Returns whether the metric leaves rows unchanged.
constexpr bool keeps_rows(Metric metric) {
  return metric == Metric::l2 || metric == Metric::inner_product || metric == Metric::l1 ||
         metric == Metric::chebyshev;
}

/// Prepares the components of a row with its measure. `prepared` may be the row's own memory.
/// Always inline, so that each instruction set gets its own code. No operation may be contracted or
/// reordered, so all instruction sets give the same bits.
[[gnu::always_inline]] inline void prepare_components(Metric metric, const RowMeasure& measure,
                                                      std::span<const float> raw,
                                                      std::span<float> prepared) {
  const std::size_t count = raw.size();
  const float* const from = raw.data();
  float* const to = prepared.data();
  if (keeps_rows(metric)) {
    for (std::size_t j = 0; j < count; ++j) to[j] = from[j];
  } else if (metric == Metric::hellinger) {
    for (std::size_t j = 0; j < count; ++j)
      to[j] = static_cast<float>(std::sqrt(static_cast<double>(from[j])));
  } else if (measure.length > 0) {
    const double less = measure.less;
    const double length = measure.length;
    for (std::size_t j = 0; j < count; ++j) to[j] = static_cast<float>((from[j] - less) / length);
  } else {
    for (std::size_t j = 0; j < count; ++j) to[j] = 0;
  }
}

}  // namespace starling
