// SPDX-License-Identifier: Apache-2.0
// Measures and prepares all rows of a corpus on all threads: see corpus_rows.hpp.
#include "starling/knn/vectors/corpus_rows.hpp"

#include <cstddef>
#include <utility>

namespace starling {
namespace {

constexpr std::size_t grain_components = std::size_t{1} << 16;

/// Calls `each` for the numbers of all rows, on all threads.
template <class Each>
void for_rows(VectorsView rows, ThreadPool& pool, const Each& each) {
  pool.for_ranges(rows.rows(), 1 + grain_components / rows.dimension,
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    for (std::size_t number = begin; number < end; ++number)
                      each(static_cast<VectorRow>(number));
                  });
}

}  // namespace

CorpusRows CorpusRows::raw(Metric metric, VectorsView rows) {
  CorpusRows corpus(rows);
  corpus.metric_ = metric;
  return corpus;
}

void CorpusRows::keep_measures(ThreadPool& pool) {
  if (are_prepared() || metric_ == Metric::hellinger) return;  // Hellinger needs no measure
  std::vector<RowMeasure> measures(rows());
  for_rows(rows_, pool,
           [&](VectorRow number) { measures[number] = measure_row(metric_, rows_.row(number)); });
  measures_ = std::move(measures);
}

void CorpusRows::prepare_all(ThreadPool& pool, std::span<float> to) const {
  for_rows(rows_, pool, [&](VectorRow number) {
    prepare(number, to.subspan(std::size_t{number} * dimension(), dimension()));
  });
}

}  // namespace starling
