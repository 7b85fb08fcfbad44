// SPDX-License-Identifier: Apache-2.0
// The method of Kato & Hosino 2009 on one device, which works alone or as one of several. For one
// grid after another, it computes all distances of the grid and pushes them to the heaps of the
// grid's rows.
#include <algorithm>
#include <utility>

#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/kato_2009/kato_assignment.hpp"
#include "starling/gpu/vectors/methods/kato_2009/kato_kernel.cuh"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/methods/method_workspace.hpp"

namespace starling::gpu {
namespace {

/// The most distances of a rectangular grid. They take 256 MiB and are 16,384 tiles, which keep
/// every device busy.
constexpr std::uint64_t cells_max = std::uint64_t{1} << 26;
/// The largest side of a grid of a graph, and the most rows of a rectangular grid.
constexpr std::uint32_t side_max = 8192;
constexpr std::uint32_t columns_max = std::uint32_t{1} << 20;
/// If grids of a graph must be smaller than this to fit the memory, rectangular grids are faster
/// and are used instead.
constexpr std::uint32_t side_min = 512;

std::uint32_t padded(std::uint32_t count) {
  return (count + KatoTuning::tile - 1) / KatoTuning::tile * KatoTuning::tile;
}

using Bytes = MethodWorkspace;

class Kato final : public VectorMethod {
 public:
  Kato(DeviceMemory& memory, std::uint64_t bytes_max) : workspace_(memory, bytes_max) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    if (search.count == 0) return;
    const bool is_graph = is_symmetric(corpus.recipe) && search.first_self == corpus.first_row &&
                          search.count == corpus.count;
    const std::uint32_t side = is_graph ? graph_side(search.count, search.k, 1) : 0;
    if (side == 0) return search_queries_async(corpus, search, stream);
    find_graph_async(corpus, search.k, {0, 1, side}, stream);
    write_graph_async(0, search.count, search.lists, stream);
  }

  /// The paper's GSIZE "depends on n so that the problem can be divided effectively". Here all
  /// grids have the same side, as large as side_max and the memory allow. Returns 0 if there is no
  /// room for all heaps and two grids.
  std::uint32_t graph_side(std::uint32_t rows, std::uint32_t k,
                           std::uint32_t devices) const override {
    for (std::uint32_t most = side_max; most >= side_min; most /= 2) {
      const std::uint32_t grids = kato_grid_rows(rows, most, devices);
      const std::uint32_t side = padded((rows - 1) / grids + 1);
      if (graph_bytes(rows, k, side) <= workspace_.bytes_max()) return side;
    }
    return 0;
  }

  /// Section IV, fig. 5: computes only the grids on the diagonal of the distance matrix and to the
  /// right of it. Pushes the distances of a grid to the heaps of the grid's rows and, mirrored, to
  /// the heaps of the grid's columns. Each device computes its own rows of grids and has heaps of
  /// all rows. The heaps stay in workspace_ for write_graph_async().
  void find_graph_async(const RowMajorView& corpus, std::uint32_t k, const GraphShare& share,
                        const CudaStream& stream) override {
    const std::uint32_t side = share.side;
    graph_ = {};
    workspace_.begin(graph_bytes(corpus.count, k, side));
    auto* heaps = workspace_.cut<std::uint64_t>(std::uint64_t{corpus.count} * k);
    auto* distances = workspace_.cut<float>(std::uint64_t{side} * side);
    auto* mirrored = workspace_.cut<float>(std::uint64_t{side} * side);
    clear(heaps, corpus.count, k, stream);
    const std::uint32_t grids = (corpus.count - 1) / side + 1;
    for (std::uint32_t y = 0; y < grids; ++y) {
      if (kato_device_of(y, share.devices) != share.device) continue;
      for (std::uint32_t x = y; x < grids; ++x) {
        KatoGrid grid;
        const std::uint32_t row = y * side;
        const std::uint32_t column = x * side;
        grid.rows = corpus.components + std::size_t{row} * corpus.dimension;
        grid.columns = corpus.components + std::size_t{column} * corpus.dimension;
        grid.row_count = std::min(side, corpus.count - row);
        grid.column_count = std::min(side, corpus.count - column);
        grid.dimension = corpus.dimension;
        grid.distances = distances;
        grid.stride = side;
        grid.on_diagonal = x == y;
        grid.mirrored = grid.on_diagonal ? distances : mirrored;
        grid.mirror_stride = side;
        distances_async(grid, corpus.recipe, stream);
        const auto push = [&](const float* from, std::uint32_t to, std::uint32_t count,
                              std::uint32_t of, std::uint32_t of_count) {
          KatoRows rows;
          rows.distances = from;
          rows.stride = side;
          rows.column_count = of_count;
          rows.first_column = corpus.first_row + of;
          rows.first_self = corpus.first_row + to;
          rows.heaps = heaps + std::size_t{to} * k;
          rows.k = k;
          select_async(rows, count, stream);
        };
        push(distances, row, grid.row_count, column, grid.column_count);
        if (x != y) push(mirrored, column, grid.column_count, row, grid.row_count);
      }
    }
    graph_ = {heaps, corpus.count, k};
  }

  void write_graph_async(std::uint32_t first, std::uint32_t count, VectorNeighbor* lists,
                         const CudaStream& stream) override {
    check_invariant(graph_.heaps != nullptr && count <= graph_.rows && first <= graph_.rows - count,
                    "the lists of a graph are those of rows whose heaps are there");
    if (count == 0) return;
    finish_async(graph_.heaps + std::size_t{first} * graph_.k, count, graph_.k, lists, stream);
  }

 private:
  /// The graph that find_graph_async() found last, until the next search.
  struct FoundGraph {
    const std::uint64_t* heaps = nullptr;  ///< [rows][k], in workspace_; null: there is no graph
    std::uint32_t rows = 0;
    std::uint32_t k = 0;
  };

  static std::uint64_t graph_bytes(std::uint64_t rows, std::uint32_t k, std::uint64_t side) {
    return Bytes::bytes_for<std::uint64_t>(rows * k) + 2 * Bytes::bytes_for<float>(side * side);
  }

  /// Searches in rectangular grids, without using symmetry. This serves queries that are not all
  /// rows of the corpus, and graphs for which graph_side() is 0.
  void search_queries_async(const RowMajorView& corpus, const DeviceSearch& search,
                            const CudaStream& stream) {
    const auto [rows_max, columns] = rectangle(search, corpus.count);
    graph_ = {};
    workspace_.begin(rectangle_bytes(rows_max, columns, search.k));
    auto* heaps = workspace_.cut<std::uint64_t>(std::uint64_t{rows_max} * search.k);
    auto* distances = workspace_.cut<float>(std::uint64_t{rows_max} * columns);
    for (std::uint32_t row = 0; row < search.count; row += rows_max) {
      const std::uint32_t count = std::min(rows_max, search.count - row);
      clear(heaps, count, search.k, stream);
      for (std::uint32_t column = 0; column < corpus.count; column += columns) {
        KatoGrid grid;
        grid.rows = search.queries + std::size_t{row} * corpus.dimension;
        grid.columns = corpus.components + std::size_t{column} * corpus.dimension;
        grid.row_count = count;
        grid.column_count = std::min(columns, corpus.count - column);
        grid.dimension = corpus.dimension;
        grid.distances = distances;
        grid.stride = columns;
        distances_async(grid, corpus.recipe, stream);
        KatoRows rows;
        rows.distances = distances;
        rows.stride = columns;
        rows.column_count = grid.column_count;
        rows.first_column = corpus.first_row + column;
        rows.first_self = search.first_self == no_row ? no_self : search.first_self + row;
        rows.heaps = heaps;
        rows.k = search.k;
        select_async(rows, count, stream);
      }
      finish_async(heaps, count, search.k, search.lists + std::size_t{row} * search.k, stream);
    }
  }

  static std::uint64_t rectangle_bytes(std::uint64_t rows, std::uint64_t columns, std::uint32_t k) {
    return Bytes::bytes_for<std::uint64_t>(rows * k) + Bytes::bytes_for<float>(rows * columns);
  }

  /// Returns the numbers of rows and columns of a rectangular grid; both are whole tiles.
  std::pair<std::uint32_t, std::uint32_t> rectangle(const DeviceSearch& search,
                                                    std::uint32_t corpus_count) const {
    std::uint32_t rows = padded(std::min(search.count, side_max));
    const auto wide = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        {cells_max / rows, std::uint64_t{columns_max}, std::uint64_t{std::max(corpus_count, 1u)}}));
    std::uint32_t columns = padded(wide);
    while (rectangle_bytes(rows, columns, search.k) > workspace_.bytes_max() &&
           std::max(rows, columns) > KatoTuning::tile) {
      std::uint32_t& larger = rows >= columns ? rows : columns;
      larger = padded(larger / 2);
    }
    return {rows, columns};
  }

  static void clear(std::uint64_t* heaps, std::uint32_t count, std::uint32_t k,
                    const CudaStream& stream) {
    check(
        cudaMemsetAsync(heaps, 0xff, std::size_t{count} * k * sizeof(std::uint64_t), stream.get()));
  }

  static void distances_async(const KatoGrid& grid, Recipe recipe, const CudaStream& stream) {
    constexpr unsigned waves = 8;
    const auto kernel = with_recipe(recipe, [](auto chosen) {
      return &kato_distances_kernel<KatoDistance<decltype(chosen)::value>>;
    });
    const unsigned row_tiles = padded(grid.row_count) / KatoTuning::tile;
    const unsigned column_tiles = padded(grid.column_count) / KatoTuning::tile;
    const unsigned wanted = waves * resident_blocks(kernel, KatoTuning::distance_threads, 0);
    LaunchShape shape;
    shape.blocks = dim3(row_tiles, std::clamp(wanted / row_tiles, 1u, column_tiles));
    shape.threads = dim3(KatoTuning::distance_threads);
    traced_launch(kernel, shape, stream, grid);
  }

  static void select_async(const KatoRows& rows, std::uint32_t count, const CudaStream& stream) {
    LaunchShape shape;
    shape.blocks = dim3(count);
    shape.threads = dim3(KatoTuning::select_threads);
    shape.shared_bytes = kato_heap_bytes(rows.k);
    traced_launch(&kato_select_kernel, shape, stream, rows);
  }

  static void finish_async(const std::uint64_t* heaps, std::uint32_t count, std::uint32_t k,
                           VectorNeighbor* lists, const CudaStream& stream) {
    LaunchShape shape;
    shape.blocks = dim3(count);
    shape.threads = dim3(block_threads);
    shape.shared_bytes = sorted_size_of(k) * sizeof(std::uint64_t);
    traced_launch(&kato_finish_kernel, shape, stream, heaps, k, lists);
  }

  MethodWorkspace workspace_;
  FoundGraph graph_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_kato(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Kato>(memory, bytes_max);
}

}  // namespace starling::gpu
