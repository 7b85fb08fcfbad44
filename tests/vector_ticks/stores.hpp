// SPDX-License-Identifier: Apache-2.0
// Lists the stores under test. The whole suite runs once for each store, in a VectorEngine. A new
// backend adds one entry to stores().
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
  std::string name;   ///< what Engine::name() must return
  std::string label;  ///< the suffix of test names
  std::function<std::unique_ptr<VectorStore>(const SpaceOptions& space, int threads)> make;
  std::string why_skipped{};  ///< why the store cannot run on this machine; empty if it can
};

/// GoogleTest prints parameters with this function.
inline void PrintTo(const StoreChoice& choice, std::ostream* out) {
  *out << choice.label;
}

const std::vector<StoreChoice>& stores();

/// Returns an EngineChoice that makes a VectorEngine with this store. The store fails as `faults`
/// demands.
EngineChoice engine_on(const StoreChoice& store, const std::shared_ptr<StoreFaults>& faults);

}  // namespace starling::test
