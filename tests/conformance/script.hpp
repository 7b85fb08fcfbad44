// SPDX-License-Identifier: Apache-2.0
// Runs random scripts. The seed determines a space, a shape of data, some ticks, and the calls
// between the ticks. A script makes every kind of call that users make. It makes the same calls for
// every engine and every number of threads.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"

namespace starling::test {

struct ScriptOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  /// If true, the script sometimes exports the state and continues with a new engine that imports
  /// it.
  bool moves = true;
  bool ahead = false;  ///< see TwinOptions::ahead
};

/// Runs the script in a Twin, which compares every tick with the oracle. Returns all reports of the
/// engine under test.
Transcript run_script(const EngineChoice& engine, const ScriptOptions& options);

}  // namespace starling::test
