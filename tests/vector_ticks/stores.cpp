// The table of stores, and the suite made out of it.
#include "tests/vector_ticks/stores.hpp"

#include "cpu/vector_store.hpp"
#include "knn/vector_engine.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"

namespace starling::test {
namespace {

StoreChoice cpu_choice() {
  return {.name = "cpu", .make = [](const SpaceOptions& space, int threads) {
            return cpu::make_vector_store({.dimension = space.dimension,
                                           .metric = space.metric,
                                           .threads = static_cast<unsigned>(threads)});
          }};
}

}  // namespace

const std::vector<StoreChoice>& stores() {
  static const std::vector<StoreChoice> all{cpu_choice()};
  return all;
}

EngineChoice engine_on(const StoreChoice& store, const std::shared_ptr<StoreFaults>& faults) {
  EngineChoice choice;
  choice.name = choice.label = store.name;
  choice.make = [make = store.make, faults](const SpaceOptions& space, int threads) {
    return make_vector_engine({.dimension = space.dimension, .metric = space.metric},
                              make_faulty_store(make(space, threads), faults));
  };
  return choice;
}

INSTANTIATE_TEST_SUITE_P(Stores, VectorTicks, ::testing::ValuesIn(stores()),
                         [](const auto& run) { return run.param.name; });

}  // namespace starling::test
