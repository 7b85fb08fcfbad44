// SPDX-License-Identifier: Apache-2.0
// Makes the list of stores under test, and instantiates the suite for each of them.
#include "tests/vector_ticks/stores.hpp"

#include <string>
#include <string_view>

#include "starling/cpu/backend.hpp"
#include "starling/cpu/vectors/store.hpp"
#include "starling/knn/vectors/ticks/engine.hpp"
#include "tests/vector_ticks/ahead_store.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"
#ifdef STARLING_CUDA
#include "starling/gpu/backend.hpp"
#include "starling/gpu/vectors/store.hpp"
#endif

namespace starling::test {
namespace {

StoreChoice cpu_choice(std::string_view simd) {
  return {.name = "cpu",
          .label = "cpu_" + std::string(simd),
          .make = [simd](const SpaceOptions& space, int threads) {
            cpu::use_simd_target(simd);
            return cpu::make_vector_store({.dimension = space.dimension,
                                           .metric = space.metric,
                                           .threads = static_cast<unsigned>(threads)});
          }};
}

StoreChoice ahead_choice() {
  StoreChoice choice = cpu_choice(cpu::simd_targets().front());
  choice.label = "ahead";
  choice.make = [make = choice.make](const SpaceOptions& space, int threads) {
    return make_ahead_store(make(space, threads));
  };
  return choice;
}

#ifdef STARLING_CUDA
StoreChoice cuda_choice() {
  StoreChoice choice{
      .name = "cuda", .label = "cuda", .make = [](const SpaceOptions& space, int /*threads*/) {
        return gpu::make_vector_store({.dimension = space.dimension, .metric = space.metric});
      }};
  if (!gpu::find_devices(choice.why_skipped).empty()) choice.why_skipped.clear();
  return choice;
}
#endif

}  // namespace

const std::vector<StoreChoice>& stores() {
  static const std::vector<StoreChoice> all = [] {
    std::vector<StoreChoice> choices;
    for (const std::string_view simd : cpu::simd_targets()) choices.push_back(cpu_choice(simd));
    choices.push_back(ahead_choice());
#ifdef STARLING_CUDA
    choices.push_back(cuda_choice());
#endif
    return choices;
  }();
  return all;
}

EngineChoice engine_on(const StoreChoice& store, const std::shared_ptr<StoreFaults>& faults) {
  EngineChoice choice;
  choice.name = store.name;
  choice.label = store.label;
  choice.make = [make = store.make, faults](const SpaceOptions& space, int threads) {
    return make_vector_engine(
        {.dimension = space.dimension, .metric = space.metric, .part_bytes_min = 1},
        make_faulty_store(make(space, threads), faults));
  };
  return choice;
}

INSTANTIATE_TEST_SUITE_P(Stores, VectorTicks, ::testing::ValuesIn(stores()),
                         [](const auto& run) { return run.param.label; });

}  // namespace starling::test
