// SPDX-License-Identifier: Apache-2.0
// Makes the list of searchers under test, and instantiates the suite for each of them.
#include "tests/vectors/searchers.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "starling/cpu/backend.hpp"
#include "starling/cpu/vectors/searcher.hpp"
#include "tests/vectors/vectors.hpp"
#ifdef STARLING_CUDA
#include "starling/gpu/backend.hpp"
#endif

namespace starling::test {

namespace {

// On every machine there are several threads, so that their lists are merged.
constexpr unsigned cpu_threads = 3;

SearcherChoice cpu_choice(std::string_view simd, cpu::RowFilter filter, const char* variant) {
  return {"cpu",
          [simd, filter] {
            cpu::use_simd_target(simd);
            return cpu::make_panel_searcher(cpu_threads, filter);
          },
          {},
          "_" + std::string(simd) + variant};
}

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

// Returns the options of at least three shares, and of at least one share for each device of the
// machine.
std::vector<gpu::VectorSearcherOptions> shares() {
  std::string why_none;
  const std::vector<gpu::DeviceInfo> devices = gpu::find_devices(why_none);
  std::vector<gpu::VectorSearcherOptions> options(std::max<std::size_t>(devices.size(), 3));
  for (std::size_t i = 0; i < options.size(); ++i)
    options[i].device = devices[i % devices.size()].number;
  return options;
}

// Returns a searcher in which each share has the whole corpus.
std::unique_ptr<VectorSearcher> searcher_of_shares() {
  return gpu::make_vector_searcher(shares());
}

// Returns a searcher in which each share has a part of the corpus. So lists must be merged.
std::unique_ptr<VectorSearcher> sharded_searcher() {
  return gpu::make_vector_searcher(
      shares(), {.placement = gpu::RowPlacement::shares, .transport = gpu::ListTransport::copies});
}

// Returns the same as sharded_searcher(), but with little memory. If a share's part does not fit,
// the share reads it from host memory piece by piece.
std::unique_ptr<VectorSearcher> sharded_searcher_in_little_memory() {
  std::vector<gpu::VectorSearcherOptions> options = shares();
  for (gpu::VectorSearcherOptions& device : options)
    device.memory_bytes_max = std::uint64_t{32} << 20;
  return gpu::make_vector_searcher(
      options, {.placement = gpu::RowPlacement::shares, .transport = gpu::ListTransport::copies});
}

// Returns a searcher that exchanges lists by NCCL. NCCL allows one rank for each device, so each
// device has one share.
std::unique_ptr<VectorSearcher> sharded_searcher_over_nccl() {
  std::vector<gpu::VectorSearcherOptions> options = shares();
  std::string why_none;
  options.resize(gpu::find_devices(why_none).size());
  return gpu::make_vector_searcher(
      options, {.placement = gpu::RowPlacement::shares, .transport = gpu::ListTransport::nccl});
}

SearcherChoice nccl_choice() {
  SearcherChoice choice = cuda_choice("_sharded_over_nccl", sharded_searcher_over_nccl);
  if (!choice.why_skipped.empty()) return choice;
  std::string why_none;
  if (gpu::find_devices(why_none).size() < 2)
    choice.why_skipped = "NCCL merges the lists of two or more GPUs; this machine has one";
  else
    static_cast<void>(gpu::nccl_version(choice.why_skipped));
  return choice;
}
#endif

}  // namespace

const std::vector<SearcherChoice>& searchers() {
  static const std::vector<SearcherChoice> all = [] {
    std::vector<SearcherChoice> choices;
    for (const std::string_view simd : cpu::simd_targets()) {
      choices.push_back(cpu_choice(simd, cpu::RowFilter::never, "_direct"));
      choices.push_back(cpu_choice(simd, cpu::RowFilter::always, "_filtered"));
      // The tree has no SIMD of its own: its code differs only in how it multiplies and adds.
      if (simd == cpu::simd_targets().front() || simd == "portable")
        choices.push_back(cpu_choice(simd, cpu::RowFilter::tree, "_in_a_tree"));
    }
#ifdef STARLING_CUDA
    choices.push_back(cuda_choice("", [] { return gpu::make_vector_searcher(0); }));
    choices.push_back(cuda_choice("_in_little_memory", searcher_in_little_memory));
    choices.push_back(cuda_choice("_in_shares", searcher_of_shares));
    choices.push_back(cuda_choice("_sharded", sharded_searcher));
    choices.push_back(cuda_choice("_sharded_in_little_memory", sharded_searcher_in_little_memory));
    choices.push_back(nccl_choice());
#endif
    return choices;
  }();
  return all;
}

INSTANTIATE_TEST_SUITE_P(Searchers, Vectors, ::testing::ValuesIn(searchers()),
                         [](const auto& run) { return run.param.test_name(); });

}  // namespace starling::test
