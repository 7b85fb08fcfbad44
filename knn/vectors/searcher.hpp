// SPDX-License-Identifier: Apache-2.0
// The seam between batch search of vectors and the hardware that answers: a corpus in, lists out.
// cpu/ and gpu/ implement it. `starling knn`, benchmarks and embedding programs call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <string_view>

#include "starling/knn/base/poll.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling {

/// The algorithm that finds the lists. Every method gives the same bytes. The fastest method
/// depends on k and on the numbers of rows, queries and components. Each named method follows a
/// paper (docs/vectors.md).
enum class SearchMethod : std::uint8_t {
  automatic,    ///< the fastest method for the sizes of the search
  kato,         ///< Kato & Hosino 2009
  cuknn,        ///< Liang et al. 2010
  iterative,    ///< Russica & Tisato 2023, iterative selection
  insertion,    ///< Russica & Tisato 2023, partial insertion sort
  threshold,    ///< Russica & Tisato 2023, a cutoff and stream compaction
  multiselect,  ///< Komarov et al. 2014
  sbq,          ///< Cordeiro 2023
};

/// One search: its queries, k and how to answer them.
struct VectorSearch {
  VectorsView queries;  ///< queries of the corpus's dimension, prepared for its metric
  std::uint32_t k = 1;  ///< 1 to vector_k_max
  /// If the queries are consecutive rows of the corpus: the row of query 0. Then no query is its
  /// own neighbour, and the searcher may read the queries from its corpus. no_row: the queries are
  /// not rows of the corpus.
  VectorRow first_self = no_row;
  SearchMethod method = SearchMethod::automatic;
  /// Called now and then with the number of finished queries, on the thread that called search. An
  /// exception ends the search; search throws it again.
  std::function<void(std::uint64_t)> on_progress{};
};

/// Throws std::invalid_argument if there is no corpus, if k is out of its range, if the queries
/// have another dimension than the corpus, if first_self names rows that the corpus does not have,
/// or if `list_entries` is not k times the number of queries. `rows` is the number of rows of the
/// corpus. Every searcher calls check_search first.
void check_search(const VectorSearch& search, std::uint32_t dimension, std::uint32_t rows,
                  std::size_t list_entries);

/// A k-NN graph: for every row of the corpus, its k nearest among the other rows.
struct GraphSearch {
  VectorsView rows;     ///< the rows of the corpus, as set_corpus got them
  std::uint32_t k = 1;  ///< 1 to vector_k_max
  SearchMethod method = SearchMethod::automatic;
  /// A tile has the lists of at most this many rows; at least 1.
  std::uint32_t tile_rows_max = std::uint32_t{1} << 14;
  /// Called now and then with the number of rows whose lists are found, on the thread that called
  /// search_graph.
  std::function<void(std::uint64_t)> on_progress{};
};

/// A function that receives a tile of a graph: the lists of consecutive rows from `first_row` on,
/// with k entries for each row. The lists are valid until the function returns.
using TakeLists = std::function<void(VectorRow first_row, std::span<const VectorNeighbor> lists)>;

/// Throws std::invalid_argument if k is out of its range, if the rows have another dimension than
/// the corpus, or if tile_rows_max is 0. Every searcher calls check_graph first.
void check_graph(const GraphSearch& graph, std::uint32_t dimension);

enum class ListOrder : std::uint8_t {
  nearest_first,  ///< sorted by score, equal scores by row
  by_row,         ///< sorted by row, which takes less time
};

/// A search for all rows within a distance of each query.
struct RadiusSearch {
  VectorsView queries;  ///< see VectorSearch::queries
  /// A row is in the list if its distance_of is at most this number. With infinity, all rows are in
  /// the list. Negative numbers are allowed only with inner_product.
  double radius = 0;
  VectorRow first_self = no_row;  ///< see VectorSearch::first_self
  ListOrder order = ListOrder::nearest_first;
  /// See VectorSearch::on_progress.
  std::function<void(std::uint64_t)> on_progress{};
};

/// Lists of any length: list i has the entries offsets[i] to offsets[i + 1] of `neighbors`.
struct RadiusLists {
  std::span<const std::uint64_t> offsets;  ///< one more entry than lists; the first is 0
  std::span<const VectorNeighbor> neighbors;
};

/// A function that receives the lists of consecutive queries from `first_query` on. The lists are
/// valid until the function returns.
using TakeRadiusLists = std::function<void(std::uint32_t first_query, const RadiusLists& lists)>;

/// Throws std::invalid_argument if the radius is NaN, if it is negative and the metric is not
/// inner_product, or if the queries do not fit the corpus (see check_search). Every search_radius
/// calls check_radius first.
void check_radius(const RadiusSearch& search, Metric metric, std::uint32_t dimension,
                  std::uint32_t rows);

/// The highest rates that were measured on the hardware; 0 if unknown. These rates give a lower
/// bound for the time of a search.
struct DeviceRates {
  double read_gb_per_s = 0;  ///< read rate of memory that is too large for the caches
  /// One step adds one component of a pair of rows to the sum that VectorNeighbor specifies. It is
  /// a subtraction and a fused multiply-add, all in registers.
  double steps_per_s = 0;
};

/// Finds the exact k nearest rows of a corpus. One thread at a time may call it. Example:
/// examples/vector_search.cpp
///
///     searcher->set_corpus(metric, {corpus, dimension});
///     searcher->search(search, lists);
class VectorSearcher {
 public:
  virtual ~VectorSearcher() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual bool supports(SearchMethod method) const = 0;

  /// From here on, every call of the searcher calls `poll` on the calling thread. An exception of
  /// `poll` ends the call within milliseconds, as an error. A GPU searcher does not call `poll`:
  /// only an exception of on_progress ends its searches early.
  virtual void set_poll(const Poll& /*poll*/) {}

  /// Copies a corpus of prepared rows; the caller may free its rows afterwards. Metrics with the
  /// same recipe (knn/words/recipe.hpp) are treated alike. If set_corpus throws std::bad_alloc or a
  /// device error, the searcher has no corpus.
  virtual void set_corpus(Metric metric, VectorsView corpus) = 0;

  /// Does the same as set_corpus, but may read `corpus` later instead of a copy. Returns true if it
  /// does. The rows must then stay until the searcher gets another corpus or is destroyed. If it
  /// returns false, the caller may free the rows. After an error the searcher has no corpus.
  virtual bool borrow_corpus(Metric metric, VectorsView corpus) {
    set_corpus(metric, corpus);
    return false;
  }

  /// Do the same as set_corpus and borrow_corpus for rows that are not prepared and have no fault
  /// (find_fault). A searcher that prepares each row when it reads the row needs no memory for a
  /// prepared copy.
  virtual void set_raw_corpus(Metric metric, VectorsView corpus);
  virtual bool borrow_raw_corpus(Metric metric, VectorsView corpus);

  /// Writes k entries for each query into `lists` (queries * k): the nearest rows, in order. If the
  /// corpus has fewer rows, the remaining entries are VectorNeighbor{infinity, no_row}. Throws the
  /// same errors as set_corpus. After an error the content of `lists` is unspecified.
  virtual void search(const VectorSearch& search, std::span<VectorNeighbor> lists) = 0;

  /// Finds the lists that search finds if its queries are all rows and first_self is 0. Passes them
  /// to `take` tile by tile, in the order of the rows, on the thread that called search_graph. So
  /// host memory holds one tile at a time, whatever the size of the graph. SearchMethod::kato
  /// computes each pair of rows only once, if the metric is symmetric and the device has room
  /// (docs/vector-methods.md). In search it does so only if one call asks for the whole graph. A
  /// corpus without rows has no tiles. Throws the same errors as search, and what `take` throws;
  /// the searcher keeps its corpus. `take` must not call the searcher.
  virtual void search_graph(const GraphSearch& graph, const TakeLists& take);

  virtual bool supports_radius() const { return false; }

  /// Finds all rows within search.radius of each query. Passes the lists to `take`, some queries at
  /// a time, in the order of the queries, on the thread that called search_radius. The searcher
  /// holds some lists at a time, not all of them. Throws the same errors as search, what `take`
  /// throws, and std::invalid_argument if not supports_radius(); the searcher keeps its corpus.
  /// `take` must not call the searcher.
  virtual void search_radius(const RadiusSearch& search, const TakeRadiusLists& take);

  /// Does the same as set_corpus and then search. A GPU searches the first rows while it still
  /// copies the other rows. Throws what set_corpus and search throw. After an error, set a corpus
  /// before the next search.
  virtual void set_corpus_and_search(Metric metric, VectorsView corpus, const VectorSearch& search,
                                     std::span<VectorNeighbor> lists) {
    set_corpus(metric, corpus);
    this->search(search, lists);
  }

  /// Returns a source of memory from which rows and queries reach the device fastest: page-locked
  /// memory for a GPU, ordinary memory without a device. It lives as long as the program.
  virtual std::pmr::memory_resource& host_memory() { return *std::pmr::new_delete_resource(); }

  /// Returns how long the device worked on the last search or graph, by its own clock; 0 without a
  /// device. Copies of queries and lists are not included. The first search of a kind also includes
  /// the growth of device memory and the preparation of the corpus for this kind.
  virtual double device_ms() const { return 0; }

  /// Measures the rates of the hardware. During the measurement it uses at most 512 MiB of host
  /// memory or 2 GiB of device memory. Throws the same errors as set_corpus.
  virtual DeviceRates rates() { return {}; }
};

}  // namespace starling
