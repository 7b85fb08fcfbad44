// SPDX-License-Identifier: Apache-2.0
// Gives a searcher the prepared rows of a corpus. The rows in memory are either prepared already,
// or raw and prepared each time that they are read. So a searcher that stores the corpus in its own
// form needs no prepared copy of all rows. The searchers in cpu/vectors use CorpusRows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/row_preparation.hpp"

namespace starling {

/// Owns no rows. The rows in memory must live as long as they are read.
class CorpusRows {
 public:
  CorpusRows() = default;
  /// Rows that are prepared for the metric.
  explicit CorpusRows(VectorsView prepared) : rows_(prepared) {}
  /// Raw rows without faults (find_fault) for this metric.
  static CorpusRows raw(Metric metric, VectorsView rows);

  std::uint32_t rows() const { return rows_.rows(); }
  std::uint32_t dimension() const { return rows_.dimension; }
  /// Returns whether the rows in memory are prepared.
  bool are_prepared() const { return keeps_rows(metric_); }
  /// Returns the rows in memory, which are raw unless are_prepared().
  VectorsView in_memory() const { return rows_; }

  /// Keeps the measure of each row (16 bytes) if the rows are raw, so that later reads of a row
  /// take only the second step of its preparation.
  void keep_measures(ThreadPool& pool);

  /// Returns a prepared row: the one in memory, or else `room`, which has dimension() elements.
  std::span<const float> row(VectorRow number, std::span<float> room) const {
    if (are_prepared()) return rows_.row(number);
    prepare(number, room);
    return room;
  }

  /// Writes one prepared row to `to`, which has dimension() elements. Always inline: see
  /// prepare_components.
  [[gnu::always_inline]] void prepare(VectorRow number, std::span<float> to) const {
    const std::span<const float> from = rows_.row(number);
    prepare_components(metric_, measures_.empty() ? measure_row(metric_, from) : measures_[number],
                       from, to);
  }

  /// Writes all prepared rows to `to`, which has rows() * dimension() elements.
  void prepare_all(ThreadPool& pool, std::span<float> to) const;

 private:
  Metric metric_ = Metric::l2;  ///< a metric that keeps_rows if the rows are prepared
  VectorsView rows_;
  std::vector<RowMeasure> measures_;  ///< [row]; empty: not kept
};

}  // namespace starling
