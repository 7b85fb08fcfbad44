// SPDX-License-Identifier: Apache-2.0
// The engines under test. The whole suite runs once for each of them. A new backend adds one entry.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::test {

struct EngineChoice {
  std::string name;   ///< what Engine::name() must return
  std::string label;  ///< the suffix of its tests' names: `name`, or with the mode of work
  std::function<std::unique_ptr<Engine>(const SpaceOptions& space, int threads)> make;
  /// Makes ticks fail for as long as the returned object lives. Each call may choose another way.
  std::function<std::shared_ptr<void>()> fail_ticks;
  std::string why_skipped;  ///< not empty: why it cannot run on this machine
};

/// GoogleTest prints parameters with it.
inline void PrintTo(const EngineChoice& choice, std::ostream* out) {
  *out << choice.label;
}

const std::vector<EngineChoice>& engines();

}  // namespace starling::test
