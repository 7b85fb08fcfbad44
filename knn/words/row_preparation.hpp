// SPDX-License-Identifier: Apache-2.0
// The preparation of one row for a metric in two steps: what the whole row says, then each
// component. prepare_vectors (metric.hpp) takes both steps. CorpusRows and cpu/vectors keep the
// first step's result and repeat only the second.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// What the components of a row are prepared with. A row without a direction has the length 0, and
/// its prepared components are zeros.
struct RowMeasure {
  double less = 0;    ///< subtracted from each component
  double length = 1;  ///< divides the differences
};

/// Returns the measure of a row without faults, for metrics that have one.
RowMeasure measure_row(Metric metric, std::span<const float> raw);

/// Returns whether prepared rows are the rows themselves.
constexpr bool keeps_rows(Metric metric) {
  return metric == Metric::l2 || metric == Metric::inner_product || metric == Metric::l1 ||
         metric == Metric::chebyshev;
}

/// Prepares the components of a row with its measure. `prepared` may be the row's own memory.
/// Always inline, so that each instruction set gets its own code. No operation may be contracted or
/// reordered, so all of them give the same bits.
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
