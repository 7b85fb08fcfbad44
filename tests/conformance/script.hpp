// Random scripts: a seed draws a space, a shape of data and some ticks of everything users do. The
// same seed makes the same inputs whatever engine and thread count answer them.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"

namespace starling::test {

struct ScriptOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  /// Exports the state between ticks and goes on in a new engine, whenever the seed says so.
  bool moves = true;
};

/// Runs the script through a Twin, which compares every tick, and returns all reported bytes.
Transcript run_script(const EngineChoice& engine, const ScriptOptions& options);

}  // namespace starling::test
