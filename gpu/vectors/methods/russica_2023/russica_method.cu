// SPDX-License-Identifier: Apache-2.0
// The three methods of Russica & Tisato 2023. Each writes a matrix of scores (section 2) for a
// batch of queries (section 4). "iterative" selects a query's k least scores in rounds (section
// 3.1), "insertion" sorts the scores by insertion (section 3.2), and "threshold" drops the scores
// beyond a cutoff and sorts the others (section 3.3). In the paper k is at most 100. Here k may be
// vector_k_max: rounds have no limit, insertion keeps the sorted scores in the matrix, and shared
// memory has room for the keys of threshold.
#include <algorithm>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/methods/matrix_batches.hpp"
#include "starling/gpu/vectors/methods/matrix_launch.hpp"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/methods/russica_2023/insertion_kernel.cuh"
#include "starling/gpu/vectors/methods/russica_2023/iterative_kernel.cuh"
#include "starling/gpu/vectors/methods/russica_2023/threshold_kernel.cuh"
#include "starling/gpu/vectors/methods/russica_2023/threshold_sample.hpp"

namespace starling::gpu {
namespace {

/// Section 3.1: k rounds, each of which selects the least score of every query.
struct IterativeSelection {
  /// True if the queries are the rows of the matrix; false if they are its columns.
  static constexpr bool has_query_rows = true;
  using Beside = std::uint64_t;  ///< what the memory beside the matrix holds: candidates

  static MatrixBatch plan(std::uint32_t rows, const DeviceSearch& search, std::uint64_t bytes_max) {
    // The candidates of whole subsets take 1/2048 as many bytes as the matrix. A query may have one
    // more candidate, for a subset that is not whole.
    return matrix_batch(rows, search.count, bytes_max - bytes_max / 1024, sizeof(float),
                        2 * sizeof(std::uint64_t) + part_list_bytes(search.k));
  }

  static std::uint64_t beside_room(const MatrixBatch& batch, std::uint32_t /*k*/) {
    return std::uint64_t{batch.queries} * blocks_for(batch.rows, iterative_subset);
  }

  static void select_async(const PairMatrix& matrix, const DeviceSearch& search,
                           std::uint64_t* candidates, const CudaStream& stream) {
    IterativeView view;
    view.matrix = matrix.scores;
    view.stride = matrix.stride;
    view.columns = matrix.b.count;
    view.queries = matrix.a.count;
    view.subsets = blocks_for(matrix.b.count, iterative_subset);
    view.candidates = candidates;
    view.lists = search.lists;
    view.k = search.k;
    view.first_row = matrix.b.first;
    for (std::uint32_t rank = 0; rank < search.k; ++rank) {
      traced_launch(iterative_candidates_kernel, {view.queries * view.subsets, iterative_threads},
                    stream, view);
      traced_launch(iterative_least_kernel,
                    {blocks_for(std::uint64_t{view.queries} * warp_lanes), block_threads}, stream,
                    view, rank);
    }
  }
};

/// Section 3.2: for each query, one thread keeps the k least scores of the query's column sorted.
struct InsertionSort {
  static constexpr bool has_query_rows = false;
  using Beside = VectorRow;  ///< what the memory beside the matrix holds: rows of sorted scores

  static MatrixBatch plan(std::uint32_t rows, const DeviceSearch& search, std::uint64_t bytes_max) {
    // The matrix has a column for each query, padded to a whole stride.
    const auto columns = static_cast<std::uint32_t>(stride_of(search.count));
    MatrixBatch batch =
        matrix_batch(rows, columns, bytes_max, sizeof(float),
                     search.k * std::uint64_t{sizeof(VectorRow)} + part_list_bytes(search.k));
    if (batch.queries >= 4) batch.queries = batch.queries / 4 * 4;
    batch.queries = std::min(batch.queries, search.count);
    return batch;
  }

  static std::uint64_t beside_room(const MatrixBatch& batch, std::uint32_t k) {
    return stride_of(batch.queries) * std::min(k, batch.rows);
  }

  static void select_async(const PairMatrix& matrix, const DeviceSearch& search,
                           VectorRow* sorted_rows, const CudaStream& stream) {
    InsertionView view;
    view.matrix = matrix.scores;
    view.rows = sorted_rows;
    view.stride = matrix.stride;
    view.count = matrix.a.count;
    view.queries = matrix.b.count;
    view.lists = search.lists;
    view.k = search.k;
    view.first_row = matrix.a.first;
    traced_launch(insertion_sort_kernel,
                  {blocks_for(view.queries, insertion_threads), insertion_threads}, stream, view);
  }
};

/// Section 3.3, which the authors had no time to build: drops the scores beyond a cutoff, and
/// selects from the few that are left.
struct CutoffSelection {
  static constexpr bool has_query_rows = true;
  /// What the memory beside the matrix holds: cutoffs, then kept keys, then their counts.
  using Beside = std::uint64_t;

  static MatrixBatch plan(std::uint32_t rows, const DeviceSearch& search, std::uint64_t bytes_max) {
    MatrixBatch batch;
    batch.rows = rows;
    // Parts with fewer rows have fewer keys, so the second round has room for more queries.
    for (int round = 0; round < 2; ++round)
      batch = matrix_batch(batch.rows, search.count, bytes_max, sizeof(float),
                           (kept_room(batch.rows, search.k) + std::uint64_t{2}) * sizeof(Beside) +
                               part_list_bytes(search.k));
    return batch;
  }

  static std::uint64_t beside_room(const MatrixBatch& batch, std::uint32_t k) {
    return (kept_room(batch.rows, k) + std::uint64_t{2}) * batch.queries;
  }

  static void select_async(const PairMatrix& matrix, const DeviceSearch& search,
                           std::uint64_t* beside, const CudaStream& stream) {
    const std::uint32_t queries = matrix.a.count;
    ThresholdView view;
    view.matrix = matrix.scores;
    view.stride = matrix.stride;
    view.columns = matrix.b.count;
    view.first_row = matrix.b.first;
    view.sample = sample_of(view.columns, search.k);
    view.room = kept_room(view.columns, search.k);
    view.cutoffs = beside;
    view.kept = beside + queries;
    view.counts = reinterpret_cast<std::uint32_t*>(view.kept + std::uint64_t{queries} * view.room);
    view.subsets = blocks_for(view.columns, ThresholdTuning::compact_subset);
    view.sort_room = sorted_size_of(search.k + ThresholdTuning::select_chunk);
    view.lists = search.lists;
    view.k = search.k;
    // With at least 4 k groups the cutoff is hardly larger than a cutoff from single scores.
    const unsigned cutoff_threads =
        std::clamp(sorted_size_of(4 * search.k) / ThresholdTuning::groups,
                   ThresholdTuning::cutoff_threads_min, ThresholdTuning::cutoff_threads_max);
    traced_launch(threshold_cutoff_kernel, {queries, cutoff_threads}, stream, view);
    traced_launch(threshold_compact_kernel,
                  {queries * view.subsets, ThresholdTuning::compact_threads}, stream, view);
    traced_launch(
        threshold_select_kernel,
        {queries, ThresholdTuning::select_threads, view.sort_room * sizeof(std::uint64_t)}, stream,
        view);
  }
};

template <class Selection>
class RussicaMethod final : public VectorMethod {
 public:
  RussicaMethod(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory),
        bytes_max_(bytes_max),
        matrix_(memory),
        beside_(memory),
        part_lists_(memory) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    const MatrixBatch batch = Selection::plan(corpus.count, search, bytes_max_);
    ensure_room(matrix_, memory_, matrix_room(batch), stream);
    ensure_room(beside_, memory_, Selection::beside_room(batch, search.k), stream);
    search_in_batches_async(corpus, search, batch, part_lists_, memory_, stream,
                            [&](const RowMajorView& part, const DeviceSearch& of_part) {
                              search_part_async(part, of_part, stream);
                            });
  }

 private:
  static std::uint64_t matrix_room(const MatrixBatch& batch) {
    return Selection::has_query_rows ? batch.queries * stride_of(batch.rows)
                                     : batch.rows * stride_of(batch.queries);
  }

  void search_part_async(const RowMajorView& corpus, const DeviceSearch& search,
                         const CudaStream& stream) {
    const MatrixSide rows = {corpus.components, corpus.count, corpus.first_row};
    const MatrixSide queries = {search.queries, search.count, first_self_of(search.first_self)};
    PairMatrix matrix;
    matrix.a = Selection::has_query_rows ? queries : rows;
    matrix.b = Selection::has_query_rows ? rows : queries;
    matrix.dimension = corpus.dimension;
    matrix.scores = matrix_.data();
    matrix.stride = stride_of(matrix.b.count);
    matrix_scores_async(matrix, corpus.recipe, Selection::has_query_rows, stream);
    Selection::select_async(matrix, search, beside_.data(), stream);
  }

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<float> matrix_;
  DeviceBuffer<typename Selection::Beside> beside_;
  DeviceBuffer<VectorNeighbor> part_lists_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_iterative(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<RussicaMethod<IterativeSelection>>(memory, bytes_max);
}

std::unique_ptr<VectorMethod> make_insertion(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<RussicaMethod<InsertionSort>>(memory, bytes_max);
}

std::unique_ptr<VectorMethod> make_threshold(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<RussicaMethod<CutoffSelection>>(memory, bytes_max);
}

}  // namespace starling::gpu
