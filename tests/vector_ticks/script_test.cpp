// SPDX-License-Identifier: Apache-2.0
// Compares random scripts with the oracle. A script that fails prints its seed.
#include "tests/vector_ticks/script.hpp"

#include <algorithm>

#include "tests/support/random.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"

namespace starling::test {
namespace {

TEST_P(VectorTicks, RandomScriptsEqualTheOracle) {
  for (const std::uint64_t seed : seeds(60)) {
    SCOPED_TRACE(replay_hint(seed));
    run_vector_script(engine(), {.seed = seed, .threads = static_cast<int>(1 + seed % 3)});
    if (HasFailure()) return;
  }
  // Together the scripts must have made the engine call every function of the store.
  EXPECT_GT(faults().nearest_queries, 0u);
  EXPECT_GT(faults().near_applied_queries, 0u);
  EXPECT_GT(faults().near_any_queries, 0u);
}

TEST_P(VectorTicks, RandomScriptsWhoseTicksFailNowAndThenEqualTheOracle) {
  for (const std::uint64_t seed : seeds(30)) {
    SCOPED_TRACE(replay_hint(seed));
    run_vector_script(engine(), {.seed = seed, .faults = &faults()});
    if (HasFailure()) return;
  }
}

TEST_P(VectorTicks, ThreadsAndMovesToANewEngineNeverChangeAByte) {
  for (const std::uint64_t seed : seeds(30)) {
    SCOPED_TRACE(replay_hint(seed));
    const Transcript alone =
        run_vector_script(engine(), {.seed = seed, .threads = 1, .moves = false});
    for (const int threads : {2, 3}) {
      const Transcript other =
          run_vector_script(engine(), {.seed = seed, .threads = threads, .moves = threads == 3});
      const auto differ = std::mismatch(alone.begin(), alone.end(), other.begin(), other.end());
      EXPECT_TRUE(differ.first == alone.end() && differ.second == other.end())
          << threads << " threads differ from word " << differ.first - alone.begin();
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace starling::test
