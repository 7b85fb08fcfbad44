// Russica & Tisato 2023, the selection approach (section 3.1): a matrix of scores, then k rounds,
// each of which selects the least of every query. Batches of queries as in section 4. The paper
// goes to k = 100; the number of rounds has no limit.
#include "gpu/vectors/methods/russica_2023/iterative_kernel.cuh"
#include "gpu/device/launch_grid.cuh"
#include "gpu/vectors/methods/matrix_batches.hpp"
#include "gpu/device/traced_launch.cuh"

namespace starling::gpu {
namespace {

class Iterative final : public VectorMethod {
 public:
  Iterative(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory),
        bytes_max_(bytes_max),
        matrix_(memory),
        candidates_(memory),
        part_lists_(memory) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const Stream& stream) override {
    // A candidate a subset is 1/2048 of the matrix, and one that is not whole.
    const MatrixBatch batch =
        matrix_batch(corpus.count, search.count, bytes_max_ - bytes_max_ / 1024, sizeof(float),
                     2 * sizeof(std::uint64_t) + part_list_bytes(search.k));
    ensure_room(matrix_, memory_, batch.queries * stride_of(batch.rows), stream);
    ensure_room(candidates_, memory_,
                std::uint64_t{batch.queries} * blocks_for(batch.rows, iterative_subset), stream);
    search_in_batches_async(corpus, search, batch, part_lists_, memory_, stream,
                            [&](const RowMajorView& part, const DeviceSearch& of_part) {
                              search_part_async(part, of_part, stream);
                            });
  }

 private:
  void search_part_async(const RowMajorView& corpus, const DeviceSearch& search,
                         const Stream& stream) {
    PairMatrix matrix;
    matrix.a = {search.queries, search.count, first_query_of(search.first_self)};
    matrix.b = {corpus.components, corpus.count, corpus.first_row};
    matrix.dimension = corpus.dimension;
    matrix.scores = matrix_.data();
    matrix.stride = stride_of(corpus.count);
    matrix_scores_async(matrix, corpus.is_dot, stream);

    IterativeView view;
    view.matrix = matrix.scores;
    view.stride = matrix.stride;
    view.columns = corpus.count;
    view.queries = search.count;
    view.subsets = blocks_for(corpus.count, iterative_subset);
    view.candidates = candidates_.data();
    view.lists = search.lists;
    view.k = search.k;
    view.first_row = corpus.first_row;
    for (std::uint32_t rank = 0; rank < search.k; ++rank) {
      traced_launch(iterative_candidates_kernel, {search.count * view.subsets, iterative_threads},
                    stream, view);
      traced_launch(iterative_least_kernel,
                    {blocks_for(std::uint64_t{search.count} * warp_lanes), block_threads}, stream,
                    view, rank);
    }
  }

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<float> matrix_;
  DeviceBuffer<std::uint64_t> candidates_;
  DeviceBuffer<VectorNeighbor> part_lists_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_iterative(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Iterative>(memory, bytes_max);
}

}  // namespace starling::gpu
