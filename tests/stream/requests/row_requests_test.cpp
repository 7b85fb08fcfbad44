// SPDX-License-Identifier: Apache-2.0
// Tests requests of many rows without sockets: tags, removals, queries and names. Long requests are
// applied in slices and get the same answers as short ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

using protocol::BatchReply;
using protocol::ErrorCode;
using protocol::RowReason;
using ::testing::HasSubstr;

constexpr std::uint64_t many = 3000;  // more than a slice

std::vector<std::uint64_t> ids_up_to(std::uint64_t last) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= last; ++id) ids.push_back(id);
  return ids;
}

TEST(RowRequests, ShortAndLongRequestsOfQueriesAnswerAlike) {
  for (const std::uint64_t count : {std::uint64_t{10}, many}) {
    RequestWorld world;
    world.hello();
    world.put_objects(5);
    world.put_near(count);
    const int rooms = world.rooms;
    const auto ids = ids_up_to(count + 2);
    const auto removed = std::get<BatchReply>(world.ask(protocol::RemoveQueries{"near", ids}));
    EXPECT_EQ(removed.accepted, count);
    ASSERT_EQ(removed.reasons.size(), 1u);
    EXPECT_EQ(removed.reasons[0].reason, RowReason::unknown_query);
    EXPECT_EQ(removed.reasons[0].count, 2u);
    EXPECT_EQ(world.tables().processor().queries().query_count(), 0u);
    EXPECT_GT(world.rooms, rooms);
    EXPECT_EQ(world.credit().most_taken().rows, 0u);
  }
}

TEST(RowRequests, ALongRequestLeavesTheLoopBetweenItsSlicesAndNothingElseChanges) {
  RequestWorld world;
  world.hello();
  world.ask(protocol::PutStream{.name = "near", .on = ReportOn::order, .with = {}});
  std::vector<protocol::QuerySpec> rows;
  for (std::uint64_t id = 1; id <= 100'000; ++id) rows.push_back(nearest_to(id, 1, 0, 0));
  world.replies.clear();
  world.executor.set_us_per_look(SlicedWork::slice_us / 4);
  world.hand_in({.request_id = 9, .session = world.session(), .sequence = world.sequence() + 1},
                protocol::PutQueries{"near", rows});
  EXPECT_FALSE(world.tables().is_free());
  int turns = 0;
  while (!world.tables().is_free() && world.executor.run_one()) {
    ++turns;
    EXPECT_EQ(world.replies.empty(), !world.tables().is_free());
  }
  EXPECT_GT(turns, 5);
  ASSERT_EQ(world.replies.size(), 1u);
  EXPECT_EQ(std::get<BatchReply>(world.replies[0].decoded.body).accepted, 100'000u);
  EXPECT_TRUE(world.tables().is_free());
}

TEST(RowRequests, TagsAndRemovalsOfUnknownObjectsAreRejected) {
  for (const std::uint64_t count : {std::uint64_t{10}, many}) {
    RequestWorld world;
    world.hello();
    world.put_objects(count);
    const auto ids = ids_up_to(count + 1);
    const std::vector<std::int64_t> times(ids.size(), 2);
    const std::vector<std::uint32_t> tags(ids.size(), 4);
    const std::vector<std::uint32_t> masks(ids.size(), 3);
    const auto tagged = std::get<BatchReply>(world.ask(
        protocol::UpdateTags{.ids = ids, .times_us = times, .set = tags, .clear = masks}));
    EXPECT_EQ(tagged.accepted, count);
    const auto gone =
        std::get<BatchReply>(world.ask(protocol::RemoveObjects{.ids = ids, .times_us = times}));
    EXPECT_GE(gone.accepted, count);
    EXPECT_EQ(world.tables().processor().objects().alive_count(), 0u);
  }
}

TEST(NameRequests, NamesOfARequestThatOutlivesItsSessionAreBounded) {
  ServerOptions options = RequestWorld::small_options();
  options.sessions.names_max = 2000;
  RequestWorld world(options);
  world.hello();
  std::vector<std::string> texts;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 10'000; ++i) {
    texts.push_back("taxi " + std::to_string(i));
    ids.push_back(to_number(protocol::id_of_text(texts.back())));
  }
  world.executor.set_us_per_look(SlicedWork::slice_us / 4);
  world.hand_in({.request_id = 9, .session = world.session(), .sequence = world.sequence() + 1},
                protocol::PutNames{ids, {texts.begin(), texts.end()}});
  const std::size_t before = world.tables().names().count();
  ASSERT_FALSE(world.tables().is_free());
  world.hand_in({.request_id = 10, .session = world.session()}, protocol::EndSession{});
  for (int turns = 0; !world.tables().is_free() && turns < 10'000; ++turns)
    world.executor.run_one();
  EXPECT_TRUE(world.tables().is_free());
  EXPECT_EQ(world.tables().names().count(), before + 2000);
}

TEST(NameRequests, NamesAreKeptOnceAndReadAgain) {
  for (const std::uint64_t count : {std::uint64_t{10}, many}) {
    RequestWorld world;
    world.hello();
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < count; ++i) texts.push_back("taxi " + std::to_string(i));
    std::vector<std::uint64_t> ids;
    std::vector<std::string_view> views;
    for (const std::string& text : texts) {
      ids.push_back(to_number(protocol::id_of_text(text)));
      views.emplace_back(text);
    }
    ids.push_back(42);  // not the hash of its name
    views.emplace_back("not forty-two");
    const auto reply =
        std::get<BatchReply>(world.ask(protocol::PutNames{.ids = ids, .texts = views}));
    EXPECT_EQ(reply.accepted, count);
    ASSERT_EQ(reply.reasons.size(), 1u);
    EXPECT_EQ(reply.reasons[0].reason, RowReason::text_is_not_its_id);
    const std::vector<std::uint64_t> asked{ids[0], 42};
    const auto names =
        std::get<protocol::Names>(world.ask(protocol::GetNames{.object_ids = asked}));
    ASSERT_EQ(names.texts.size(), 2u);
    EXPECT_EQ(names.texts[0], "taxi 0");
    EXPECT_EQ(names.texts[1], "");
    EXPECT_EQ(names.name_count, count);
  }
}

TEST(QueryRequests, AnUnknownStreamUsesUpTheNumberAndGivesTheCreditBack) {
  RequestWorld world;
  world.hello();
  const std::vector<protocol::QuerySpec> rows{nearest_to(1, 1, 0, 0)};
  EXPECT_EQ(world.refusal(protocol::PutQueries{"none", rows}).code, ErrorCode::unknown_stream);
  const std::vector<std::uint64_t> ids{1};
  EXPECT_EQ(world.refusal(protocol::RemoveQueries{"none", ids}).code, ErrorCode::unknown_stream);
  EXPECT_EQ(world.credit().most_taken().rows, 0u);
  world.put_objects(1);
}

TEST(QueryRequests, PagesOfQueriesEndWhereTheRequestSays) {
  RequestWorld world;
  world.hello();
  world.put_near(5);
  const auto page = std::get<protocol::Queries>(
      world.ask(protocol::ListQueries{.stream = "near", .rows_max = 2}));
  EXPECT_EQ(page.queries.size(), 2u);
  EXPECT_EQ(page.query_count, 5u);
  const auto rest = std::get<protocol::Queries>(
      world.ask(protocol::ListQueries{.stream = "near", .page = page.next_page}));
  EXPECT_EQ(rest.queries.size(), 3u);
  EXPECT_EQ(rest.next_page, 0u);
  EXPECT_EQ(world.refusal(protocol::ListQueries{.stream = "none"}).code, ErrorCode::unknown_stream);
}

TEST(RowRequests, WithoutMemoryNothingIsAddedAndTheLimitIsNamed) {
  ServerOptions options = RequestWorld::small_options();
  options.memory_bytes_max = 1u << 30;
  RequestWorld world(options);
  world.hello();
  world.put_near();
  world.memory_used = std::uint64_t{2} << 30;
  world.executor.advance(1'000'000);
  const std::vector<protocol::QuerySpec> rows{nearest_to(9, 1, 0, 0)};
  const auto reply = std::get<BatchReply>(world.ask(protocol::PutQueries{"near", rows}));
  EXPECT_EQ(reply.accepted, 0u);
  ASSERT_EQ(reply.reasons.size(), 1u);
  EXPECT_EQ(reply.reasons[0].limit.name, "memory-bytes-max");
  const auto problem = world.refusal(protocol::PutStream{.name = "more", .on = {}, .with = {}});
  EXPECT_THAT(problem.sentence, HasSubstr("memory-bytes-max"));
}

}  // namespace
}  // namespace starling::stream
