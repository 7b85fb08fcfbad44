// SPDX-License-Identifier: Apache-2.0
// Calls the client and the subscription of the C interface with arguments that no program should
// pass, and across a restart of the server. Refused calls leave the server's answers as they were.
#include <cstring>

#include "tests/c/calls.hpp"
#include "tests/c/server.hpp"

namespace starling::c_test {
namespace {

starling_client_options client_options(const char* commands) {
  starling_client_options options;
  EXPECT_FINE(starling_client_options_init(&options, sizeof(options)));
  options.commands = commands;
  return options;
}

starling_subscription_options subscription_options(const char* commands, const char* results) {
  starling_subscription_options options;
  EXPECT_FINE(starling_subscription_options_init(&options, sizeof(options)));
  options.commands = commands;
  options.results = results;
  options.stream = "riders";
  return options;
}

/// A client of a server with two objects, a stream, a query and one tick. TearDown() checks that
/// the test has not changed the answer.
class ServedClient : public testing::Test {
 protected:
  void SetUp() override {
    const auto options = client_options(commands_.c_str());
    ASSERT_EQ(starling_client_connect(&options, &client_), STARLING_OK) << last_error().sentence;
    const auto riders = stream("riders");
    EXPECT_FINE(starling_client_put_stream(client_, &riders));
    const auto nearest = query(7, 2);
    EXPECT_FINE(starling_client_put_queries(client_, "riders", &nearest, 1, nullptr));
    const auto rows = two_rows();
    EXPECT_FINE(starling_client_update(client_, &rows, nullptr));
    EXPECT_FINE(starling_client_advance_tick(client_, 1000, nullptr));
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    EXPECT_FINE(starling_client_advance_tick(client_, 3000, nullptr));
    EXPECT_EQ(answer(), " 0: 11@10 12@20\n");
    EXPECT_FINE(starling_client_destroy(client_));
    EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_destroy(client_));
  }

  starling_rows two_rows() const {
    auto rows = sized<starling_rows>();
    rows.count = 2;
    rows.ids = ids_;
    rows.time_us = 500;
    rows.coordinates = coordinates_;
    rows.components = 2;
    return rows;
  }

  std::string answer() {
    const auto question = query(0, 3);
    starling_result* result = nullptr;
    EXPECT_FINE(starling_client_neighbors(client_, &question, 1, &result));
    const std::string text = text_of(result);
    EXPECT_FINE(starling_result_destroy(result));
    return text;
  }

  /// Reads events until an event has lists, and returns the lists as text.
  std::string next_lists(starling_subscription* subscription) {
    auto event = sized<starling_event>();
    starling_result* result = nullptr;
    std::string text;
    while (result == nullptr) {
      EXPECT_FINE(starling_subscription_next(subscription, 10'000, &event, &result));
      if (event.kind == STARLING_EVENT_NONE) return "nothing came";
    }
    text = text_of(result);
    EXPECT_FINE(starling_result_destroy(result));
    return text;
  }

  Server server_;
  const std::string commands_ = server_.commands();
  const std::string results_ = server_.results();
  starling_client* client_ = nullptr;
  const std::uint64_t ids_[2] = {11, 12};
  const double coordinates_[4] = {10, 0, 20, 0};
};

/// Checks that every function of a client refuses the handle.
void expect_bad_client(starling_client* client) {
  auto info = sized<starling_server_info>();
  const auto rows = sized<starling_rows>();
  const auto riders = stream("riders");
  const auto nearest = query(1, 1);
  starling_result* result = nullptr;
  const auto take = [](void*, const char*, double) {};
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_info(client, &info));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_update(client, &rows, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_update_tags(client, 0, nullptr, nullptr,
                                                                  nullptr, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_client_remove_objects(client, 0, nullptr, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_client_put_names(client, 0, nullptr, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_put_stream(client, &riders));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_remove_stream(client, "riders"));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_client_put_queries(client, "riders", &nearest, 1, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_client_remove_queries(client, "riders", nullptr, 0, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_neighbors(client, &nearest, 1, &result));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_advance_tick(client, 1, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_post(client, &rows));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_flush(client, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_client_stats(client, take, nullptr));
}

void expect_bad_subscription(starling_subscription* subscription) {
  auto event = sized<starling_event>();
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_subscription_next(subscription, 0, &event, &result));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_subscription_lists(subscription, &result));
}

TEST(HostileClient, RefusesHandlesThatAreNotLive) {
  const auto options = index_options();
  const float point[1] = {1};
  starling_index* index = nullptr;
  EXPECT_FINE(starling_index_create(&options, point, 1, 1, &index));
  for (void* const bad : {static_cast<void*>(nullptr), static_cast<void*>(index),
                          static_cast<void*>(not_a_handle<starling_client>())}) {
    expect_bad_client(static_cast<starling_client*>(bad));
    expect_bad_subscription(static_cast<starling_subscription*>(bad));
    if (bad == nullptr) continue;
    EXPECT_REFUSED(STARLING_BAD_HANDLE,
                   starling_client_destroy(static_cast<starling_client*>(bad)));
    EXPECT_REFUSED(STARLING_BAD_HANDLE,
                   starling_subscription_close(static_cast<starling_subscription*>(bad)));
  }
  EXPECT_FINE(starling_client_destroy(nullptr));
  EXPECT_FINE(starling_subscription_close(nullptr));
  EXPECT_FINE(starling_index_destroy(index));
}

TEST(HostileClient, RefusesOptionsThatMeanNothing) {
  starling_client* client = nullptr;
  const auto expect_refused_client = [&](starling_code code, auto change) {
    auto options = client_options("ipc:///tmp/starling_no_such_server");
    options.timeout_ms = 1;
    change(options);
    EXPECT_REFUSED(code, starling_client_connect(&options, &client));
    EXPECT_EQ(client, nullptr);
  };
  using Options = starling_client_options;
  expect_refused_client(STARLING_TIMED_OUT, [](Options&) {});
  expect_refused_client(STARLING_UNAVAILABLE, [](Options& options) { options.commands = ""; });
  expect_refused_client(STARLING_UNAVAILABLE,
                        [](Options& options) { options.commands = "\xff://%n%n"; });
  expect_refused_client(STARLING_INVALID_ARGUMENT,
                        [](Options& options) { options.commands = nullptr; });
  expect_refused_client(STARLING_INVALID_ARGUMENT,
                        [](Options& options) { options.name = nullptr; });
  for (const std::int64_t value : {INT64_C(0), INT64_C(-1), INT64_MIN, INT64_MAX})
    expect_refused_client(STARLING_INVALID_ARGUMENT,
                          [&](Options& options) { options.timeout_ms = value; });
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, SIZE_MAX}) {
    Options options;
    starling_subscription_options subscribed;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_options_init(&options, size));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_subscription_options_init(&subscribed, size));
    expect_refused_client(STARLING_INVALID_ARGUMENT,
                          [&](Options& hostile) { hostile.size = size; });
  }
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_options_init(nullptr, 100));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_subscription_options_init(nullptr, 100));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_connect(nullptr, &client));
  const auto options = client_options("ipc:///tmp/starling_no_such_server");
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_connect(&options, nullptr));
}

TEST(HostileSubscription, RefusesOptionsThatMeanNothing) {
  const auto expect_refused_subscription = [](starling_code code, auto change) {
    auto options = subscription_options("ipc:///tmp/starling_none", "ipc:///tmp/starling_none");
    options.timeout_ms = 1;
    change(options);
    starling_subscription* subscription = nullptr;
    EXPECT_REFUSED(code, starling_subscription_open(&options, &subscription));
    EXPECT_EQ(subscription, nullptr);
  };
  using Options = starling_subscription_options;
  expect_refused_subscription(STARLING_INVALID_ARGUMENT,
                              [](Options& options) { options.commands = nullptr; });
  expect_refused_subscription(STARLING_INVALID_ARGUMENT,
                              [](Options& options) { options.stream = nullptr; });
  expect_refused_subscription(STARLING_REFUSED, [](Options& options) { options.stream = ""; });
  for (const std::uint64_t count : {UINT64_C(1), huge}) {
    expect_refused_subscription(STARLING_INVALID_ARGUMENT,
                                [&](Options& options) { options.query_count = count; });
    expect_refused_subscription(STARLING_INVALID_ARGUMENT,
                                [&](Options& options) { options.subject_count = count; });
  }
  starling_subscription* subscription = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_subscription_open(nullptr, &subscription));
  const auto options = subscription_options("ipc:///tmp/none", "ipc:///tmp/none");
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_subscription_open(&options, nullptr));
}

TEST_F(ServedClient, RefusesArgumentsThatMeanNothing) {
  auto counts = sized<starling_counts>();
  counts.size = 1;
  auto rows = two_rows();
  const auto nearest = query(9, 1);
  const char* const no_text[] = {nullptr};
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_info(client_, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_update(client_, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_update(client_, &rows, &counts));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_flush(client_, &counts));
  rows.count = huge;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_update(client_, &rows, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_post(client_, &rows));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_post(client_, nullptr));
  for (const std::uint64_t count : {UINT64_C(1), huge}) {
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_client_update_tags(client_, count, nullptr, nullptr, nullptr, nullptr, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_client_remove_objects(client_, count, nullptr, nullptr, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_client_put_names(client_, count, ids_, nullptr, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_client_put_queries(client_, "riders", nullptr, count, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_client_remove_queries(client_, "riders", nullptr, count, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_client_neighbors(client_, nullptr, count, &result));
  }
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_client_put_names(client_, 1, ids_, no_text, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_put_stream(client_, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_remove_stream(client_, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_client_neighbors(client_, &nearest, 1, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_client_stats(client_, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_REFUSED, starling_client_remove_stream(client_, "unknown"));
  EXPECT_STREQ(last_error().name, "unknown_stream");
  EXPECT_REFUSED(STARLING_REFUSED, starling_client_advance_tick(client_, 999, nullptr));
  EXPECT_REFUSED(STARLING_REFUSED, starling_client_advance_tick(client_, INT64_MIN, nullptr));
  for (const std::uint32_t k : {0U, UINT32_MAX}) {
    const auto hostile = query(9, k);
    EXPECT_REFUSED(STARLING_REFUSED,
                   starling_client_put_queries(client_, "riders", &hostile, 1, nullptr));
    EXPECT_REFUSED(STARLING_REFUSED, starling_client_neighbors(client_, &hostile, 1, &result));
  }
}

TEST_F(ServedClient, TakesEmptyArrays) {
  auto counts = sized<starling_counts>();
  auto rows = sized<starling_rows>();
  rows.components = 2;
  EXPECT_FINE(starling_client_update(client_, &rows, &counts));
  EXPECT_FINE(starling_client_post(client_, &rows));
  EXPECT_FINE(starling_client_flush(client_, &counts));
  EXPECT_FINE(starling_client_update_tags(client_, 0, nullptr, nullptr, nullptr, nullptr, &counts));
  EXPECT_FINE(starling_client_remove_objects(client_, 0, nullptr, nullptr, &counts));
  EXPECT_FINE(starling_client_put_names(client_, 0, nullptr, nullptr, &counts));
  EXPECT_FINE(starling_client_put_queries(client_, "riders", nullptr, 0, &counts));
  EXPECT_FINE(starling_client_remove_queries(client_, "riders", nullptr, 0, &counts));
  starling_result* result = nullptr;
  EXPECT_FINE(starling_client_neighbors(client_, nullptr, 0, &result));
  EXPECT_FINE(starling_result_destroy(result));
}

TEST_F(ServedClient, IsInUseWhileItCallsBack) {
  struct Seen {
    starling_client* client;
    starling_code asked = STARLING_OK;
    starling_code destroyed = STARLING_OK;
    int count = 0;
  } seen{.client = client_};
  const auto take = [](void* context, const char* name, double) {
    Seen& here = *static_cast<Seen*>(context);
    auto info = sized<starling_server_info>();
    here.asked = starling_client_info(here.client, &info);
    here.destroyed = starling_client_destroy(here.client);
    here.count += std::strlen(name) > 0 ? 1 : 0;
  };
  EXPECT_FINE(starling_client_stats(client_, take, &seen));
  EXPECT_GT(seen.count, 10);
  EXPECT_EQ(seen.asked, STARLING_IN_USE);
  EXPECT_EQ(seen.destroyed, STARLING_IN_USE);
}

TEST_F(ServedClient, SurvivesACallbackThatThrows) {
  const auto take = [](void*, const char*, double) { throw 1; };
  EXPECT_REFUSED(STARLING_INTERNAL, starling_client_stats(client_, take, nullptr));
}

TEST_F(ServedClient, SubscribesAndRefusesHostileArguments) {
  const auto options = subscription_options(commands_.c_str(), results_.c_str());
  starling_subscription* subscription = nullptr;
  ASSERT_EQ(starling_subscription_open(&options, &subscription), STARLING_OK);
  auto event = sized<starling_event>();
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_REFUSED, starling_subscription_lists(subscription, &result));
  for (const std::int64_t timeout_ms : {INT64_C(-1), INT64_MIN, INT64_MAX})
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_subscription_next(subscription, timeout_ms, &event, &result));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_subscription_next(subscription, 0, nullptr, &result));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_subscription_next(subscription, 0, &event, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_subscription_lists(subscription, nullptr));
  event.size = 7;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_subscription_next(subscription, 0, &event, &result));
  EXPECT_EQ(next_lists(subscription), "riders 7: 11@10 12@20\n");
  EXPECT_FINE(starling_subscription_lists(subscription, &result));
  EXPECT_EQ(text_of(result), "riders 7: 11@10 12@20\n");
  EXPECT_FINE(starling_result_destroy(result));
  EXPECT_FINE(starling_subscription_close(subscription));
  expect_bad_subscription(subscription);
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_subscription_close(subscription));
}

TEST_F(ServedClient, PutsItsQueriesAgainAfterARestartAndCountsLostRows) {
  server_.restart();
  const auto rows = two_rows();
  auto counts = sized<starling_counts>();
  EXPECT_FINE(starling_client_update(client_, &rows, &counts));
  EXPECT_EQ(counts.accepted, 2U);
  auto info = sized<starling_server_info>();
  EXPECT_FINE(starling_client_info(client_, &info));
  EXPECT_EQ(info.restarts, 1U);
  EXPECT_EQ(info.rows_lost, 2U);

  const auto options = subscription_options(commands_.c_str(), results_.c_str());
  starling_subscription* subscription = nullptr;
  ASSERT_EQ(starling_subscription_open(&options, &subscription), STARLING_OK);
  EXPECT_FINE(starling_client_advance_tick(client_, 2000, nullptr));
  std::string lists = next_lists(subscription);
  while (lists.empty()) lists = next_lists(subscription);  // skips a snapshot from before the tick
  EXPECT_EQ(lists, "riders 7: 11@10 12@20\n");
  EXPECT_FINE(starling_subscription_close(subscription));
}

}  // namespace
}  // namespace starling::c_test
