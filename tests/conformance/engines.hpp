// The engines under test. The whole suite runs once against each; a new backend is one more row.
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
  std::string name;   ///< what Engine::name() must answer
  std::string label;  ///< how its tests are called: the same, and in which way it works
  std::function<std::unique_ptr<Engine>(const SpaceOptions& space, int threads)> make;
  /// While what it returns lives, ticks fail; each call may choose another way.
  std::function<std::shared_ptr<void>()> fail_ticks;
  std::string why_skipped;  ///< not empty: it cannot run here
};

/// GoogleTest shows parameters by this.
inline void PrintTo(const EngineChoice& choice, std::ostream* out) {
  *out << choice.label;
}

const std::vector<EngineChoice>& engines();

}  // namespace starling::test
