// SPDX-License-Identifier: Apache-2.0
// What a subscriber gets must not show how many threads update objects, nor how many ticks are
// under way at a time.
#include "tests/stream/support/published_bytes.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/ahead_engine.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

std::unique_ptr<Engine> two_at_a_time(Space space) {
  return std::make_unique<test::AheadEngine>(make_engine({.space = space}),
                                             std::make_shared<test::AheadEngine::Failing>());
}

TEST(PublishedBytes, DoNotShowThatTicksBeginBeforeTheLastOnesResultHasCome) {
  for (const std::uint64_t seed : test::seeds(5))
    for (const Space space : {Space::planar2, Space::planar3, Space::wgs84}) {
      SCOPED_TRACE(test::replay_hint(seed));
      const PublishedScript script{.seed = seed, .space = space};
      const PublishedBytes expected = publish(script, make_engine({.space = space}));
      ASSERT_EQ(expected.size(), 36u);
      EXPECT_EQ(publish(script, two_at_a_time(space)), expected);
    }
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
