// SPDX-License-Identifier: Apache-2.0
// Tests which ids NameCache asks for, and when it asks for an id again.
#include "starling/apps/subscribe/name_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::apps {
namespace {

using Ids = std::vector<std::uint64_t>;
using testing::IsEmpty;

class NameCacheTest : public testing::Test {
 protected:
  Ids asked(const Ids& shown) {
    for (const std::uint64_t id : shown) cache.want(id);
    return cache.next_asked(100);
  }
  std::string name(std::uint64_t id) const {
    sim::NameTable::NumberText number;
    return std::string(cache.names().text_of(id, number));
  }
  NameCache cache;
};

TEST_F(NameCacheTest, AnIdIsAskedForOnce) {
  EXPECT_TRUE(cache.is_complete());
  EXPECT_EQ(asked({1, 2, 1}), (Ids{1, 2}));
  EXPECT_FALSE(cache.is_complete());
  EXPECT_THAT(asked({1, 2}), IsEmpty()) << "the answer is under way";
  cache.answered(Ids{1, 2}, {.epoch = 1, .name_count = 1, .texts = {"tram", ""}});
  EXPECT_TRUE(cache.is_complete());
  EXPECT_EQ(name(1), "tram");
  EXPECT_EQ(name(2), "2");
  EXPECT_THAT(asked({1, 2}), IsEmpty());
}

TEST_F(NameCacheTest, NoMoreAreAskedForAtATimeThanTheServerTakes) {
  for (std::uint64_t id = 0; id < 5; ++id) cache.want(id);
  EXPECT_EQ(cache.next_asked(3), (Ids{0, 1, 2}));
  EXPECT_TRUE(cache.has_wanted());
  EXPECT_EQ(cache.next_asked(3), (Ids{3, 4}));
  EXPECT_THAT(cache.next_asked(3), IsEmpty());
}

TEST_F(NameCacheTest, WhatHasNoNameIsAskedForAgainWhenTheServerHasOthers) {
  cache.answered(asked({2}), {.epoch = 1, .name_count = 5, .texts = {""}});
  cache.answered({}, {.epoch = 1, .name_count = 5, .texts = {}});
  EXPECT_THAT(asked({2}), IsEmpty());
  cache.answered({}, {.epoch = 1, .name_count = 6, .texts = {}});
  EXPECT_EQ(asked({2}), Ids{2});
  cache.answered(Ids{2}, {.epoch = 1, .name_count = 6, .texts = {""}});
  cache.answered({}, {.epoch = 2, .name_count = 6, .texts = {}});
  EXPECT_EQ(asked({2}), Ids{2}) << "a server that was started anew";
}

TEST_F(NameCacheTest, WhatIsNotAnsweredIsAskedForWhenItIsShownAgain) {
  EXPECT_EQ(asked({1}), Ids{1});
  cache.unanswered();
  EXPECT_TRUE(cache.is_complete());
  EXPECT_EQ(asked({1}), Ids{1});
}

TEST_F(NameCacheTest, AServerThatTellsNoNamesIsNotWaitedFor) {
  cache.want(1);
  cache.give_up();
  EXPECT_TRUE(cache.is_complete());
  EXPECT_THAT(asked({1, 2}), IsEmpty());
}

}  // namespace
}  // namespace starling::apps
