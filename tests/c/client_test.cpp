// SPDX-License-Identifier: Apache-2.0
// Tests the client and the subscription of the C interface against a server in the test's process.
// The lists are compared with a plain search.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <starling.h>

#include "tests/c/c_world.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t event_timeout_ms = 30'000;
constexpr std::int64_t retry_timeout_ms = 300;

starling_client* connect(const stream::RunningServer& server) {
  starling_client_options options{};
  EXPECT_EQ(starling_client_options_init(&options, sizeof(options)), STARLING_OK);
  options.commands = server.endpoints().commands.c_str();
  starling_client* client = nullptr;
  EXPECT_EQ(starling_client_connect(&options, &client), STARLING_OK) << last_error().sentence;
  return client;
}

starling_subscription* subscribe(const stream::RunningServer& server, const char* stream) {
  starling_subscription_options options{};
  EXPECT_EQ(starling_subscription_options_init(&options, sizeof(options)), STARLING_OK);
  options.commands = server.endpoints().commands.c_str();
  options.stream = stream;
  starling_subscription* subscription = nullptr;
  EXPECT_EQ(starling_subscription_open(&options, &subscription), STARLING_OK)
      << last_error().sentence;
  return subscription;
}

starling_server_info info_of(starling_client* client) {
  starling_server_info info{};
  info.size = sizeof(info);
  EXPECT_EQ(starling_client_info(client, &info), STARLING_OK);
  return info;
}

class CClient : public testing::Test {
 protected:
  ~CClient() override {
    starling_subscription_close(subscription);
    starling_client_destroy(client);
  }

  void open_stream() {
    starling_stream riders{};
    ASSERT_EQ(starling_stream_init(&riders, sizeof(riders)), STARLING_OK);
    riders.name = "riders";
    riders.on = STARLING_ON_DISTANCE;
    ASSERT_EQ(starling_client_put_stream(client, &riders), STARLING_OK) << last_error().sentence;
    std::vector<starling_query> queries;
    for (std::size_t i = 0; i < places.size(); ++i) queries.push_back(query_at(i, 5, places[i]));
    ASSERT_EQ(
        starling_client_put_queries(client, "riders", queries.data(), queries.size(), &counts),
        STARLING_OK)
        << last_error().sentence;
    ASSERT_EQ(counts.accepted, places.size());
  }

  void move_and_tick(std::int64_t tau_us) {
    world.move(tau_us);
    const starling_rows rows = world.rows();
    ASSERT_EQ(starling_client_update(client, &rows, &counts), STARLING_OK) << last_error().sentence;
    ASSERT_EQ(counts.accepted, rows.count);
    starling_tick_info done{};
    done.size = sizeof(done);
    ASSERT_EQ(starling_client_advance_tick(client, tau_us, &done), STARLING_OK)
        << last_error().sentence;
    ASSERT_EQ(done.object_count, rows.count);
    last_tick = done.tick;
  }

  // Applies events until `held` has the lists of the server's last tick. Returns false if no more
  // events come before that.
  bool follow_to_last_tick(std::int64_t timeout_ms = event_timeout_ms) {
    const std::uint64_t epoch = info_of(client).epoch;
    while (held_tick != last_tick || held_epoch != epoch || !is_whole) {
      starling_event event{};
      event.size = sizeof(event);
      starling_result* result = nullptr;
      if (starling_subscription_next(subscription, timeout_ms, &event, &result) != STARLING_OK ||
          event.kind == STARLING_EVENT_NONE)
        return false;
      kinds.push_back(event.kind);
      if (event.kind == STARLING_EVENT_LOST) lost += event.ticks;
      if (event.kind == STARLING_EVENT_LOST || event.kind == STARLING_EVENT_RESTARTED)
        is_whole = false;
      if (event.kind == STARLING_EVENT_SNAPSHOT) is_whole = true;
      if (result == nullptr) continue;
      starling_tick_info info{};
      info.size = sizeof(info);
      EXPECT_EQ(starling_result_info(result, &info), STARLING_OK);
      held_tick = info.tick;
      held_epoch = info.epoch;
      apply(result, held, event.kind == STARLING_EVENT_SNAPSHOT);
    }
    return true;
  }

  void expect_exact() {
    ASSERT_EQ(held.size(), places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      expect_near_equal(held[i], world.nearest(places[i], 5));
  }

  std::vector<CPlace> places{{0, 0}, {-50, 50}, {25, -13}, {49, 49}};
  CWorld world{1, 200};
  std::optional<stream::RunningServer> server{std::in_place};
  starling_client* client = connect(*server);
  starling_subscription* subscription = nullptr;
  starling_counts counts{.size = sizeof(starling_counts), .accepted = 0, .late = 0, .rejected = 0};
  std::uint64_t last_tick = 0;
  CLists held;
  std::uint64_t held_tick = 0;
  std::uint64_t held_epoch = 0;
  bool is_whole = false;  // no lists are known to be missing
  std::uint64_t lost = 0;
  std::vector<starling_event_kind> kinds;
};

TEST_F(CClient, AReaderWhoAppliesEachEventHoldsTheExactLists) {
  open_stream();
  subscription = subscribe(*server, "riders");
  for (std::int64_t tick = 1; tick <= 30; ++tick) {
    move_and_tick(tick * 1'000'000);
    ASSERT_TRUE(follow_to_last_tick());
    expect_exact();
  }
  starling_result* all = nullptr;
  ASSERT_EQ(starling_subscription_lists(subscription, &all), STARLING_OK);
  CLists copied;
  apply(all, copied);
  EXPECT_EQ(copied, held);
}

TEST_F(CClient, QuestionsAreAnsweredInTheirOrder) {
  open_stream();
  move_and_tick(1'000'000);
  std::vector<starling_query> questions;
  for (const CPlace place : places) questions.push_back(query_at(0, 7, place));
  starling_result* result = nullptr;
  ASSERT_EQ(starling_client_neighbors(client, questions.data(), questions.size(), &result),
            STARLING_OK)
      << last_error().sentence;
  CLists answers;
  apply(result, answers);
  ASSERT_EQ(answers.size(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    expect_near_equal(answers[i], world.nearest(places[i], 7));
}

TEST_F(CClient, AnUnknownObjectIsToldFromAnEmptyList) {
  open_stream();
  move_and_tick(1'000'000);
  const std::vector<starling_query> questions{alone(1), alone(1'000'000), query_at(0, 2, {1, 1})};
  starling_result* result = nullptr;
  ASSERT_EQ(starling_client_neighbors(client, questions.data(), questions.size(), &result),
            STARLING_OK)
      << last_error().sentence;
  EXPECT_THAT(unknown_of(result), testing::ElementsAre(0, 1, 0));
}

TEST_F(CClient, PostedRowsAreAllCountedByFlush) {
  const starling_rows rows = world.rows();
  for (int batch = 0; batch < 50; ++batch)
    ASSERT_EQ(starling_client_post(client, &rows), STARLING_OK) << last_error().sentence;
  ASSERT_EQ(starling_client_flush(client, &counts), STARLING_OK) << last_error().sentence;
  EXPECT_EQ(counts.accepted, 50 * rows.count);
  ASSERT_EQ(starling_client_flush(client, &counts), STARLING_OK);
  EXPECT_EQ(counts.accepted, 0u);
}

TEST_F(CClient, SendsMoreRowsThanOneRequestMayHave) {
  stream::ServerOptions options = stream::manual_options();
  options.limits.rows_max = 64;
  starling_client_destroy(client);
  server.emplace(options);
  client = connect(*server);
  open_stream();
  move_and_tick(1'000'000);  // 200 objects
  const std::vector<std::int64_t> times_us(200, 1'000'000);
  const std::vector<std::uint32_t> bits(200, 1);
  const std::vector<std::uint32_t> none(200, 0);
  const starling_rows rows = world.rows();
  ASSERT_EQ(starling_client_update_tags(client, 200, rows.ids, times_us.data(), bits.data(),
                                        none.data(), &counts),
            STARLING_OK)
      << last_error().sentence;
  EXPECT_EQ(counts.accepted, 200u);
  std::vector<starling_query> queries;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1000; id < 1150; ++id) {
    queries.push_back(query_at(id, 1, {0, 0}));
    ids.push_back(id);
  }
  ASSERT_EQ(starling_client_put_queries(client, "riders", queries.data(), queries.size(), &counts),
            STARLING_OK)
      << last_error().sentence;
  EXPECT_EQ(counts.accepted, 150u);
  ASSERT_EQ(starling_client_remove_queries(client, "riders", ids.data(), ids.size(), &counts),
            STARLING_OK)
      << last_error().sentence;
  EXPECT_EQ(counts.accepted, 150u);
  const std::vector<std::int64_t> later_us(200, 2'000'000);
  ASSERT_EQ(starling_client_remove_objects(client, 200, rows.ids, later_us.data(), &counts),
            STARLING_OK)
      << last_error().sentence;
  EXPECT_EQ(counts.accepted, 200u);
  EXPECT_EQ(server->stat("starling_queries"), 4);
}

TEST_F(CClient, PutsStreamsAndQueriesAgainAfterARestartAndSaysWhatWasLost) {
  open_stream();
  const std::uint64_t named = starling_text_id("Alice");
  const char* const text = "Alice";
  ASSERT_EQ(starling_client_put_names(client, 1, &named, &text, &counts), STARLING_OK);
  subscription = subscribe(*server, "riders");
  move_and_tick(1'000'000);
  ASSERT_TRUE(follow_to_last_tick());

  stream::ServerOptions options = stream::manual_options();
  options.commands_endpoint = server->endpoints().commands;
  options.results_endpoint = server->endpoints().results;
  server->stop();
  server.emplace(options);
  // Until the subscription has connected again, it misses ticks.
  bool is_live = false;
  for (std::int64_t tick = 2; tick < 100 && !is_live; ++tick) {
    move_and_tick(tick * 1'000'000);
    is_live = follow_to_last_tick(retry_timeout_ms);
  }
  ASSERT_TRUE(is_live);
  expect_exact();
  EXPECT_THAT(kinds, testing::Contains(STARLING_EVENT_RESTARTED));
  const starling_server_info info = info_of(client);
  EXPECT_EQ(info.restarts, 1u);
  EXPECT_EQ(info.rows_lost, 200u);
  EXPECT_EQ(server->client().get_names(std::vector{named}).value().texts.front(), "Alice");
}

TEST_F(CClient, ThatDoesNotRestoreIsToldThatTheStreamIsUnknown) {
  starling_client_destroy(client);
  starling_client_options options{};
  ASSERT_EQ(starling_client_options_init(&options, sizeof(options)), STARLING_OK);
  const std::string commands = server->endpoints().commands;
  options.commands = commands.c_str();
  options.restore = 0;
  ASSERT_EQ(starling_client_connect(&options, &client), STARLING_OK);
  open_stream();
  stream::ServerOptions again = stream::manual_options();
  again.commands_endpoint = commands;
  server->stop();
  server.emplace(again);
  const starling_query query = query_at(1, 1, {0, 0});
  EXPECT_EQ(starling_client_put_queries(client, "riders", &query, 1, nullptr), STARLING_REFUSED);
  EXPECT_STREQ(last_error().name, "unknown_stream");
}

TEST_F(CClient, AGapIsMendedByASnapshot) {
  stream::ServerOptions options = stream::manual_options();
  options.subscriber_ticks_max = 1;
  starling_client_destroy(client);
  server.emplace(options);
  client = connect(*server);
  open_stream();
  // Long lists soon fill all buffers between the server and a reader that pauses.
  constexpr std::uint64_t first_long = 1000;
  std::vector<starling_query> queries;
  for (std::uint64_t i = 0; i < 500; ++i) queries.push_back(query_at(first_long + i, 150, {0, 0}));
  ASSERT_EQ(starling_client_put_queries(client, "riders", queries.data(), queries.size(), &counts),
            STARLING_OK)
      << last_error().sentence;
  subscription = subscribe(*server, "riders");
  std::int64_t tau_us = 1'000'000;
  move_and_tick(tau_us);
  ASSERT_TRUE(follow_to_last_tick());
  for (int tick = 0; tick < 150; ++tick) move_and_tick(tau_us += 1'000'000);
  // The message of the last tick may also be lost, so more ticks follow.
  bool is_live = false;
  for (int more = 0; more < 50 && !is_live; ++more) {
    move_and_tick(tau_us += 1'000'000);
    is_live = follow_to_last_tick(retry_timeout_ms);
  }
  ASSERT_TRUE(is_live);
  EXPECT_GT(lost, 0u);
  std::erase_if(held, [](const auto& entry) { return entry.first >= first_long; });
  expect_exact();
}

TEST_F(CClient, RefusalsCarryTheNameAndTheLimitOfTheWire) {
  starling_query query = query_at(1, 2000, {0, 0});
  open_stream();
  EXPECT_EQ(starling_client_put_queries(client, "riders", &query, 1, &counts), STARLING_REFUSED);
  const starling_error error = last_error();
  EXPECT_EQ(error.code, STARLING_REFUSED);
  EXPECT_STREQ(error.name, "k_out_of_range");
  EXPECT_STREQ(error.limit_name, "k-max");
  EXPECT_EQ(error.limit_value, 1024u);
  EXPECT_THAT(error.sentence, HasSubstr("k is 2000"));
  EXPECT_EQ(starling_client_remove_stream(client, "nobody"), STARLING_REFUSED);
  EXPECT_STREQ(last_error().name, "unknown_stream");
}

TEST(CClientWithoutAServer, SaysThatNobodyAnswers) {
  starling_client_options options{};
  ASSERT_EQ(starling_client_options_init(&options, sizeof(options)), STARLING_OK);
  options.commands = "tcp://127.0.0.1:1";
  options.timeout_ms = 200;
  starling_client* client = nullptr;
  EXPECT_EQ(starling_client_connect(&options, &client), STARLING_TIMED_OUT);
  EXPECT_EQ(client, nullptr);
  EXPECT_THAT(last_error().sentence, HasSubstr("tcp://127.0.0.1:1"));
  options.timeout_ms = 60'000;
  const auto since = std::chrono::steady_clock::now();
  EXPECT_EQ(starling_client_connect(&options, &client), STARLING_TIMED_OUT);
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(30));
  EXPECT_THAT(last_error().sentence, HasSubstr("Nothing listens at tcp://127.0.0.1:1"));
  options.commands = "nonsense";
  EXPECT_EQ(starling_client_connect(&options, &client), STARLING_UNAVAILABLE);
  EXPECT_THAT(last_error().sentence, HasSubstr("looks like tcp://"));
}

}  // namespace
}  // namespace starling::test
