# SPDX-License-Identifier: Apache-2.0
"""A toy method of k-NN on a GPU: a thread for each query, which reads the corpus once for each neighbour."""

from toys.edits import after, before, changelog, new, replace

SECTION = "Add a GPU method"
MODEL = "gpu/vectors/methods/cordeiro_2023/sbq_method.cu"

STEPS = [
    (1, [
        before("knn/vectors/searcher.hpp", "  sbq, ",
              "  toy,          ///< a toy\n"),
    ]),
    (2, [
        after("gpu/vectors/methods/method.hpp", """\
std::unique_ptr<VectorMethod> make_multiselect(DeviceMemory& memory, std::uint64_t bytes_max);
""", """\
std::unique_ptr<VectorMethod> make_toy(DeviceMemory& memory, std::uint64_t bytes_max);
"""),
    ]),
    (3, [
        new("gpu/vectors/methods/toy_2026/toy_kernel.cuh", """\
// SPDX-License-Identifier: Apache-2.0
// The kernel of the toy method, which toy_method.cu launches.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/methods/method_keys.cuh"

namespace starling::gpu {

struct ToyTask {
  const float* points = nullptr;  ///< [point_count][dimension]
  std::uint32_t point_count = 0;
  std::uint32_t first_point = 0;   ///< the number of the row that is point 0
  const float* queries = nullptr;  ///< [query_count][dimension]
  std::uint32_t query_count = 0;
  std::uint32_t dimension = 1;
  std::uint32_t k = 1;
  std::uint32_t first_self = 0;     ///< see first_self_of(); query i is row first_self + i
  VectorNeighbor* lists = nullptr;  ///< [query_count][k]
};

/// Grid: a thread for each query. Each of k passes over the points finds the smallest key that is
/// larger than that of the pass before. The lists are valid when the kernel has ended. No shared
/// memory.
template <Recipe recipe>
__global__ void toy_kernel(ToyTask task) {
  const std::uint64_t query = thread_index();
  if (query >= task.query_count) return;
  const float* x = task.queries + query * task.dimension;
  std::uint64_t last = 0;
  for (std::uint32_t rank = 0; rank < task.k; ++rank) {
    std::uint64_t best = no_key;
    for (std::uint32_t point = 0; point < task.point_count; ++point) {
      const std::uint32_t row = task.first_point + point;
      if (row == task.first_self + query) continue;
      const float* y = task.points + std::size_t{point} * task.dimension;
      float sum = 0;
      for (std::uint32_t i = 0; i < task.dimension; ++i) sum = add_component<recipe>(x[i], y[i], sum);
      const std::uint64_t key = key_of(score_of<recipe>(sum), row);
      if ((rank == 0 || key > last) && key < best) best = key;
    }
    task.lists[query * task.k + rank] = neighbor_of_key(best);
    last = best;
  }
}

}  // namespace starling::gpu
""", like=MODEL),
        new("gpu/vectors/methods/toy_2026/toy_method.cu", """\
// SPDX-License-Identifier: Apache-2.0
// A toy method: see toy_kernel.cuh.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/methods/toy_2026/toy_kernel.cuh"

namespace starling::gpu {
namespace {

class Toy final : public VectorMethod {
 public:
  void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                    const CudaStream& stream) override {
    if (search.count == 0) return;
    const auto kernel = with_recipe(
        corpus.recipe, [](auto recipe) { return &toy_kernel<decltype(recipe)::value>; });
    ToyTask task;
    task.points = corpus.components;
    task.point_count = corpus.count;
    task.first_point = corpus.first_row;
    task.queries = search.queries;
    task.query_count = search.count;
    task.dimension = corpus.dimension;
    task.k = search.k;
    task.first_self = first_self_of(search.first_self);
    task.lists = search.lists;
    LaunchShape shape;
    shape.blocks = dim3(blocks_for(search.count));
    shape.threads = dim3(block_threads);
    traced_launch(kernel, shape, stream, task);
  }
};

}  // namespace

std::unique_ptr<VectorMethod> make_toy(DeviceMemory&, std::uint64_t) {
  return std::make_unique<Toy>();
}

}  // namespace starling::gpu
""", like=MODEL),
    ]),
    (4, [
        after("gpu/CMakeLists.txt", "    vectors/methods/russica_2023/russica_method.cu\n",
              "    vectors/methods/toy_2026/toy_method.cu\n"),
    ]),
    (5, [
        before("tests/house/include_table.cpp", """\
      {"gpu/vectors/methods/kato_2009",
""", """\
      {"gpu/vectors/methods/toy_2026",
       {"gpu/device", "gpu/vectors/corpus", "gpu/vectors/methods"}},
"""),
    ]),
    (6, [
        after("gpu/vectors/device_searcher.cpp", "    {SearchMethod::sbq, &make_sbq},\n",
              "    {SearchMethod::toy, &make_toy},\n"),
    ]),
    (7, [
        after("tests/gpu/vectors/methods/methods_test.cpp", """\
      {"sbq", SearchMethod::sbq, &make_sbq, {"sbq_knn_kernel", "sbq_select_kernel"}, {}},
""", """\
      {"toy", SearchMethod::toy, &make_toy, {"toy_kernel"}, {}},
"""),
        replace("tests/vectors/trial.cpp", "        SearchMethod::sbq})\n",
                "        SearchMethod::sbq, SearchMethod::toy})\n"),
    ]),
    (8, [
        replace("apps/shared/engines.cpp", "SearchMethod>, 8> methods{{", "SearchMethod>, 9> methods{{"),
        after("apps/shared/engines.cpp", '    {"sbq", SearchMethod::sbq},\n',
              '    {"toy", SearchMethod::toy},\n'),
    ]),
    (9, [
        after("bench/vectors/paper_tables.cpp", """\
    case SearchMethod::sbq:
      return "sbq";
""", """\
    case SearchMethod::toy:
      return "toy";
"""),
    ]),
    (10, [
        before("docs/vector-methods.md", "## Upload beside search\n", """\
## toy

A thread for each query reads the corpus k times.

"""),
        after("docs/vectors.md", "| `sbq` | Cordeiro, *SBQ-KNN* (2023) |\n",
              "| `toy` | none: it is a toy |\n"),
        changelog("`starling knn --method toy`."),
    ]),
]

LEFT_OUT = {}

# Sources that the toy changes and that the build without CUDA does not compile.
CUDA_SOURCES = ["gpu/vectors/methods/toy_2026/toy_method.cu", "gpu/vectors/device_searcher.cpp",
                "tests/gpu/vectors/methods/methods_test.cpp", "tests/vectors/trial.cpp",
                "bench/vectors/paper_tables.cpp"]
