// SPDX-License-Identifier: Apache-2.0
// Runs a random script in a vector space and compares it with the oracle. The seed determines the
// script.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"
#include "tests/vector_ticks/faulty_store.hpp"

namespace starling::test {

struct VectorScriptOptions {
  std::uint64_t seed = 0;
  int threads = 2;
  bool moves = true;  ///< true: the script sometimes continues in a new engine with the same state
  /// The faults of the engine's store. If not nullptr, ticks fail at random. If nullptr, no tick
  /// fails.
  StoreFaults* faults = nullptr;
};

/// Runs the script in a Twin. Returns all reports of the engine.
Transcript run_vector_script(const EngineChoice& engine, const VectorScriptOptions& options);

}  // namespace starling::test
