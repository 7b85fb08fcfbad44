// SPDX-License-Identifier: Apache-2.0
// Tests which streams, topics and ids a principal may use.
#include "starling/stream/access/principal.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

using namespace std::string_literals;

Principal subscriber(std::vector<std::string> streams) {
  Principal principal;
  principal.roles.set(static_cast<std::size_t>(Role::subscribe));
  principal.streams = std::move(streams);
  return principal;
}

TEST(Principal, EachRoleHasANameThatNamesItAgain) {
  for (std::size_t index = 0; index < role_count; ++index) {
    const auto role = static_cast<Role>(index);
    EXPECT_EQ(role_of(name_of(role)), role);
  }
  EXPECT_EQ(role_of("root"), std::nullopt);
}

TEST(Principal, EverybodyMayDoEverything) {
  const Principal all = everybody();
  EXPECT_TRUE(all.has(Role::admin));
  EXPECT_TRUE(all.may_use_stream("any"));
  EXPECT_TRUE(all.may_subscribe(""));
  EXPECT_TRUE(all.may_use_object(UINT64_MAX));
}

TEST(Principal, AnAdminHasEveryRole) {
  Principal admin;
  admin.roles.set(static_cast<std::size_t>(Role::admin));
  EXPECT_TRUE(admin.has(Role::tick));
  EXPECT_FALSE(Principal{}.has(Role::stats));
}

TEST(Principal, AStarStandsForAnyTextAtTheEndOnly) {
  const Principal principal = subscriber({"rider*", "ops"});
  EXPECT_TRUE(principal.may_use_stream("rider"));
  EXPECT_TRUE(principal.may_use_stream("riders-2"));
  EXPECT_TRUE(principal.may_use_stream("ops"));
  EXPECT_FALSE(principal.may_use_stream("ops2"));
  EXPECT_FALSE(principal.may_use_stream("ride"));
  EXPECT_FALSE(principal.may_use_stream("a rider"));
}

TEST(Principal, ATopicIsAllowedOnlyIfEveryStreamThatItMatchesIs) {
  const Principal principal = subscriber({"rider*", "ops"});
  EXPECT_TRUE(principal.may_subscribe("riders\0"s));
  EXPECT_TRUE(principal.may_subscribe("ops\0"s));
  EXPECT_TRUE(principal.may_subscribe("rider"));
  EXPECT_FALSE(principal.may_subscribe("ops")) << "also gets opsec";
  EXPECT_FALSE(principal.may_subscribe("ride"));
  EXPECT_FALSE(principal.may_subscribe(""));
  EXPECT_FALSE(principal.may_subscribe("secret\0"s));
  EXPECT_TRUE(subscriber({"*"}).may_subscribe(""));
  EXPECT_TRUE(subscriber({}).may_subscribe(""));
  EXPECT_FALSE(Principal{}.may_subscribe("riders\0"s)) << "lacks the role";
}

TEST(Principal, RangesOfIdsHoldBothEnds) {
  Principal principal;
  principal.objects = {{5, 7}, {100, 100}};
  for (const std::uint64_t id : {5u, 7u, 100u}) EXPECT_TRUE(principal.may_use_object(id));
  for (const std::uint64_t id : {0u, 4u, 8u, 99u, 101u}) EXPECT_FALSE(principal.may_use_object(id));
  EXPECT_TRUE(principal.may_use_query(9)) << "no range: all";
}

}  // namespace
}  // namespace starling::stream
