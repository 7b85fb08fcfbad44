// SPDX-License-Identifier: Apache-2.0
// Tests UpdateBatch without sockets: updates wait for each other, keep their order, and give their
// credit back.
#include <limits>

#include <gtest/gtest.h>

#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

protocol::RequestHead numbered(const RequestWorld& world, std::uint64_t sequence) {
  return {.request_id = 100 + sequence, .session = world.session(), .sequence = sequence};
}

TEST(UpdateRequests, UpdatesWaitUntilTheyAreAppliedAndAreAnsweredInOrder) {
  RequestWorld world;
  world.hello();
  world.replies.clear();
  Fixes first;
  first.add(1, 1, 0, 0);
  Fixes second;
  second.add(1, 2, 5, 5);
  second.add(2, 2, std::numeric_limits<double>::quiet_NaN(), 0);
  world.hand_in(numbered(world, 1), first.batch());
  world.hand_in(numbered(world, 2), second.batch());
  EXPECT_TRUE(world.replies.empty());
  EXPECT_EQ(world.credit().most_taken().rows, 3u);
  world.tables().updates().apply();
  ASSERT_EQ(world.replies.size(), 2u);
  EXPECT_EQ(world.replies[0].decoded.head.sequence, 1u);
  EXPECT_EQ(std::get<protocol::BatchReply>(world.replies[0].decoded.body).accepted, 1u);
  const auto rejected = std::get<protocol::BatchReply>(world.replies[1].decoded.body);
  EXPECT_EQ(rejected.accepted, 1u);
  ASSERT_EQ(rejected.first_rejected.size(), 1u);
  EXPECT_EQ(rejected.first_rejected[0].index, 1u);
  EXPECT_EQ(world.credit().most_taken().rows, 0u);
}

TEST(UpdateRequests, AnyOtherRequestSeesTheUpdatesBeforeIt) {
  RequestWorld world;
  world.hello();
  Fixes fixes;
  fixes.add(7, 1, 3, 4);
  world.hand_in(numbered(world, 1), fixes.batch());
  const std::vector<std::uint64_t> ids{7, 8};
  world.replies.clear();
  world.send({.request_id = 2, .session = world.session()},
             protocol::GetObjects{.object_ids = ids});
  ASSERT_EQ(world.replies.size(), 2u);
  const auto objects = std::get<protocol::Objects>(world.replies[1].decoded.body);
  ASSERT_EQ(objects.ids.size(), 1u);
  EXPECT_EQ(objects.ids[0], 7u);
  ASSERT_EQ(objects.missing_ids.size(), 1u);
  EXPECT_EQ(objects.missing_ids[0], 8u);
}

TEST(UpdateRequests, ANumberIsAppliedOnceAndAnsweredAgain) {
  RequestWorld world;
  world.hello();
  Fixes fixes;
  fixes.add(1, 1, 0, 0);
  world.replies.clear();
  world.send(numbered(world, 1), fixes.batch());
  fixes.times_us[0] = 1;
  world.send(numbered(world, 1), fixes.batch());
  ASSERT_EQ(world.replies.size(), 2u);
  for (const KeptReply& reply : world.replies)
    EXPECT_EQ(std::get<protocol::BatchReply>(reply.decoded.body).accepted, 1u);
  fixes.add(2, 1, 0, 0);
  world.send(numbered(world, 1), fixes.batch());
  EXPECT_EQ(std::get<protocol::ErrorReply>(world.replies.at(2).decoded.body).problem.code,
            protocol::ErrorCode::bad_value);
  world.send(numbered(world, 3), fixes.batch());
  EXPECT_EQ(std::get<protocol::ErrorReply>(world.replies.at(3).decoded.body).problem.code,
            protocol::ErrorCode::sequence_gap);
}

}  // namespace
}  // namespace starling::stream
