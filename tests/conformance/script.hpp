// SPDX-License-Identifier: Apache-2.0
// Random scripts. A seed determines a space, a shape of data and some ticks with all kinds of calls
// that users make. These inputs are the same for every engine and every number of threads.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"

namespace starling::test {

struct ScriptOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  /// If true, the script sometimes exports the state and continues with a new engine.
  bool moves = true;
};

/// Runs the script in a Twin, which compares every tick. Returns everything that was reported.
Transcript run_script(const EngineChoice& engine, const ScriptOptions& options);

}  // namespace starling::test
