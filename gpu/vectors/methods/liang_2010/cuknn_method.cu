// SPDX-License-Identifier: Apache-2.0
// CUKNN, the method of Liang et al. 2010. Computes the distances of a batch of queries to all
// references, then finds the nearest references of each segment, then the nearest of all segments.
#include <algorithm>

#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/liang_2010/cuknn_kernel.cuh"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/methods/method_workspace.hpp"

namespace starling::gpu {
namespace {

/// The most queries of a batch; a launch allows 65,535 blocks in y.
constexpr std::uint32_t queries_max = std::uint32_t{1} << 15;
/// If there is no room for CuknnTuning::queries queries with all references, the references are
/// divided into parts of at least this many references.
constexpr std::uint32_t part_min = 8192;

using Bytes = MethodWorkspace;

class Cuknn final : public VectorMethod {
 public:
  Cuknn(DeviceMemory& memory, std::uint64_t bytes_max) : workspace_(memory, bytes_max) {}

  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    if (search.count == 0) return;
    const Plan plan = plan_for(corpus.count, search);
    workspace_.begin(bytes_for(plan, search.k));
    const Arrays arrays = cut(plan, search.k);
    for (std::uint32_t begin = 0; begin < search.count; begin += plan.queries) {
      DeviceSearch batch = search;
      batch.count = std::min(plan.queries, search.count - begin);
      batch.queries += std::size_t{begin} * corpus.dimension;
      batch.lists += std::size_t{begin} * search.k;
      batch.first_self = search.first_self == no_row ? no_self : search.first_self + begin;
      search_batch_async(corpus, batch, plan, arrays, stream);
    }
  }

 private:
  struct Plan {
    std::uint32_t queries = 1;   ///< queries of a batch
    std::uint32_t segments = 1;  ///< segments of a part of the references
  };
  struct Arrays {
    std::uint32_t* distances = nullptr;
    CuknnQueues queues;
    std::uint64_t* carried[2] = {};
  };

  static std::uint32_t queue_length(std::uint32_t k) { return std::min(k, CuknnTuning::segment); }

  static std::uint64_t bytes_for(const Plan& plan, std::uint32_t k) {
    const std::uint64_t tops = std::uint64_t{plan.queries} * plan.segments;
    return Bytes::bytes_for<std::uint32_t>(tops * CuknnTuning::segment) +
           Bytes::bytes_for<std::uint64_t>(tops * queue_length(k)) +
           Bytes::bytes_for<std::uint64_t>(tops) + Bytes::bytes_for<std::uint16_t>(tops) +
           2 * Bytes::bytes_for<std::uint64_t>(std::uint64_t{plan.queries} * k);
  }

  Arrays cut(const Plan& plan, std::uint32_t k) {
    const std::uint64_t tops = std::uint64_t{plan.queries} * plan.segments;
    Arrays arrays;
    arrays.distances = workspace_.cut<std::uint32_t>(tops * CuknnTuning::segment);
    arrays.queues.keys = workspace_.cut<std::uint64_t>(tops * queue_length(k));
    arrays.queues.tops = workspace_.cut<std::uint64_t>(tops);
    arrays.queues.positions = workspace_.cut<std::uint16_t>(tops);
    arrays.queues.length = queue_length(k);
    for (std::uint64_t*& carried : arrays.carried)
      carried = workspace_.cut<std::uint64_t>(std::uint64_t{plan.queries} * k);
    return arrays;
  }

  /// Plans all references at once, for as many queries as fit. If even CuknnTuning::queries queries
  /// do not fit, plans parts of the references.
  Plan plan_for(std::uint32_t reference_count, const DeviceSearch& search) const {
    const auto fits = [&](const Plan& plan) {
      return bytes_for(plan, search.k) <= workspace_.bytes_max();
    };
    constexpr std::uint32_t segments_min = part_min / CuknnTuning::segment;
    Plan plan;
    plan.segments = blocks_for(std::max(reference_count, 1u), CuknnTuning::segment);
    plan.queries = std::min(search.count, CuknnTuning::queries);
    while (!fits(plan) && plan.segments > segments_min)
      plan.segments = std::max((plan.segments + 1) / 2, segments_min);
    while (!fits(plan) && plan.queries > 1) plan.queries /= 2;
    Plan larger = plan;
    for (;; plan = larger) {
      larger.queries = std::min({plan.queries * 2, search.count, queries_max});
      if (larger.queries == plan.queries || !fits(larger)) return plan;
    }
  }

  static void search_batch_async(const RowMajorView& corpus, const DeviceSearch& batch,
                                 const Plan& plan, const Arrays& arrays, const CudaStream& stream) {
    const std::uint32_t part = plan.segments * CuknnTuning::segment;
    CuknnLists lists;
    lists.k = batch.k;
    std::uint32_t begin = 0;
    do {  // runs at least once, so that lists are emptied if there are no references
      CuknnDistances task;
      task.queries = batch.queries;
      task.references = corpus.components + std::size_t{begin} * corpus.dimension;
      task.query_count = batch.count;
      task.reference_count = std::min(part, corpus.count - begin);
      task.dimension = corpus.dimension;
      task.first_reference = corpus.first_row + begin;
      task.first_self = batch.first_self;
      task.distances = arrays.distances;
      CuknnQueues queues = arrays.queues;
      queues.query_count = batch.count;
      queues.segment_count = blocks_for(std::max(task.reference_count, 1u), CuknnTuning::segment);
      task.stride = queues.segment_count * CuknnTuning::segment;
      distances_async(task, queues.segment_count, corpus.recipe, stream);
      local_async(task, queues, stream);
      begin += task.reference_count;
      const bool is_last = begin == corpus.count;
      lists.after = is_last ? nullptr : arrays.carried[begin / part % 2];
      lists.neighbors = batch.lists;
      global_async(queues, lists, stream);
      lists.before = lists.after;
    } while (begin < corpus.count);
  }

  static void distances_async(const CuknnDistances& task, std::uint32_t segments, Recipe recipe,
                              const CudaStream& stream) {
    constexpr unsigned waves = 8;
    const auto kernel = with_recipe(
        recipe, [](auto chosen) { return &cuknn_distances_kernel<decltype(chosen)::value>; });
    const unsigned groups = blocks_for(task.query_count, CuknnTuning::queries);
    const unsigned wanted = waves * resident_blocks(kernel, CuknnTuning::segment, 0);
    LaunchShape shape;
    shape.blocks = dim3(segments, std::clamp(wanted / segments, 1u, groups));
    shape.threads = dim3(CuknnTuning::segment);
    traced_launch(kernel, shape, stream, task);
  }

  static void local_async(const CuknnDistances& task, const CuknnQueues& queues,
                          const CudaStream& stream) {
    LaunchShape shape;
    shape.blocks = dim3(queues.segment_count, queues.query_count);
    shape.threads = dim3(CuknnTuning::segment);
    const std::uint32_t* distances = task.distances;
    traced_launch(&cuknn_local_kernel, shape, stream, distances, task.stride, task.first_reference,
                  queues);
  }

  static void global_async(const CuknnQueues& queues, const CuknnLists& lists,
                           const CudaStream& stream) {
    LaunchShape shape;
    shape.blocks = dim3(blocks_for(queues.query_count, CuknnTuning::global_threads));
    shape.threads = dim3(CuknnTuning::global_threads);
    traced_launch(&cuknn_global_kernel, shape, stream, queues, lists);
  }

  MethodWorkspace workspace_;
};

}  // namespace

std::unique_ptr<VectorMethod> make_cuknn(DeviceMemory& memory, std::uint64_t bytes_max) {
  return std::make_unique<Cuknn>(memory, bytes_max);
}

}  // namespace starling::gpu
