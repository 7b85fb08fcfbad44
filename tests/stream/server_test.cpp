// SPDX-License-Identifier: Apache-2.0
// Tests the whole server over loopback sockets. An update arrives, a tick computes the lists, and
// the subscriber holds them. A request that is sent again is not applied twice. Clients notice a
// restart.
#include "starling/stream/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::HeldNeighbor;

std::vector<HeldNeighbor> held(const protocol::Subscriber& subscriber, std::uint64_t query) {
  return subscriber.state().lists().at({QueryId{query}, false, {}}).neighbors;
}

class ServerTest : public testing::Test {
 protected:
  void put_riders(std::uint32_t k = 2) {
    ASSERT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
    ASSERT_TRUE(client.put_queries({"riders", {nearest_to(1, k, 0, 0)}}));
  }
  void update(std::uint64_t id, std::int64_t time_us, double x, double y) {
    Fixes fixes;
    fixes.add(id, time_us, x, y);
    ASSERT_TRUE(client.update(fixes.batch()));
  }
  bool catches_up(protocol::Subscriber& subscriber, std::uint64_t tick) {
    return happens([&] {
      subscriber.poll(50);
      const auto& at = subscriber.state().held_at();
      return subscriber.state().is_live() && at && to_number(at->tick) >= tick;
    });
  }

  RunningServer server;
  protocol::Client client = server.client();
};

TEST_F(ServerTest, ASubscriberHoldsTheDirectAnswer) {
  put_riders();
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  update(7, 10, 3, 4);
  update(8, 10, 0, 1);
  update(9, 10, 100, 100);
  const auto done = client.advance_tick(1000).value();
  EXPECT_EQ(to_number(done.tick), 1u);
  EXPECT_EQ(done.object_count, 3u);
  EXPECT_EQ(done.list_count, 1u);
  ASSERT_TRUE(catches_up(subscriber, 1));
  const std::vector<HeldNeighbor> expected{{ObjectId{8}, 1.0}, {ObjectId{7}, 5.0}};
  EXPECT_EQ(held(subscriber, 1), expected);

  const auto answers = client.get_neighbors({{nearest_to(0, 2, 0, 0)}}).value();
  EXPECT_EQ(to_number(answers.tick), 1u);
  ASSERT_EQ(answers.lists.size(), 1u);
  EXPECT_EQ(answers.lists[0].neighbors, expected);
}

TEST_F(ServerTest, CoordinatesOfEitherWidthAreTaken) {
  const std::uint64_t ids[] = {7, 8};
  const std::int64_t times_us[] = {10, 10};
  const float narrow[] = {3, 4, 0, 1};
  const double wide[] = {0, 2};
  ASSERT_TRUE(client.update({.ids = ids, .times_us = times_us, .coordinates_f32 = narrow}));
  ASSERT_TRUE(client.update({.ids = std::span(ids).last(1),
                             .times_us = std::span(times_us).last(1),
                             .coordinates = wide}));
  ASSERT_TRUE(client.advance_tick(1000));
  const auto answers = client.get_neighbors({{nearest_to(0, 2, 0, 0)}}).value();
  const std::vector<HeldNeighbor> expected{{ObjectId{8}, 2.0}, {ObjectId{7}, 5.0}};
  EXPECT_EQ(answers.lists.at(0).neighbors, expected);
}

TEST_F(ServerTest, AnUpdateIsNotInTheAnswerBeforeItsTick) {
  put_riders();
  update(7, 10, 3, 4);
  ASSERT_TRUE(client.advance_tick(1000));
  update(8, 10, 0, 1);
  const auto answers = client.get_neighbors({{nearest_to(0, 2, 0, 0)}}).value();
  EXPECT_EQ(answers.lists[0].neighbors, (std::vector<HeldNeighbor>{{ObjectId{7}, 5.0}}));
}

TEST_F(ServerTest, EveryReplyOfAsManyBatchesAsMayBeUnansweredFindsRoom) {
  // The batches are so small that the loop answers them faster than ZeroMQ's thread sends the
  // replies.
  constexpr std::uint64_t batches = 20'000;
  Fixes fixes;
  fixes.add(7, 10, 3, 4);
  for (std::uint64_t batch = 0; batch < batches; ++batch) ASSERT_FALSE(client.post(fixes.batch()));
  EXPECT_EQ(client.flush().accepted, batches);
  EXPECT_EQ(server.stat("starling_replies_dropped_total"), 0);
}

TEST_F(ServerTest, ALateSubscriberGetsASnapshotAndThenTheTicks) {
  put_riders();
  update(7, 10, 3, 4);
  ASSERT_TRUE(client.advance_tick(1000));
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  ASSERT_TRUE(catches_up(subscriber, 1));
  EXPECT_EQ(held(subscriber, 1), (std::vector<HeldNeighbor>{{ObjectId{7}, 5.0}}));
  EXPECT_EQ(subscriber.state().held_at()->sequence, 1u);
  update(7, 20, 0, 2);
  ASSERT_TRUE(client.advance_tick(2000));
  ASSERT_TRUE(catches_up(subscriber, 2));
  EXPECT_EQ(held(subscriber, 1), (std::vector<HeldNeighbor>{{ObjectId{7}, 2.0}}));
}

TEST_F(ServerTest, EachRowIsAcceptedLateOrRejectedWithItsReason) {
  update(1, 100, 0, 0);
  Fixes fixes;
  fixes.add(1, 50, 1, 1);
  fixes.add(2, 50, std::numeric_limits<double>::quiet_NaN(), 0);
  fixes.add(3, 50, 1e9, 0);
  fixes.add(4, 50, 2, 2);
  const auto reply = client.update(fixes.batch()).value();
  EXPECT_EQ(reply.accepted, 1u);
  EXPECT_EQ(reply.late, 1u);
  EXPECT_EQ(reply.rejected, 2u);
  const std::vector<protocol::RejectedRow> expected{
      {1, protocol::RowReason::position_not_finite},
      {2, protocol::RowReason::position_out_of_range}};
  EXPECT_EQ(reply.first_rejected, expected);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 2);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"late\"}"), 1);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"position_not_finite\"}"), 1);
}

TEST_F(ServerTest, ATickBeforeTheLastOnesTimeIsRefused) {
  ASSERT_TRUE(client.advance_tick(1000));
  const auto refused = client.advance_tick(999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::tau_too_early);
  EXPECT_EQ(
      refused.problem().sentence,
      "This server has already ticked at 1000 us (1970-01-01T00:00:00Z), and its ticks "
      "never go back. Advance it to that time or later. A server that starts without a log, or "
      "with a new one, begins at any time.");
  EXPECT_EQ(to_number(client.advance_tick(1000).value().tick), 2u);
}

TEST_F(ServerTest, ATickBeyondTheRangeOfTimesIsRefusedAndTheNextOneBegins) {
  for (const std::int64_t tau_us :
       {time_us_limit + 1, -time_us_limit - 1, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const auto refused = client.advance_tick(tau_us);
    ASSERT_FALSE(refused) << tau_us;
    EXPECT_EQ(refused.problem().code, ErrorCode::bad_value);
    EXPECT_EQ(refused.problem().sentence, "tau_us is " + std::to_string(tau_us) +
                                              "; it must lie between -2^61 and 2^61 microseconds.");
  }
  EXPECT_EQ(to_number(client.advance_tick(1000).value().tick), 1u);
}

TEST_F(ServerTest, OneRequestMovesTimeNoFurtherThanTheLimit) {
  const std::int64_t step_max_us = ServerOptions().tau_step_max_us;
  const auto first = client.advance_tick(time_us_limit);
  ASSERT_FALSE(first) << "the first step counts from the wall clock";
  EXPECT_EQ(first.problem().code, ErrorCode::bad_value);
  EXPECT_TRUE(client.advance_tick(1000)) << "a first tick may lie in the past";
  const auto refused = client.advance_tick(1000 + step_max_us + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().limit,
            (protocol::ReachedLimit{"tau-step-max", static_cast<std::uint64_t>(step_max_us)}));
  EXPECT_NE(refused.problem().sentence.find("--tau-step-max"), std::string::npos);
  EXPECT_TRUE(client.advance_tick(1000 + step_max_us));
  EXPECT_TRUE(client.advance_tick(1001 + step_max_us));
}

TEST(ServerTime, WithoutALimitOnStepsTheLongestLeaseAtTheLatestTickIsKept) {
  ServerOptions options = manual_options();
  options.tau_step_max_us = 0;
  options.future_max_us = std::numeric_limits<std::int64_t>::max();
  options.processor.objects.object_ttl_us = std::numeric_limits<std::int64_t>::max() - 1;
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
  ASSERT_TRUE(client.advance_tick(time_us_limit));
  protocol::QuerySpec leased = nearest_to(1, 1, 0, 0);
  for (const std::uint64_t lease_ms : {std::numeric_limits<std::uint64_t>::max(),
                                       std::uint64_t{1} << 62, std::uint64_t{1} << 52}) {
    leased.lease_ms = lease_ms;
    EXPECT_EQ(client.put_queries({"riders", {leased}}).value().accepted, 1u);
    EXPECT_EQ(client.advance_tick(time_us_limit).value().removal_count, 0u) << lease_ms;
  }
}

TEST_F(ServerTest, UnknownStreamsAreNamedInTheRefusal) {
  const auto refused = client.put_queries({"ghosts", {nearest_to(1, 1, 0, 0)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::unknown_stream);
  EXPECT_NE(refused.problem().sentence.find("ghosts"), std::string::npos);
  EXPECT_NE(refused.problem().sentence.find("starling put stream"), std::string::npos);
}

TEST_F(ServerTest, ALeaseEndsAtTheFirstTickBeyondIt) {
  ASSERT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
  protocol::QuerySpec leased = nearest_to(1, 1, 0, 0);
  leased.lease_ms = 1;
  const auto too_early = client.put_queries({"riders", {leased}});
  ASSERT_FALSE(too_early);
  EXPECT_EQ(too_early.problem().code, ErrorCode::bad_value);
  ASSERT_TRUE(client.advance_tick(5000));
  ASSERT_TRUE(client.put_queries({"riders", {leased}}));
  EXPECT_EQ(client.advance_tick(6000).value().removal_count, 0u);
  EXPECT_EQ(client.advance_tick(6001).value().removal_count, 1u);
}

TEST_F(ServerTest, QuestionsThatCannotBeAskedAreRefused) {
  protocol::QuerySpec far = nearest_to(0, 1, 1e12, 0);
  const auto refused = client.get_neighbors({{far}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::bad_value);
}

TEST_F(ServerTest, EachQuestionOfABatchIsMarkedIfTheTickDoesNotHaveItsObject) {
  const auto of_object = [](std::uint64_t object) {
    protocol::QuerySpec question = nearest_to(0, 2, 0, 0);
    question.anchor = AnchorKind::follow;
    question.object = ObjectId{object};
    question.distance_max_m = 1;
    return question;
  };
  const auto unknown = [&] {
    const auto answers = client
                             .get_neighbors({{of_object(7), nearest_to(0, 2, 900, 900),
                                              of_object(8), of_object(99)}})
                             .value();
    EXPECT_EQ(answers.lists.size(), 4u);
    for (const std::uint32_t question : answers.unknown)
      EXPECT_TRUE(answers.lists.at(question).neighbors.empty());
    return answers.unknown;
  };
  EXPECT_THAT(unknown(), testing::ElementsAre(0u, 2u, 3u)) << "no tick has finished";
  update(7, 10, 3, 4);
  ASSERT_TRUE(client.advance_tick(1000));
  update(8, 10, 0, 1);
  EXPECT_THAT(unknown(), testing::ElementsAre(2u, 3u)) << "the row of 8 waits for a tick";
  ASSERT_TRUE(client.advance_tick(2000));
  EXPECT_THAT(unknown(), testing::ElementsAre(3u));
  const std::uint64_t seven = 7;
  const std::int64_t time_us = 20;
  ASSERT_TRUE(client.remove_objects({.ids = {&seven, 1}, .times_us = {&time_us, 1}}));
  EXPECT_THAT(unknown(), testing::ElementsAre(3u)) << "the removal waits too";
  ASSERT_TRUE(client.advance_tick(3000));
  EXPECT_THAT(unknown(), testing::ElementsAre(0u, 3u));
}

TEST(ServerLimits, QueriesBeyondTheLimitOnNeighborsAreRejectedOrLeaveWhenOutgrown) {
  ServerOptions options = manual_options();
  options.processor.queries.neighbors_max = 10;
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}));
  protocol::QuerySpec graph = nearest_to(1, 5, 0, 0);
  graph.anchor = AnchorKind::every_object;
  const auto reply = client.put_queries({"s", {graph, nearest_to(2, 11, 0, 0)}}).value();
  EXPECT_EQ(reply.accepted, 1u);
  ASSERT_EQ(reply.first_rejected.size(), 1u);
  EXPECT_EQ(reply.first_rejected[0],
            (protocol::RejectedRow{1, protocol::RowReason::too_many_neighbors}));
  Fixes fixes;
  for (std::uint64_t id = 1; id <= 3; ++id) fixes.add(id, 1, static_cast<double>(id), 0);
  ASSERT_TRUE(client.update(fixes.batch()));
  EXPECT_EQ(client.advance_tick(1000).value().list_count, 0u);
  EXPECT_EQ(server.stat("starling_queries"), 0);
}

TEST_F(ServerTest, NamesCollideOnlyWithOtherTexts) {
  const std::vector<std::uint64_t> ids{to_number(protocol::id_of_text("tram 7")), 12, 13};
  const auto reply = client.put_names({ids, {"tram 7", "12", "tram 13"}}).value();
  EXPECT_EQ(reply.accepted, 2u);
  ASSERT_EQ(reply.first_rejected.size(), 1u);
  EXPECT_EQ(reply.first_rejected[0],
            (protocol::RejectedRow{2, protocol::RowReason::text_is_not_its_id}));
}

TEST_F(ServerTest, ASnapshotOfMorePagesThanOneIsOfOneTick) {
  // The lists of this stream have 400,000 neighbours of 48 bytes. A chunk of 16 MiB does not hold
  // all of them.
  constexpr std::uint64_t objects = 2000;
  ASSERT_TRUE(
      client.put_stream({.name = "graph", .on = ReportOn::distance, .with = {true, true, true}}));
  protocol::QuerySpec graph = nearest_to(1, 200, 0, 0);
  graph.anchor = AnchorKind::every_object;
  ASSERT_TRUE(client.put_queries({"graph", {graph}}));
  Fixes fixes;
  for (std::uint64_t id = 0; id < objects; ++id) fixes.add(id, 1, static_cast<double>(id * id), 0);
  ASSERT_TRUE(client.update(fixes.batch()));
  ASSERT_TRUE(client.advance_tick(1000));
  std::size_t pages = 0;
  std::size_t lists = 0;
  ASSERT_TRUE(client.get_snapshot({.stream = "graph", .query_ids = {}},
                                  [&](const protocol::SnapshotPage& page) {
                                    ++pages;
                                    lists += page.lists.list_count();
                                    EXPECT_EQ(to_number(page.head.tick), 1u);
                                    EXPECT_EQ(page.head.list_count, objects);
                                    // A tick passes between the two pages.
                                    if (pages == 1) {
                                      EXPECT_TRUE(server.client().advance_tick(2000));
                                    }
                                  }));
  EXPECT_EQ(pages, 2u);
  EXPECT_EQ(lists, objects);
  EXPECT_EQ(server.stat("starling_snapshots"), 0) << "the last page releases the snapshot";
}

TEST_F(ServerTest, APageThatIsNoLongerHeldIsTold) {
  put_riders();
  const auto refused = client.get_snapshot_page(
      {.stream = "riders", .query_ids = {}, .page = 12'345'678'901}, [](const auto&) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::page_expired);
}

TEST_F(ServerTest, ARestartIsNoticedByItsEpochAndResynchronised) {
  put_riders();
  update(7, 10, 3, 4);
  ASSERT_TRUE(client.advance_tick(1000));
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  ASSERT_TRUE(catches_up(subscriber, 1));
  const std::uint64_t former_epoch = subscriber.state().held_at()->epoch;

  ServerOptions options = manual_options();
  options.commands_endpoint = server.endpoints().commands;
  options.results_endpoint = server.endpoints().results;
  server.stop();
  RunningServer second(options);
  auto second_client = second.client();
  ASSERT_NE(second_client.epoch(), former_epoch);
  ASSERT_TRUE(second_client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
  ASSERT_TRUE(second_client.put_queries({"riders", {nearest_to(1, 2, 0, 0)}}));
  std::int64_t tau_us = 0;
  ASSERT_TRUE(happens([&] {
    EXPECT_TRUE(second_client.advance_tick(++tau_us));
    subscriber.poll(50);
    const auto& at = subscriber.state().held_at();
    return subscriber.state().is_live() && at->epoch == second_client.epoch();
  }));
  EXPECT_EQ(subscriber.state().counters().restarts, 1u);
  EXPECT_TRUE(held(subscriber, 1).empty()) << "nothing of the first server is left";
}

TEST_F(ServerTest, NamesThatWerePutAreToldAndUnknownIdsHaveNone) {
  const std::uint64_t tram = to_number(protocol::id_of_text("tram 7"));
  const std::uint64_t bus = to_number(protocol::id_of_text("bus 9"));
  const std::uint64_t put[] = {tram, bus, 12};
  ASSERT_EQ(client.put_names({put, {"tram 7", "bus 9", "12"}}).value().accepted, 3u);
  const std::uint64_t asked[] = {bus, 12, 99, tram, bus};
  const auto names = server.client().get_names(asked).value();
  EXPECT_EQ(names.texts, (std::vector<std::string>{"bus 9", "", "", "tram 7", "bus 9"}));
  EXPECT_EQ(names.epoch, client.epoch());
  EXPECT_EQ(names.name_count, 2u) << "decimal names are not stored";
}

TEST_F(ServerTest, AskingForNoNamesTellsHowManyThereAre) {
  const auto names = client.get_names({}).value();
  EXPECT_TRUE(names.texts.empty());
  EXPECT_EQ(names.name_count, 0u);
}

TEST_F(ServerTest, MoreNamesThanAllowedAreRefusedAndTheMostAreTold) {
  const std::uint32_t most = client.server().limits.names_asked_max;
  ASSERT_GT(most, 0u);
  const std::vector<std::uint64_t> ids(most + 1);
  EXPECT_EQ(client.get_names(std::span(ids).first(most)).value().texts.size(), most);
  const auto refused = client.get_names(ids);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::too_many_rows);
}

TEST_F(ServerTest, ASnapshotSaysWhatItsListsCarry) {
  ASSERT_TRUE(client.put_stream(
      {.name = "riders", .on = ReportOn::distance, .with = {.distance = false, .tags = true}}));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(1, 2, 0, 0)}}));
  update(7, 10, 3, 4);
  ASSERT_TRUE(client.advance_tick(1000));
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  ASSERT_TRUE(catches_up(subscriber, 1));
  EXPECT_EQ(subscriber.state().held_at()->with, (ReportWith{.distance = false, .tags = true}));
}

TEST_F(ServerTest, AWallClockServerRefusesToBeAdvanced) {
  ServerOptions options = manual_options();
  options.tick_period_us = 3'600'000'000;
  RunningServer wall(options);
  const auto refused = wall.client().advance_tick(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::not_manual);
}

TEST_F(ServerTest, RowsFromTheFutureAreRejectedByTheWallClock) {
  ServerOptions options = manual_options();
  options.tick_period_us = 3'600'000'000;
  RunningServer wall(options);
  auto producer = wall.client();
  const std::int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count();
  Fixes fixes;
  fixes.add(1, now_us, 0, 0);
  fixes.add(2, now_us + 3'600'000'000, 0, 0);
  const auto reply = producer.update(fixes.batch()).value();
  EXPECT_EQ(reply.accepted, 1u);
  ASSERT_EQ(reply.reasons.size(), 1u);
  EXPECT_EQ(reply.reasons[0].reason, protocol::RowReason::future);
}

// One stream has enough lists to make several threads encode them. The other stream has few.
TEST(ServerThreads, ManyEncodeAndSendWhatOneDoes) {
  constexpr std::uint64_t count = 10'000;
  const auto lists_of = [&](const ServerOptions& options) {
    RunningServer server(options);
    protocol::Client client = server.client();
    std::vector<protocol::QuerySpec> queries;
    Fixes fixes;
    for (std::uint64_t i = 0; i < count; ++i) {
      queries.push_back(nearest_to(i, 2, static_cast<double>(i), 0));
      fixes.add(i, 10, static_cast<double>(i) + 0.25, 0);
    }
    protocol::PutStream spec{.name = "many", .on = ReportOn::distance, .with = {}};
    EXPECT_TRUE(client.put_stream(spec));
    spec.name = "few";
    EXPECT_TRUE(client.put_stream(spec));
    EXPECT_TRUE(client.put_queries({"many", queries}));
    EXPECT_TRUE(client.put_queries({"few", {nearest_to(1, 3, 5, 0), nearest_to(2, 3, 7, 0)}}));
    protocol::Subscriber many(server.context(), server.subscriber_options("many"));
    protocol::Subscriber few(server.context(), server.subscriber_options("few"));
    EXPECT_TRUE(client.update(fixes.batch()));
    std::vector<std::vector<HeldNeighbor>> lists;
    for (std::uint64_t tick = 1; tick <= 2; ++tick) {
      if (tick == 2) {
        const std::uint64_t removed[] = {1};
        EXPECT_TRUE(client.remove_queries({.stream = "few", .ids = removed}));
      }
      EXPECT_TRUE(client.advance_tick(static_cast<std::int64_t>(1000 * tick)));
      for (protocol::Subscriber* const subscriber : {&many, &few})
        EXPECT_TRUE(happens([&] {
          subscriber->poll(50);
          const auto& at = subscriber->state().held_at();
          return subscriber->state().is_live() && at && to_number(at->tick) >= tick;
        }));
    }
    for (std::uint64_t i = 0; i < count; ++i) lists.push_back(held(many, i));
    lists.push_back(held(few, 2));
    return lists;
  };
  ServerOptions options = manual_options();
  options.encode_threads = 1;
  const auto alone = lists_of(options);
  options.encode_threads = 3;
  options.io_threads = 2;
  EXPECT_EQ(lists_of(options), alone);
  options.io_threads = 5;
  options.results_io_threads = 3;
  EXPECT_EQ(lists_of(options), alone);
  EXPECT_EQ(alone[7], (std::vector<HeldNeighbor>{{ObjectId{7}, 0.25}, {ObjectId{6}, 0.75}}));
}

TEST(ServerThreads, AsManySocketThreadsAsTheirMaskHoldsAtMost) {
  ServerOptions options = manual_options();
  options.io_threads = 65;
  EXPECT_THROW(RunningServer{options}, std::invalid_argument);
  options.io_threads = 0;
  EXPECT_THROW(RunningServer{options}, std::invalid_argument);
}

TEST(ServerThreads, OfTheSocketsServeBothEndpoints) {
  ServerOptions options = manual_options();
  options.io_threads = 2;
  options.results_io_threads = 2;
  EXPECT_THAT([&] { RunningServer{options}; },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr(
                  "results-io-threads: of 2 I/O threads, at least one must serve the results and "
                  "one the commands, not 2")));
}

TEST(ServerLimits, ThatDoNotFitOneAnotherAreNamedWithTheLeast) {
  const auto refusal_of = [](const auto& change) -> std::string {
    ServerOptions options = manual_options();
    change(options.limits);
    try {
      const RunningServer server(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_of([](auto& limits) { limits.credit_bytes = limits.frame_bytes_max - 1; }),
            "credit-bytes: a session's credit must cover a request of frame-bytes-max, so at least "
            "16777216 bytes, not 16777215");
  EXPECT_EQ(refusal_of([](auto& limits) { limits.credit_rows = limits.rows_max - 1; }),
            "credit-rows: a session's credit must cover a request of rows-max, so at least 262144 "
            "rows, not 262143");
  EXPECT_EQ(refusal_of([](auto& limits) {
              limits.text_bytes_max = 1008;
              limits.names_asked_max = 20'000;
            }),
            "names-asked-max: the answer to one request, with names of text-bytes-max, must fit in "
            "16777216 bytes, so at most 16384 names, not 20000");
}

TEST_F(ServerTest, AnEndpointInUseIsNamed) {
  ServerOptions options = manual_options();
  options.commands_endpoint = server.endpoints().commands;
  try {
    RunningServer second(options);
    FAIL() << "two servers on one endpoint";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(options.commands_endpoint), std::string::npos);
  }
}

}  // namespace
}  // namespace starling::stream
