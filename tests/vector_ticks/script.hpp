// A random run of a vector space against the oracle, drawn from one seed.
#pragma once

#include <cstdint>

#include "tests/conformance/twin.hpp"
#include "tests/vector_ticks/faulty_store.hpp"

namespace starling::test {

struct VectorScriptOptions {
  std::uint64_t seed = 0;
  int threads = 2;
  bool moves = true;  ///< now and then to a new engine
  /// Where the store fails now and then; none: nowhere.
  StoreFaults* faults = nullptr;
};

/// Everything that was reported.
Transcript run_vector_script(const EngineChoice& engine, const VectorScriptOptions& options);

}  // namespace starling::test
