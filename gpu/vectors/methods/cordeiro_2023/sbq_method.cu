// SPDX-License-Identifier: Apache-2.0
// SBQ-KNN, the method of Cordeiro 2023: section 4.1, algorithm 1. The queries are divided evenly
// among the blocks that run at once, and each block searches its queries alone. All blocks together
// search each query of the remainder.
#include <algorithm>

#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/cordeiro_2023/sbq_kernel.cuh"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/methods/method_workspace.hpp"

namespace starling::gpu {
namespace {

using Bytes = MethodWorkspace;

class Sbq final : public VectorMethod {
 public:
  Sbq(DeviceMemory& memory, std::uint64_t bytes_max) : workspace_(memory, bytes_max) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    if (search.count == 0) return;
    const auto kernel = with_recipe(
        corpus.recipe, [](auto recipe) { return &sbq_knn_kernel<decltype(recipe)::value>; });
    LaunchShape shape;
    shape.threads = dim3(SbqTuning::knn_threads);
    shape.shared_bytes = sbq_shared_bytes(corpus.dimension, search.k);
    const unsigned blocks = resident_blocks(kernel, SbqTuning::knn_threads, shape.shared_bytes);

    SbqTask task;
    task.points = corpus.components;
    task.point_count = corpus.count;
    task.first_point = corpus.first_row;
    task.dimension = corpus.dimension;
    task.k = search.k;
    const std::uint32_t per_block = search.count / blocks;
    const std::uint32_t remaining = search.count % blocks;
    if (per_block > 0) {
      shape.blocks = dim3(blocks);
      task.queries_per_block = per_block;
      begin_at(task, search, 0);
      traced_launch(kernel, shape, stream, task);
    }
    if (remaining == 0) return;

    task.queries_per_block = 0;
    partition(task, corpus.count, blocks);
    const std::uint32_t partitions = blocks_for(std::max(corpus.count, 1u), task.partition_rows);
    const std::uint64_t length = std::uint64_t{task.partial_length} * partitions;
    const std::uint64_t room = workspace_.bytes_max() / sizeof(std::uint64_t);
    const auto batch =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(room / length, 1, remaining));
    workspace_.begin(Bytes::bytes_for<std::uint64_t>(batch * length));
    task.partial = workspace_.cut<std::uint64_t>(batch * length);
    for (std::uint32_t begin = search.count - remaining; begin < search.count; begin += batch) {
      const std::uint32_t count = std::min(batch, search.count - begin);
      shape.blocks = dim3(partitions, count);
      begin_at(task, search, begin);
      traced_launch(kernel, shape, stream, task);
      select_async(task, length, count, stream);
    }
  }

 private:
  static void begin_at(SbqTask& task, const DeviceSearch& search, std::uint32_t query) {
    task.queries = search.queries + std::size_t{query} * task.dimension;
    task.lists = search.lists + std::size_t{query} * search.k;
    task.first_self = search.first_self == no_row ? no_self : search.first_self + query;
  }

  /// Makes one partition for each block, or fewer if the partial lists of one query would not fit.
  /// A list has k entries, or as many entries as its partition has rows if that is less. If all
  /// lists of a query would then have fewer than k entries together, each list is longer.
  void partition(SbqTask& task, std::uint32_t point_count, unsigned blocks) const {
    const std::uint64_t lists_max = workspace_.bytes_max() / (task.k * sizeof(std::uint64_t));
    const auto partitions = static_cast<unsigned>(std::clamp<std::uint64_t>(lists_max, 1, blocks));
    const std::uint32_t rows = blocks_for(std::max(point_count, 1u), partitions);
    task.partition_rows = blocks_for(rows, SbqTuning::tile_rows) * SbqTuning::tile_rows;
    const std::uint32_t made = blocks_for(std::max(point_count, 1u), task.partition_rows);
    const std::uint32_t least = blocks_for(task.k, made);
    task.partial_length = std::min(task.k, std::max(task.partition_rows, least));
  }

  static void select_async(const SbqTask& task, std::uint64_t length, std::uint32_t count,
                           const CudaStream& stream) {
    LaunchShape shape;
    shape.blocks = dim3(count);
    shape.threads = dim3(SbqTuning::select_threads);
    shape.shared_bytes = sorted_size_of(task.k) * sizeof(std::uint64_t);
    const std::uint64_t* vector = task.partial;
    traced_launch(&sbq_select_kernel, shape, stream, vector, length, task.k, task.lists);
  }

  MethodWorkspace workspace_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_sbq(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Sbq>(memory, bytes_max);
}

}  // namespace starling::gpu
