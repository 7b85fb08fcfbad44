// SPDX-License-Identifier: Apache-2.0
// A random run in a vector space, drawn from one seed and compared with the oracle.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"
#include "tests/vector_ticks/faulty_store.hpp"

namespace starling::test {

struct VectorScriptOptions {
  std::uint64_t seed = 0;
  int threads = 2;
  bool moves = true;  ///< the run sometimes continues in a new engine that imports the state
  /// The faults of the engine's store, for runs in which ticks fail at random; nullptr: no faults.
  StoreFaults* faults = nullptr;
};

/// Runs the script in a Twin. Returns everything that was reported.
Transcript run_vector_script(const EngineChoice& engine, const VectorScriptOptions& options);

}  // namespace starling::test
