// SPDX-License-Identifier: Apache-2.0
// KnnBench measures the searches of any VectorSearcher, one shape after the other, and checks the
// lists that the searcher returns. knn_table.cpp uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "starling/bench/vectors/knn_corpus.hpp"
#include "starling/bench/vectors/paper_tables.hpp"
#include "starling/bench/vectors/serial_search.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::bench {

/// The number of runs in a measurement whose first run takes at most a second.
inline constexpr int knn_runs_enough = 20;

/// Medians over the runs.
struct KnnTime {
  double device_ms = 0;         ///< device time, see VectorSearcher; 0 without a device
  double host_ms = 0;           ///< host time from queries in host memory to lists in host memory
  double upload_ms = 0;         ///< host time of set_corpus
  double upload_search_ms = 0;  ///< host time of set_corpus_and_search
  int runs = 0;

  double ms() const { return device_ms > 0 ? device_ms : host_ms; }
};

/// Two lower bounds for the time of a search that computes every score. bytes_ms is the time to
/// read or write each byte once. steps_ms is the time to do one step for each component of each
/// pair of a row and a query. A bound is 0 if its rate in DeviceRates is unknown.
struct KnnFloor {
  double bytes_ms = 0;
  double steps_ms = 0;

  double ms() const { return bytes_ms > steps_ms ? bytes_ms : steps_ms; }
};
KnnFloor floor_of(const KnnShape& shape, const DeviceRates& rates);

class KnnBench {
 public:
  /// `runs` is the number of runs of each measurement. 0 means 20 runs, or 3 if the first run takes
  /// more than a second.
  KnnBench(VectorSearcher& searcher, std::uint64_t seed, int runs,
           CorpusMemory memory = CorpusMemory::ordinary)
      : searcher_(searcher),
        seed_(seed),
        runs_(runs),
        memory_(memory),
        sets_(memory_of(memory, searcher)),
        lists_(memory_of(memory, searcher)) {}

  /// Makes the queries. Also makes the corpus, unless the last shape had the same rows, dimension
  /// and metric.
  void set_shape(const KnnShape& shape);

  /// Returns the times of `method` for the shape. Returns std::nullopt if the searcher does not
  /// support `method`. Throws std::runtime_error with a sentence if a list is wrong.
  std::optional<KnnTime> measure(SearchMethod method);

  /// Returns the time of a plain search on one core, extrapolated from about a second of it.
  SerialTime measure_serial(SerialSelection selection) const;

 private:
  struct ExactList {
    std::uint32_t query = 0;  ///< index of the query in sets_[0]
    std::vector<VectorNeighbor> list;
  };

  /// Returns the memory for queries and lists, which are never in a mapped file.
  static std::pmr::memory_resource* memory_of(CorpusMemory memory, VectorSearcher& searcher) {
    return memory == CorpusMemory::page_locked ? &searcher.host_memory()
                                               : std::pmr::new_delete_resource();
  }

  double run(SearchMethod method, std::size_t set, bool with_corpus = false);
  double upload_ms();
  double upload_search_ms(SearchMethod method);
  VectorsView corpus_view() const { return {corpus_.components(), shape_.dimension}; }
  void make_exact_lists();
  void check_lists(SearchMethod method) const;

  VectorSearcher& searcher_;
  std::uint64_t seed_;
  int runs_;
  CorpusMemory memory_;
  KnnShape shape_;
  KnnCorpus corpus_;
  std::pmr::vector<std::pmr::vector<float>> sets_;  ///< sets of queries
  std::vector<ExactList> exact_lists_;
  std::pmr::vector<VectorNeighbor> lists_;  ///< lists of the last run
};

}  // namespace starling::bench
