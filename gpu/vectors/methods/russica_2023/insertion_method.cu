// Russica & Tisato 2023, the partial sorting approach (section 3.2): a matrix of scores, then a
// thread a query that keeps the k smallest of its column sorted. Batches of queries as in
// section 4. The paper goes to k = 100; here as there the sorted ones stand in the matrix, so that
// any k finds room.
#include "gpu/vectors/methods/russica_2023/insertion_kernel.cuh"
#include "gpu/device/launch_grid.cuh"
#include "gpu/vectors/methods/matrix_batches.hpp"
#include "gpu/device/traced_launch.cuh"

namespace starling::gpu {
namespace {

class Insertion final : public VectorMethod {
 public:
  Insertion(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory),
        bytes_max_(bytes_max),
        matrix_(memory),
        rows_(memory),
        part_lists_(memory) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const Stream& stream) override {
    // Queries are the matrix' columns here: whole strides of them are planned.
    const auto columns = static_cast<std::uint32_t>(stride_of(search.count));
    MatrixBatch batch =
        matrix_batch(corpus.count, columns, bytes_max_, sizeof(float),
                     search.k * std::uint64_t{sizeof(VectorRow)} + part_list_bytes(search.k));
    if (batch.queries >= 4) batch.queries = batch.queries / 4 * 4;
    batch.queries = std::min(batch.queries, search.count);
    const std::uint64_t stride = stride_of(batch.queries);
    ensure_room(matrix_, memory_, stride * batch.rows, stream);
    ensure_room(rows_, memory_, stride * std::min(search.k, batch.rows), stream);
    search_in_batches_async(corpus, search, batch, part_lists_, memory_, stream,
                            [&](const RowMajorView& part, const DeviceSearch& of_part) {
                              search_part_async(part, of_part, stream);
                            });
  }

 private:
  void search_part_async(const RowMajorView& corpus, const DeviceSearch& search,
                         const Stream& stream) {
    PairMatrix matrix;
    matrix.a = {corpus.components, corpus.count, corpus.first_row};
    matrix.b = {search.queries, search.count, first_query_of(search.first_self)};
    matrix.dimension = corpus.dimension;
    matrix.scores = matrix_.data();
    matrix.stride = stride_of(search.count);
    matrix_scores_async(matrix, corpus.is_dot, stream);

    InsertionView view;
    view.matrix = matrix.scores;
    view.rows = rows_.data();
    view.stride = matrix.stride;
    view.count = corpus.count;
    view.queries = search.count;
    view.lists = search.lists;
    view.k = search.k;
    view.first_row = corpus.first_row;
    traced_launch(insertion_sort_kernel,
                  {blocks_for(search.count, insertion_threads), insertion_threads}, stream, view);
  }

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<float> matrix_;
  DeviceBuffer<VectorRow> rows_;
  DeviceBuffer<VectorNeighbor> part_lists_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_insertion(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Insertion>(memory, bytes_max);
}

}  // namespace starling::gpu
