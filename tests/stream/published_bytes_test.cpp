// SPDX-License-Identifier: Apache-2.0
// Tests that the bytes that a subscriber gets do not depend on how many threads update objects, nor
// on how many ticks are under way at a time.
#include "tests/stream/support/published_bytes.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/ahead_engine.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

std::unique_ptr<Engine> two_at_a_time(Space space,
                                      std::shared_ptr<test::AheadEngine::Shared> shared) {
  return std::make_unique<test::AheadEngine>(make_engine({.space = space}), std::move(shared));
}

TEST(PublishedBytes, DoNotShowThatTicksBeginBeforeTheLastOnesResultHasCome) {
  const auto shared = std::make_shared<test::AheadEngine::Shared>();
  shared->held_back = std::chrono::milliseconds(20);
  for (const std::uint64_t seed : test::seeds(5))
    for (const Space space : {Space::planar2, Space::planar3, Space::wgs84}) {
      SCOPED_TRACE(test::replay_hint(seed));
      const PublishedScript script{.seed = seed, .space = space};
      const PublishedBytes expected = publish(script, make_engine({.space = space}));
      ASSERT_EQ(expected.size(), 36u);
      EXPECT_EQ(publish(script, two_at_a_time(space, shared)), expected);
    }
  EXPECT_GT(shared->begun_ahead, 20) << "ticks must overlap, or this test shows nothing";
}

TEST(PublishedBytes, DoNotShowHowManyThreadsUpdateObjects) {
  PublishedScript script{.objects = 30'000, .ticks = 4};
  const PublishedBytes expected = publish(script, make_engine());
  for (const unsigned threads : {2u, 16u}) {
    script.update_threads = threads;
    EXPECT_EQ(publish(script, make_engine()), expected);
  }
}

}  // namespace
}  // namespace starling::stream
