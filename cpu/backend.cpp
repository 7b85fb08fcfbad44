// SPDX-License-Identifier: Apache-2.0
// Chooses between the engine for moving points and the engine for vectors: see backend.hpp.
#include "starling/cpu/backend.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

#include <hwy/highway.h>

#include "starling/cpu/points/engine.hpp"
#include "starling/cpu/vectors/searcher.hpp"
#include "starling/cpu/vectors/store.hpp"
#include "starling/knn/vectors/ticks/engine.hpp"

namespace starling::cpu {
namespace {

/// Returns the Highway targets (instruction sets) that this build has code for and this machine
/// runs, one bit for each. use_simd_target does not change the result.
std::int64_t machine_targets() {
  static const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return targets;
}

/// Returns the best target of a set: the lowest bit.
std::int64_t best_of(std::int64_t targets) {
  return targets & -targets;
}

std::string_view target_name(std::int64_t target) {
  return target == HWY_EMU128 || target == HWY_SCALAR ? "portable" : hwy::TargetName(target);
}

}  // namespace

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

std::vector<std::string_view> simd_targets() {
  std::vector<std::string_view> names;
  for (std::int64_t left = machine_targets(); left != 0; left &= left - 1)
    names.push_back(target_name(best_of(left)));
  return names;
}

std::string_view simd_target() {
  return target_name(best_of(hwy::SupportedTargets() & HWY_TARGETS));
}

void use_simd_target(std::string_view name) {
  std::int64_t chosen = name == "best" ? machine_targets() : 0;
  std::string known = "best";
  for (std::int64_t left = machine_targets(); left != 0; left &= left - 1) {
    const std::int64_t target = best_of(left);
    if (target_name(target) == name) chosen = target;
    known += ", " + std::string(target_name(target));
  }
  if (chosen == 0)
    throw std::invalid_argument("there is no instruction set '" + std::string(name) +
                                "' in this build and on this machine; choose one of " + known);
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace starling::cpu
