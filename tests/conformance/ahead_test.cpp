// SPDX-License-Identifier: Apache-2.0
// Begins ticks before the results of earlier ticks have come. The reports must equal the oracle's,
// also if ticks fail meanwhile. Engines that take one tick at a time are tested with AheadEngine.
#include <memory>

#include "starling/cpu/backend.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/conformance/script.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/ahead_engine.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

using Shared = AheadEngine::Shared;

/// The CPU engine in an AheadEngine.
EngineChoice two_at_a_time(std::shared_ptr<Shared> shared) {
  return {.name = "cpu",
          .label = "ahead",
          .make =
              [shared](const SpaceOptions& space, int threads) {
                return std::make_unique<AheadEngine>(
                    cpu::make_engine({.space = space, .threads = static_cast<unsigned>(threads)}),
                    shared);
              },
          .fail_ticks = {},
          .why_skipped = {}};
}

void run_scripts_ahead(const EngineChoice& engine) {
  for (const std::uint64_t seed : seeds(150)) {
    SCOPED_TRACE(replay_hint(seed));
    run_script(engine, {.seed = seed, .threads = static_cast<int>(1 + seed % 3), .ahead = true});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(Conformance, RandomScriptsWhoseTicksBeginAheadEqualTheOracle) {
  run_scripts_ahead(engine());
}

TEST(TicksBegunAhead, EqualTheOracleWhenTwoAreUnderWay) {
  const auto shared = std::make_shared<Shared>();
  run_scripts_ahead(two_at_a_time(shared));
  EXPECT_GT(shared->begun_ahead, 100);
}

/// Moves objects, and puts and removes queries at random. Some of the ticks fail.
void run_failing_script(std::uint64_t seed, const std::shared_ptr<Shared>& shared) {
  Random random(seed);
  Twin twin(two_at_a_time(shared), {.oracle = {.tombstone_ttl_us = 3}, .ahead = true});
  twin.put_stream(stream("all", ReportOn::distance));
  for (std::uint64_t tick = 1; tick <= 40; ++tick) {
    const auto tau_us = static_cast<std::int64_t>(tick);
    for (int i = 0; i < 20; ++i) {
      const ObjectId id{random.below(30)};
      if (random.chance(0.2))
        twin.remove(id, tau_us);
      else
        twin.update(fix(id, tau_us, static_cast<std::int32_t>(random.below(100))));
    }
    for (int i = 0; i < 3; ++i) {
      const QueryId id{random.below(6)};
      const Anchor anchor = random.chance(0.5)
                                ? fixed_at(static_cast<std::int32_t>(random.below(100)))
                                : follow(ObjectId{random.below(30)});
      if (random.chance(0.4))
        twin.remove_query(0, id);
      else
        twin.put_query(0, query(to_number(id), 4, anchor));
    }
    const bool fails = tick < 40 && random.chance(0.4);
    if (fails) {
      {
        const std::lock_guard lock(shared->mutex);
        shared->failing.insert(Tick{tick});
      }
      twin.begin_failing_tick(tau_us);
    } else {
      twin.tick(tau_us);
    }
    if (::testing::Test::HasFailure()) return;
  }
  twin.finish_ticks();
  twin.compare_current_lists();
}

TEST(TicksBegunAhead, ThatFailLoseNothingAndApplyNothingTwice) {
  int begun_ahead = 0;
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE(replay_hint(seed));
    const auto shared = std::make_shared<Shared>();
    run_failing_script(seed, shared);
    if (HasFailure()) return;
    begun_ahead += shared->begun_ahead;
  }
  EXPECT_GT(begun_ahead, 100);
}

}  // namespace
}  // namespace starling::test
