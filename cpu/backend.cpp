// SPDX-License-Identifier: Apache-2.0
// Chooses between the engine for moving points and the one for vectors: see backend.hpp.
#include "starling/cpu/backend.hpp"

#include <hwy/highway.h>

#include "starling/cpu/points/engine.hpp"
#include "starling/cpu/vectors/searcher.hpp"
#include "starling/cpu/vectors/store.hpp"
#include "starling/knn/vectors/ticks/engine.hpp"

namespace starling::cpu {

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  if (options.space.is_vector())
    return make_vector_engine(
        {.dimension = options.space.dimension, .metric = options.space.metric},
        make_vector_store({.dimension = options.space.dimension,
                           .metric = options.space.metric,
                           .threads = options.threads,
                           .pin_threads = options.pin_threads}));
  return make_point_engine({.space = options.space.space,
                            .threads = options.threads,
                            .pin_threads = options.pin_threads});
}

std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads) {
  return make_panel_searcher(threads);
}

std::string_view simd_target() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best target
}

}  // namespace starling::cpu
