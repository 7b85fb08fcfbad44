// The seam between vectors in batch and the hardware that answers: a corpus in, lists out. cpu/ and
// gpu/ implement it; `starling knn`, votes and benchmarks call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// How lists are found. Every method gives the same bytes; which is fastest depends on the shape.
/// The named ones follow a paper each (docs/vectors.md).
enum class SearchMethod : std::uint8_t {
  automatic,    ///< whichever is fastest for the shape
  kato,         ///< Kato & Hosino 2009
  cuknn,        ///< Liang et al. 2010
  iterative,    ///< Russica & Tisato 2023, iterative selection
  insertion,    ///< Russica & Tisato 2023, partial insertion sort
  multiselect,  ///< Komarov et al. 2014
  sbq,          ///< Cordeiro 2023
};

/// What is asked of a searcher at once.
struct VectorSearch {
  VectorsView queries;  ///< prepared for the corpus' metric, of its dimension
  std::uint32_t k = 1;  ///< 1 to vector_k_max
  /// The row that query 0 is of the corpus, query 1 being the next: it is not its own neighbour.
  /// no_row: queries are not rows of the corpus.
  VectorRow first_self = no_row;
  SearchMethod method = SearchMethod::automatic;
  /// Told how many queries are done, from the calling thread, now and then.
  std::function<void(std::uint64_t)> on_progress;
};

/// Asserts that k is in its range, that queries have the corpus' dimension, and that there is room
/// for every list. Every searcher asks first.
void check_search(const VectorSearch& search, std::uint32_t dimension, std::size_t list_entries);

/// What hardware does at most, as measured on it: a search's floor follows from them. 0: unknown.
struct DeviceRates {
  double read_gb_per_s = 0;  ///< of memory that is too large for its caches
  /// A step is a component of a pair of rows as VectorNeighbor sums it: a subtraction and a fused
  /// multiply-add, all in registers.
  double steps_per_s = 0;
};

/// Exact k nearest rows of a corpus. One thread at a time calls it.
class VectorSearcher {
 public:
  virtual ~VectorSearcher() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual bool supports(SearchMethod method) const = 0;

  /// Takes a corpus over: prepared rows, which are read here and need not live on. Of the metric
  /// only whether it is inner_product matters from here on. Throws std::bad_alloc, or what the
  /// device says; there is no corpus then.
  virtual void set_corpus(Metric metric, VectorsView corpus) = 0;

  /// Writes k entries for each query into `lists` (queries * k): the nearest, in order; where there
  /// are fewer, VectorNeighbor{infinity, no_row} behind them. Throws as set_corpus; what `lists`
  /// holds then means nothing.
  virtual void search(const VectorSearch& search, std::span<VectorNeighbor> lists) = 0;

  /// How long the device worked on the last search, by its own clock, without copies of queries and
  /// lists, but with growing its memory where that search was the first to need so much; 0 where
  /// there is no device.
  virtual double device_ms() const { return 0; }

  /// Measures them, which takes a moment and, until it returns, memory: 512 MiB of the host's or 2
  /// GiB of a device's at most. Throws as set_corpus.
  virtual DeviceRates rates() { return {}; }
};

}  // namespace starling
