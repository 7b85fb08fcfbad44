// SPDX-License-Identifier: Apache-2.0
// The method of Komarov et al. 2014: computes distances by a matrix product, then selects from
// every row of the matrix by quick multi-select. Only exact scores are ranked and reported. The
// product shows which rows cannot be among the nearest (see the bound in multiselect_kernel.cuh);
// the other rows are scored again. The paper's k is 2 to 1024. Here k is at most 2048, the most
// that can be sorted in shared memory at the end.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/komarov_2014/multiselect_kernel.cuh"
#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect.hpp"
#include "starling/gpu/vectors/methods/matrix_batches.hpp"
#include "starling/gpu/vectors/methods/matrix_launch.hpp"

namespace starling::gpu {
namespace {

constexpr unsigned rescore_threads = 128;

/// Returns the number of candidates for which a query has room: k rows, and further rows that the
/// bound cannot exclude.
std::uint32_t candidate_room(std::uint32_t k) {
  const std::uint32_t wanted = k + std::max(k / 2, 256u);
  std::uint32_t room = 512;
  while (room < wanted) room *= 2;
  return room;
}

class Multiselect final : public VectorMethod {
 public:
  Multiselect(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory),
        bytes_max_(bytes_max),
        matrix_(memory),
        norms_(memory),
        candidates_(memory),
        part_lists_(memory),
        select_(memory, bytes_max / 8) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    const std::uint32_t room = candidate_room(search.k);
    // An eighth of the memory is for partitions, and an eighth is for the norms of rows. With fewer
    // than 8 queries the norms may need more, so they are counted as one more float for each pair.
    const std::uint64_t pair_bytes = sizeof(float) * (search.count < 8 ? 2 : 1);
    const MatrixBatch batch =
        matrix_batch(corpus.count, search.count, bytes_max_ / 4 * 3, pair_bytes,
                     (room + 3) * sizeof(float) + part_list_bytes(search.k));
    ensure_room(matrix_, memory_, batch.queries * stride_of(batch.rows), stream);
    ensure_room(norms_, memory_, std::uint64_t{batch.rows} + 2 * std::uint64_t{batch.queries},
                stream);
    ensure_room(candidates_, memory_, (std::uint64_t{room} + 1) * batch.queries, stream);
    search_in_batches_async(corpus, search, batch, part_lists_, memory_, stream,
                            [&](const RowMajorView& part, const DeviceSearch& of_part) {
                              search_part_async(part, of_part, batch, stream);
                            });
  }

 private:
  void search_part_async(const RowMajorView& corpus, const DeviceSearch& search,
                         const MatrixBatch& batch, const CudaStream& stream) {
    MultiselectView view;
    view.matrix.a = {search.queries, search.count, first_self_of(search.first_self)};
    view.matrix.b = {corpus.components, corpus.count, corpus.first_row};
    view.matrix.dimension = corpus.dimension;
    view.matrix.scores = matrix_.data();
    view.matrix.stride = stride_of(corpus.count);
    float* const row_norms = norms_.data();
    float* const query_norms = row_norms + batch.rows;
    float* const limits = query_norms + batch.queries;
    view.row_norms = row_norms;
    view.query_norms = query_norms;
    view.limits = limits;
    view.counts = candidates_.data();
    view.candidates = candidates_.data() + batch.queries;
    view.room = candidate_room(search.k);
    view.bound = filter_bound(corpus.dimension, corpus.recipe);
    view.lists = search.lists;
    view.k = search.k;

    norms_async(view.matrix.a, corpus.dimension, query_norms, stream);
    norms_async(view.matrix.b, corpus.dimension, row_norms, stream);
    with_recipe(corpus.recipe, [&](auto recipe) {
      traced_launch(multiselect_product_kernel<decltype(recipe)::value>,
                    {tiles_of(view.matrix), PairTile::threads}, stream, view);
    });
    RowSelection selection;
    selection.values = view.matrix.scores;
    selection.stride = view.matrix.stride;
    selection.rows = search.count;
    selection.columns = corpus.count;
    selection.k = search.k;
    selection.first_row = corpus.first_row;
    selection.kth = limits;
    select_.select_async(selection, stream);
    traced_launch(multiselect_candidates_kernel, {search.count, block_threads}, stream, view);
    rescore_async(view, corpus.recipe, stream);

    // For queries with more candidates than room, quick multi-select selects from exact scores. The
    // matrix already holds exact scores, except for squared differences.
    if (corpus.count <= view.room) return;
    if (corpus.recipe == Recipe::squared_differences)
      traced_launch(multiselect_exact_kernel, {tiles_of(view.matrix), PairTile::threads}, stream,
                    view);
    selection.kth = nullptr;
    selection.lists = search.lists;
    selection.counts = view.counts;
    selection.count_max = view.room;
    select_.select_async(selection, stream);
  }

  static void norms_async(const MatrixSide& side, std::uint32_t dimension, float* norms,
                          const CudaStream& stream) {
    traced_launch(multiselect_norms_kernel,
                  {blocks_for(std::uint64_t{side.count} * warp_lanes), block_threads}, stream,
                  side.components, side.count, dimension, norms);
  }

  static void rescore_async(const MultiselectView& view, Recipe recipe, const CudaStream& stream) {
    const auto kernel = with_recipe(
        recipe, [](auto chosen) { return multiselect_rescore_kernel<decltype(chosen)::value>; });
    // Rounded up, because the compiler reads components in pairs even if the dimension is odd.
    const std::size_t components = (std::size_t{view.matrix.dimension} + 3) / 4 * 4;
    const std::size_t shared_bytes = view.room * sizeof(std::uint64_t) + components * sizeof(float);
    allow_shared_bytes(kernel);
    traced_launch(kernel, {view.matrix.a.count, rescore_threads, shared_bytes}, stream, view);
  }

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<float> matrix_;
  DeviceBuffer<float> norms_;  ///< norms of rows, then of queries; then limits of queries
  DeviceBuffer<std::uint32_t> candidates_;  ///< counts, then columns
  DeviceBuffer<VectorNeighbor> part_lists_;
  QuickMultiselect select_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_multiselect(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Multiselect>(memory, bytes_max);
}

}  // namespace starling::gpu
