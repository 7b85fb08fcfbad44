// The stores under test. The whole suite runs once against each, under a VectorEngine; a new
// backend is one more row.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/vectors/store.hpp"
#include "starling/knn/words/lattice.hpp"
#include "tests/conformance/engines.hpp"
#include "tests/vector_ticks/faulty_store.hpp"

namespace starling::test {

struct StoreChoice {
  std::string name;  ///< what Engine::name() must answer
  std::function<std::unique_ptr<VectorStore>(const SpaceOptions& space, int threads)> make;
  std::string why_skipped{};  ///< not empty: it cannot run here
};

/// GoogleTest shows parameters by this.
inline void PrintTo(const StoreChoice& choice, std::ostream* out) {
  *out << choice.name;
}

const std::vector<StoreChoice>& stores();

/// A VectorEngine on such a store, which does what `faults` say.
EngineChoice engine_on(const StoreChoice& store, const std::shared_ptr<StoreFaults>& faults);

}  // namespace starling::test
