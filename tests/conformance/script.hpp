// SPDX-License-Identifier: Apache-2.0
// Random scripts: from a seed come a space, a shape of data and some ticks with all kinds of calls
// that users make. A seed gives the same inputs for every engine and every number of threads.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"

namespace starling::test {

struct ScriptOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  /// At random, exports the state between ticks and continues in a new engine.
  bool moves = true;
};

/// Runs the script in a Twin, which compares every tick. Returns everything that was reported.
Transcript run_script(const EngineChoice& engine, const ScriptOptions& options);

}  // namespace starling::test
