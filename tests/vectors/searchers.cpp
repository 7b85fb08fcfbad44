// The table of searchers, and the suite made out of it.
#include "tests/vectors/searchers.hpp"

#include <utility>

#include "cpu/vector_searcher.hpp"
#include "tests/vectors/vectors.hpp"
#ifdef STARLING_CUDA
#include "gpu/gpu_engine.hpp"
#include "gpu/vector_searcher.hpp"
#endif

namespace starling::test {

namespace {

// Several threads wherever it runs, so that lists are merged.
constexpr unsigned cpu_threads = 3;

#ifdef STARLING_CUDA
SearcherChoice cuda_choice(std::function<std::unique_ptr<VectorSearcher>()> make) {
  SearcherChoice choice{"cuda", std::move(make), {}};
  if (!gpu::find_devices(choice.why_skipped).empty()) choice.why_skipped.clear();
  return choice;
}
#endif

}  // namespace

const std::vector<SearcherChoice>& searchers() {
  static const std::vector<SearcherChoice> all{
      {"cpu", [] { return cpu::make_vector_searcher(cpu_threads); }, {}},
#ifdef STARLING_CUDA
      cuda_choice([] { return gpu::make_vector_searcher(0); }),
#endif
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Searchers, Vectors, ::testing::ValuesIn(searchers()),
                         [](const auto& run) { return run.param.name; });

}  // namespace starling::test
