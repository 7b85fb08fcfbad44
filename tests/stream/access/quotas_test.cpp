// SPDX-License-Identifier: Apache-2.0
// Tests the quotas of principals, the permitted ids in long requests that are applied in slices,
// and the owners of things over several sessions.
#include <array>
#include <chrono>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/access/accounts.hpp"
#include "tests/stream/access/access_world.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Principal with(void (*change)(Principal&)) {
  Principal principal =
      someone("geo", {Role::publish, Role::query, Role::subscribe, Role::stats, Role::tick});
  change(principal);
  return principal;
}

std::vector<Principal> with_others(Principal principal) {
  return {std::move(principal), someone("other", {Role::publish, Role::query, Role::subscribe}),
          someone("root", {Role::admin})};
}

std::unique_ptr<RawReply> put_queries(Somebody& sender, std::uint64_t first, std::uint64_t count,
                                      std::uint32_t k = 1) {
  protocol::PutQueries request{"s", {}};
  for (std::uint64_t id = first; id < first + count; ++id)
    request.queries.push_back(nearest_to(id, k, 0, 0));
  return sender.ask(request);
}

std::unique_ptr<RawReply> update(Somebody& sender, std::uint64_t first, std::uint64_t count,
                                 std::int64_t time_us = 1) {
  Fixes fixes;
  for (std::uint64_t id = first; id < first + count; ++id)
    fixes.add(id, time_us, static_cast<double>(id), 0);
  return sender.ask(fixes.batch());
}

const protocol::BatchReply& batch_of(const RawReply& reply) {
  return std::get<protocol::BatchReply>(reply.decoded.body);
}

TEST(Quotas, QueriesBeyondTheQuotaAreRejectedAndTheLimitIsNamed) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.queries = 2; })));
  Somebody geo(world, "geo");
  Somebody again(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  EXPECT_EQ(accepted(*put_queries(geo, 1, 1)), 1U);
  const auto reply = put_queries(again, 2, 3);
  EXPECT_EQ(accepted(*reply), 1U);
  EXPECT_EQ(rejected(*reply, RowReason::too_many_queries_of_principal), 2U);
  EXPECT_EQ(batch_of(*reply).reasons.at(0).limit, (protocol::ReachedLimit{"quota.queries", 2}));
  EXPECT_EQ(accepted(*put_queries(again, 1, 1)), 1U)
      << "a query that is put again is no further one";
}

TEST(Quotas, TheSumOfKCountsAlsoAfterAQueryIsReplaced) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.neighbors = 10; })));
  Somebody geo(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  EXPECT_EQ(accepted(*put_queries(geo, 1, 2, 5)), 2U);
  EXPECT_EQ(rejected(*put_queries(geo, 3, 1, 1), RowReason::too_many_neighbors_of_principal), 1U);
  EXPECT_EQ(rejected(*put_queries(geo, 1, 1, 6), RowReason::too_many_neighbors_of_principal), 1U);
  EXPECT_EQ(accepted(*put_queries(geo, 1, 1, 4)), 1U);
  EXPECT_EQ(accepted(*put_queries(geo, 3, 1, 1)), 1U);
}

TEST(Quotas, StreamsCountOverAllSessionsAndARemovedOneIsGivenBack) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.streams = 1; })));
  Somebody geo(world, "geo");
  Somebody again(world, "geo");
  EXPECT_EQ(geo.ask(protocol::PutStream{.name = "a"})->error(), ErrorCode::none);
  const auto refused = again.ask(protocol::PutStream{.name = "b"});
  EXPECT_EQ(refused->error(), ErrorCode::too_many_streams);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.streams (1)"));
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("keys file"));
  EXPECT_EQ(again.ask(protocol::RemoveStream{"a"})->error(), ErrorCode::none);
  EXPECT_EQ(again.ask(protocol::PutStream{.name = "b"})->error(), ErrorCode::none);
}

TEST(Quotas, NamesBeyondTheQuotaAreRejected) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.names = 1; })));
  Somebody geo(world, "geo");
  const std::array ids{to_number(protocol::id_of_text("a")), to_number(protocol::id_of_text("b"))};
  const auto reply = geo.ask(protocol::PutNames{ids, {"a", "b"}});
  EXPECT_EQ(accepted(*reply), 1U);
  EXPECT_EQ(rejected(*reply, RowReason::too_many_names_of_principal), 1U);
}

TEST(Quotas, AConnectionBeyondTheQuotaWaitsUntilAnotherEnds) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.connections = 1; })));
  auto first = std::make_unique<Somebody>(world, "geo");
  Somebody root(world, "root");
  const auto second = world.connect("geo");
  EXPECT_TRUE(happens([&] {
    const auto reply = root.ask(protocol::GetStats{});
    for (const auto& counter : std::get<protocol::Stats>(reply->decoded.body).counters)
      if (counter.name == "starling_connections_refused_total") return counter.value > 0;
    return false;
  }));
  first.reset();
  EXPECT_NE(second->hello(), 0U);
}

TEST(Quotas, AFurtherSessionReplacesAnUnusedOneOfTheSamePrincipalOnly) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.sessions = 1; })));
  Somebody other(world, "other");  // the oldest session, and never used
  Somebody geo(world, "geo");
  Somebody again(world, "geo");
  EXPECT_EQ(geo.ask(protocol::ListStreams{})->error(), ErrorCode::unknown_session);
  EXPECT_EQ(again.ask(protocol::ListStreams{})->error(), ErrorCode::none);
  EXPECT_EQ(other.ask(protocol::ListStreams{})->error(), ErrorCode::none);
  const auto refused = geo.hello();
  EXPECT_EQ(refused->error(), ErrorCode::too_many_sessions) << "the other one is in use";
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.sessions (1)"));
}

TEST(Quotas, RowsBeyondTheRateAreRefusedAndSentAgainWithTheSameNumber) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.rows_per_second = 500; })));
  Somebody geo(world, "geo");
  Somebody again(world, "geo");
  EXPECT_EQ(accepted(*update(geo, 1, 2600)), 2600U) << "a batch is taken whole";
  const auto refused = update(again, 5000, 1);
  EXPECT_EQ(refused->error(), ErrorCode::busy);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.rows_per_second (500)"));
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr(" ms"));
  EXPECT_TRUE(happens([&] { return accepted(*update(again, 5000, 1)) == 1; }));
  Somebody other(world, "other");
  EXPECT_EQ(accepted(*update(other, 1, 2500)), 2500U) << "others have quotas of their own";
}

TEST(Quotas, ABatchThatNoWaitingWouldLetPassIsRefusedAndUsesUpItsNumber) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.rows_per_second = 2000; })));
  Somebody geo(world, "geo");
  const auto refused = update(geo, 1, 20'001);
  EXPECT_EQ(refused->error(), ErrorCode::too_many_rows);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("20001 rows"));
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.rows_per_second (2000)"));
  EXPECT_EQ(accepted(*update(geo, 1, 20'000)), 20'000U) << "nothing was taken from the quota";
}

TEST(Quotas, ASmallBatchIsTakenWhateverTheRate) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.rows_per_second = 1; })));
  Somebody geo(world, "geo");
  EXPECT_EQ(update(geo, 1, 16'385)->error(), ErrorCode::too_many_rows);
  EXPECT_EQ(accepted(*update(geo, 1, 16'384)), 16'384U);
}

TEST(Quotas, ASnapshotBeyondTheBytesIsRefused) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.snapshot_bytes = 0; })));
  Somebody geo(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  const auto refused = geo.ask(protocol::GetSnapshot{.stream = "s"});
  EXPECT_EQ(refused->error(), ErrorCode::too_many_rows);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.snapshot_bytes (0)"));
}

double dropped_replies(Somebody& reader) {
  const auto reply = reader.ask(protocol::GetStats{});
  for (const auto& counter : std::get<protocol::Stats>(reply->decoded.body).counters)
    if (counter.name == "starling_replies_dropped_total") return counter.value;
  return -1;
}

TEST(Quotas, AReplyBeyondTheBytesIsDroppedAndOthersAreAnswered) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.reply_bytes = 100'000; })));
  Somebody root(world, "root");
  EXPECT_EQ(accepted(*update(root, 1, 1000)), 1000U);
  EXPECT_EQ(root.ask(protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  // The answer has at least 16 bytes for each of 10,000 neighbours.
  const protocol::GetNeighbors question{{10, nearest_to(0, 1000, 0, 0)}};
  const auto geo = world.connect("geo");
  const std::uint64_t session = geo->hello();
  geo->send(encoded({.request_id = 1, .session = session}, question));
  EXPECT_TRUE(happens([&] { return dropped_replies(root) == 1; }));
  const auto next =
      geo->ask(encoded({.request_id = 2, .session = session}, protocol::ListStreams{}));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->decoded.head.request_id, 2U) << "the first reply was dropped";
  EXPECT_EQ(next->error(), ErrorCode::none);
  Somebody other(world, "other");
  EXPECT_TRUE(std::holds_alternative<protocol::Neighbors>(other.ask(question)->decoded.body));
  EXPECT_EQ(dropped_replies(root), 1);
}

TEST(Quotas, WhoHasUsedUpItsTimeOfTheLoopIsRefusedAndOthersAreNot) {
  // The quota is so small that a client uses it up even on a busy machine, where it sends seldom.
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.loop_ms_per_second = 1; })));
  Somebody geo(world, "geo");
  std::unique_ptr<RawReply> refused;
  for (int count = 0; count < 1000 && refused == nullptr; ++count) {
    auto reply = update(geo, 1, 2000);
    if (reply->error() == ErrorCode::busy) refused = std::move(reply);
  }
  ASSERT_NE(refused, nullptr);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("quota.loop_ms_per_second (1)"));
  Somebody other(world, "other");
  EXPECT_EQ(accepted(*update(other, 1, 2000)), 2000U);
  // The refusals of a client that does not wait count, too, for a second at most.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < until) update(geo, 5000, 1);
  EXPECT_TRUE(happens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    return accepted(*update(geo, 5000, 1)) == 1;
  }));
}

TEST(Quotas, TheTimeOfTheLoopIsThatOfTheQuota) {
  Accounts accounts;
  Principal geo = someone("geo", {Role::publish});
  geo.quotas.loop_ms_per_second = 100;
  constexpr std::int64_t second_us = 1'000'000;
  std::int64_t taken_us = 0;
  const std::int64_t begin_us = 50 * second_us;
  for (std::int64_t now_us = begin_us; now_us < begin_us + 100 * second_us; now_us += 1000) {
    if (accounts.loop_wait_us(geo, now_us) > 0) continue;
    accounts.charge_loop(geo, 2000, now_us);
    taken_us += 2000;
  }
  EXPECT_NEAR(static_cast<double>(taken_us), 10.0 * second_us, 0.02 * 10 * second_us);
}

Principal first_principal() {
  Principal principal = someone("geo", {Role::publish});
  principal.id = PrincipalId{1};
  return principal;
}

TEST(Quotas, TheRateIsThatOfTheQuota) {
  Accounts accounts;
  Principal geo = first_principal();
  geo.quotas.rows_per_second = 100;
  constexpr std::int64_t second_us = 1'000'000;
  std::int64_t now_us = 50 * second_us;
  EXPECT_EQ(accounts.wait_us(geo, 100, now_us), 0);
  EXPECT_EQ(accounts.wait_us(geo, 50, now_us), 0);
  EXPECT_EQ(accounts.wait_us(geo, 1, now_us), second_us / 2);
  std::uint64_t taken = 0;
  const std::int64_t end_us = now_us + 100 * second_us;
  for (; now_us < end_us; now_us += 1000)
    if (accounts.wait_us(geo, 7, now_us) == 0) taken += 7;
  EXPECT_NEAR(static_cast<double>(taken), 10'000, 100);
}

TEST(Quotas, ConnectionsOfAPrincipalThatHasUsedMuchMoreRestForAWhile) {
  Accounts accounts;
  Principal geo = first_principal();
  geo.quotas.loop_ms_per_second = 100;
  const std::int64_t now_us = 50'000'000;
  EXPECT_EQ(accounts.rest_us(geo.id, now_us), 0) << "it has used nothing";
  accounts.charge_loop(geo, 105'000, now_us);
  EXPECT_EQ(accounts.loop_wait_us(geo, now_us), 50'000);
  EXPECT_EQ(accounts.rest_us(geo.id, now_us), 0) << "it is only told to wait";
  accounts.charge_loop(geo, 20'000, now_us);
  EXPECT_EQ(accounts.rest_us(geo.id, now_us), 250'000);
  accounts.charge_loop(geo, 1'000'000, now_us);
  EXPECT_EQ(accounts.rest_us(geo.id, now_us), 500'000);
}

// A long request is applied in slices of 256 rows.
constexpr std::uint64_t many = 2000;

TEST(LongRequests, RowsOutsideTheRangesAreRejectedAndTheOthersApplied) {
  AccessWorld world(with_others(with([](Principal& p) {
    p.objects = {{1, 1500}};
    p.queries = {{1, 1200}};
  })));
  Somebody geo(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  const auto updated = update(geo, 1, many);
  EXPECT_EQ(accepted(*updated), 1500U);
  EXPECT_EQ(rejected(*updated, RowReason::not_allowed), 500U);
  EXPECT_EQ(batch_of(*updated).first_rejected.at(0).index, 1500U);
  const auto put = put_queries(geo, 1, many);
  EXPECT_EQ(accepted(*put), 1200U);
  EXPECT_EQ(rejected(*put, RowReason::not_allowed), 800U);
  std::vector<std::uint64_t> ids(many);
  std::iota(ids.begin(), ids.end(), 1);
  EXPECT_EQ(accepted(*geo.ask(protocol::RemoveQueries{"s", ids})), 1200U);
  EXPECT_THAT(world.audited(), SizeIs(3));
}

TEST(LongRequests, AForeignerRemovesNoneOfManyQueriesNorTheirStream) {
  AccessWorld world(with_others(with([](Principal&) {})));
  Somebody geo(world, "geo");
  Somebody other(world, "other");
  geo.ask(protocol::PutStream{.name = "s"});
  EXPECT_EQ(accepted(*put_queries(geo, 1, many)), many);
  std::vector<std::uint64_t> ids(many);
  std::iota(ids.begin(), ids.end(), 1);
  EXPECT_EQ(rejected(*other.ask(protocol::RemoveQueries{"s", ids}), RowReason::not_owner), many);
  EXPECT_EQ(rejected(*put_queries(other, 1, many), RowReason::not_owner), many);
  EXPECT_EQ(other.ask(protocol::RemoveStream{"s"})->error(), ErrorCode::not_allowed);
  EXPECT_EQ(accepted(*geo.ask(protocol::RemoveQueries{"s", ids})), many);
}

TEST(LongRequests, AQuotaHoldsWithinOneRequest) {
  AccessWorld world(with_others(with([](Principal& p) { p.quotas.queries = 1100; })));
  Somebody geo(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  const auto reply = put_queries(geo, 1, many);
  EXPECT_EQ(accepted(*reply), 1100U);
  EXPECT_EQ(rejected(*reply, RowReason::too_many_queries_of_principal), 900U);
}

TEST(Owners, WhatASessionMadeItsPrincipalChangesWithAnother) {
  AccessWorld world(with_others(with([](Principal&) {})));
  Somebody geo(world, "geo");
  Somebody again(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  put_queries(geo, 1, 1);
  EXPECT_EQ(again.ask(protocol::PutStream{.name = "s", .on = ReportOn::distance})->error(),
            ErrorCode::none);
  EXPECT_EQ(accepted(*put_queries(again, 1, 1, 3)), 1U);
  EXPECT_EQ(again.ask(protocol::RemoveStream{"s"})->error(), ErrorCode::none);
}

TEST(Owners, AStreamWithQueriesOfOthersStaysUntilTheyAreGone) {
  AccessWorld world(with_others(with([](Principal&) {})));
  Somebody geo(world, "geo");
  Somebody other(world, "other");
  geo.ask(protocol::PutStream{.name = "s"});
  put_queries(geo, 1, 1);
  EXPECT_EQ(accepted(*put_queries(other, 2, 1)), 1U) << "everybody may put queries into a stream";
  const auto refused = geo.ask(protocol::RemoveStream{"s"});
  EXPECT_EQ(refused->error(), ErrorCode::not_allowed);
  EXPECT_THAT(problem_of(*refused).sentence, HasSubstr("1 queries of other principals"));
  const std::array two{std::uint64_t{2}};
  EXPECT_EQ(accepted(*other.ask(protocol::RemoveQueries{"s", two})), 1U);
  EXPECT_EQ(geo.ask(protocol::RemoveStream{"s"})->error(), ErrorCode::none);
}

TEST(Owners, ASessionOfAnotherPrincipalIsNotResumed) {
  AccessWorld world(with_others(with([](Principal&) {})));
  Somebody geo(world, "geo");
  geo.ask(protocol::PutStream{.name = "s"});
  Somebody other(world, "other");
  const std::uint64_t theirs = geo.session();
  const auto reply = other.hello(theirs);
  EXPECT_FALSE(std::get<protocol::HelloReply>(reply->decoded.body).resumed);
  EXPECT_EQ(other.ask_on(theirs, protocol::ListStreams{})->error(), ErrorCode::unknown_session);
  Somebody again(world, "geo");
  EXPECT_TRUE(std::get<protocol::HelloReply>(again.hello(theirs)->decoded.body).resumed);
}

TEST(Owners, WithoutKeysEverySessionMayChangeEverything) {
  RunningServer server;
  RawPeer first(server.context(), server.endpoints().commands);
  RawPeer second(server.context(), server.endpoints().commands);
  const std::uint64_t one = first.hello();
  const std::uint64_t two = second.hello();
  first.ask(
      encoded({.request_id = 1, .session = one, .sequence = 1}, protocol::PutStream{.name = "s"}));
  first.ask(encoded({.request_id = 1, .session = one, .sequence = 2},
                    protocol::PutQueries{"s", {nearest_to(1, 1, 0, 0)}}));
  const auto put = second.ask(encoded({.request_id = 1, .session = two, .sequence = 1},
                                      protocol::PutQueries{"s", {nearest_to(1, 2, 0, 0)}}));
  EXPECT_EQ(accepted(*put), 1U);
  const auto removed = second.ask(
      encoded({.request_id = 1, .session = two, .sequence = 2}, protocol::RemoveStream{"s"}));
  EXPECT_EQ(removed->error(), ErrorCode::none);
}

}  // namespace
}  // namespace starling::stream
