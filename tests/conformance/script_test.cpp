// SPDX-License-Identifier: Apache-2.0
// Compares hundreds of random scripts with the oracle. A script that fails prints its seed.
#include "tests/conformance/script.hpp"

#include <algorithm>

#include "tests/conformance/conformance.hpp"
#include "tests/support/random.hpp"

namespace starling::test {
namespace {

TEST_P(Conformance, RandomScriptsEqualTheOracle) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(replay_hint(seed));
    ScriptOptions options;
    options.seed = seed;
    options.threads = static_cast<int>(1 + seed % 3);
    run_script(engine(), options);
    if (HasFailure()) return;
  }
}

TEST_P(Conformance, ThreadsAndMovesToANewEngineNeverChangeAByte) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(replay_hint(seed));
    ScriptOptions options;
    options.seed = seed;
    options.threads = 1;
    options.moves = false;
    const Transcript alone = run_script(engine(), options);
    for (const int threads : {2, 3}) {
      options.threads = threads;
      options.moves = threads == 3;
      const Transcript other = run_script(engine(), options);
      const auto differ = std::mismatch(alone.begin(), alone.end(), other.begin(), other.end());
      EXPECT_TRUE(differ.first == alone.end() && differ.second == other.end())
          << threads << " threads differ from word " << differ.first - alone.begin();
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace starling::test
