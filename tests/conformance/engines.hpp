// SPDX-License-Identifier: Apache-2.0
// Lists the engines under test. The whole suite runs once for each engine. A new backend adds one
// entry to engines().
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
  std::string label;  ///< the suffix of test names: `name`, and the variant if there are several
  std::function<std::unique_ptr<Engine>(const SpaceOptions& space, int threads)> make;
  /// While the returned object lives, ticks that allocate much memory fail. Other ticks may fail
  /// too. Each call may choose another way to fail.
  std::function<std::shared_ptr<void>()> fail_ticks;
  std::string why_skipped;  ///< why the engine cannot run on this machine; empty if it can
};

/// GoogleTest prints parameters with this function.
inline void PrintTo(const EngineChoice& choice, std::ostream* out) {
  *out << choice.label;
}

const std::vector<EngineChoice>& engines();

}  // namespace starling::test
