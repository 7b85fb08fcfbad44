// The table of searchers, and the suite made out of it.
#include "tests/vectors/searchers.hpp"

#include <utility>

#include "cpu/vector_searcher.hpp"
#include "tests/vectors/vectors.hpp"
#ifdef STARLING_CUDA
#include "gpu/gpu_engine.hpp"
#include "gpu/split_searcher.hpp"
#include "gpu/vector_searcher.hpp"
#endif

namespace starling::test {

namespace {

// Several threads wherever it runs, so that lists are merged.
constexpr unsigned cpu_threads = 3;

#ifdef STARLING_CUDA
SearcherChoice cuda_choice(std::string variant,
                           std::function<std::unique_ptr<VectorSearcher>()> make) {
  SearcherChoice choice{"cuda", std::move(make), {}, std::move(variant)};
  if (!gpu::find_devices(choice.why_skipped).empty()) choice.why_skipped.clear();
  return choice;
}

std::unique_ptr<VectorSearcher> searcher_in_little_memory() {
  gpu::VectorSearcherOptions options;
  options.memory_bytes_max = std::uint64_t{32} << 20;  // too little for the suite's larger corpora
  return gpu::make_vector_searcher(options);
}

// All devices there are, and three shares wherever it runs.
std::unique_ptr<VectorSearcher> searcher_of_shares() {
  std::string why_none;
  std::vector<int> numbers;
  for (const gpu::DeviceInfo& device : gpu::find_devices(why_none))
    numbers.push_back(device.number);
  while (numbers.size() < 3) numbers.push_back(numbers.front());
  return gpu::make_vector_searcher(numbers);
}
#endif

}  // namespace

const std::vector<SearcherChoice>& searchers() {
  static const std::vector<SearcherChoice> all{
      {"cpu", [] { return cpu::make_vector_searcher(cpu_threads); }, {}, {}},
#ifdef STARLING_CUDA
      cuda_choice("", [] { return gpu::make_vector_searcher(0); }),
      cuda_choice("_in_little_memory", searcher_in_little_memory),
      cuda_choice("_in_shares", searcher_of_shares),
#endif
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Searchers, Vectors, ::testing::ValuesIn(searchers()),
                         [](const auto& run) { return run.param.test_name(); });

}  // namespace starling::test
