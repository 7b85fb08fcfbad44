// SPDX-License-Identifier: Apache-2.0
// Tests how a client divides batches, and what it does when its server has restarted.
#include "starling/protocol/client/restoring_client.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/protocol/client/forgetful_server.hpp"

namespace starling::protocol {
namespace {

using test::ForgetfulServer;
using testing::ElementsAre;
using testing::IsEmpty;

/// Objects with the ids 1, 2, ... Object i is at (10 i, 0) at i microseconds.
struct Fleet {
  explicit Fleet(std::size_t count)
      : ids(count), times_us(count), coordinates(2 * count), bits(count, 1) {
    std::iota(ids.begin(), ids.end(), 1);
    std::iota(times_us.begin(), times_us.end(), 1);
    for (std::size_t row = 0; row < count; ++row)
      coordinates[2 * row] = 10 * static_cast<double>(ids[row]);
  }
  UpdateBatch batch() const {
    return {.ids = ids, .times_us = times_us, .coordinates = coordinates};
  }

  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;
  std::vector<std::uint32_t> bits;
};

PutQueries queries_of(std::string_view stream, std::uint64_t count) {
  PutQueries request{.stream = stream, .queries = {}};
  for (std::uint64_t id = 1; id <= count; ++id) request.queries.push_back({.id = QueryId{id}});
  return request;
}

struct RestoringClientTest : ::testing::Test {
  /// Makes a server and its client.
  void connect(const Limits& limits = {}, bool restores = true, std::int64_t timeout_ms = 10'000) {
    server.emplace(context, limits);
    ClientOptions options = server->options();
    options.timeout_ms = timeout_ms;
    client.emplace(context, RestoringClientOptions{.client = options, .restores = restores});
  }
  /// Puts one name, one stream and one query.
  void put_all() {
    const std::vector<std::uint64_t> ids{4};
    ASSERT_TRUE(client->put_names({.ids = ids, .texts = {"Alice"}}));
    ASSERT_TRUE(client->put_stream({.name = "riders"}));
    ASSERT_TRUE(client->put_queries(queries_of("riders", 1)));
    server->take_requests();
  }

  zmq::context_t context;
  std::optional<ForgetfulServer> server;
  std::optional<RestoringClient> client;
};

TEST_F(RestoringClientTest, AnUpdateIsDividedAndItsRepliesAreSummedUp) {
  connect({.credit_rows = 16});  // four rows a request
  Fleet objects(10);
  objects.ids[1] = 1001;
  objects.ids[9] = 1009;
  const auto reply = client->update(objects.batch());
  ASSERT_TRUE(reply);
  EXPECT_THAT(server->take_requests(),
              ElementsAre("update 1@10/1 1001@20/2 3@30/3 4@40/4",
                          "update 5@50/5 6@60/6 7@70/7 8@80/8", "update 9@90/9 1009@100/10"));
  EXPECT_EQ(*reply, (BatchReply{.accepted = 8,
                                .rejected = 2,
                                .reasons = {{RowReason::future, 2}},
                                .first_rejected = {{.index = 1, .reason = RowReason::future},
                                                   {.index = 9, .reason = RowReason::future}}}));
}

TEST_F(RestoringClientTest, TheListOfRejectedRowsIsNoLongerThanThatOfOneRequest) {
  connect({.credit_rows = 160});
  Fleet objects(100);
  for (std::uint64_t& id : objects.ids) id += 1000;
  const auto reply = client->update(objects.batch());
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->rejected, 100u);
  ASSERT_EQ(reply->first_rejected.size(), rejected_rows_listed_max);
  EXPECT_EQ(reply->first_rejected.back().index, rejected_rows_listed_max - 1);
}

TEST_F(RestoringClientTest, EveryArrayOfAnUpdateIsDivided) {
  connect({.space = Space::vector, .dimension = 2, .credit_rows = 8});
  const Fleet objects(3);
  const std::vector<float> coordinates{10, 0, 20, 0, 30, 0};
  const std::vector<std::uint32_t> tags{5, 6, 7};
  const std::vector<Label> labels{15, 16, 17};
  const std::vector<double> values{25, 26, 27};
  const auto reply = client->update({.ids = objects.ids,
                                     .times_us = objects.times_us,
                                     .coordinates_f32 = coordinates,
                                     .tags = tags,
                                     .dimension = 2,
                                     .labels = labels,
                                     .values = values});
  ASSERT_TRUE(reply) << reply.problem().sentence;
  EXPECT_THAT(server->take_requests(),
              ElementsAre("update 1@10/1 tags 5 label 15 value 25 2@20/2 tags 6 label 16 value 26",
                          "update 3@30/3 tags 7 label 17 value 27"));
}

TEST_F(RestoringClientTest, RowsKeepTheirOwnColumnsWhenAnUpdateIsDivided) {
  connect({.space = Space::vector, .dimension = 2, .credit_rows = 8});
  const Fleet objects(4);
  const std::vector<float> coordinates{10, 0, 20, 0, 30, 0, 40, 0};
  const std::vector<std::uint32_t> tags{5, 6, 7};
  const std::vector<double> values{25};
  const std::vector<std::uint8_t> row_columns{tags_column, 0, tags_column | value_column,
                                              tags_column};
  const auto reply = client->update({.ids = objects.ids,
                                     .times_us = objects.times_us,
                                     .coordinates_f32 = coordinates,
                                     .tags = tags,
                                     .dimension = 2,
                                     .values = values,
                                     .row_columns = row_columns});
  ASSERT_TRUE(reply) << reply.problem().sentence;
  EXPECT_THAT(server->take_requests(), ElementsAre("update 1@10/1 tags 5 2@20/2",
                                                   "update 3@30/3 tags 6 value 25 4@40/4 tags 7"));
}

TEST_F(RestoringClientTest, OtherBatchesHaveAtMostRowsMaxRows) {
  connect({.rows_max = 2});
  const Fleet objects(3);
  const auto expect_three = [](const Result<BatchReply>& reply) {
    ASSERT_TRUE(reply) << reply.problem().sentence;
    EXPECT_EQ(reply->accepted, 3u);
  };
  expect_three(client->update_tags({objects.ids, objects.times_us, objects.bits, objects.bits}));
  EXPECT_THAT(server->take_requests(), ElementsAre("tags 1 2", "tags 3"));
  expect_three(client->remove_objects({objects.ids, objects.times_us}));
  EXPECT_THAT(server->take_requests(), ElementsAre("remove 1 2", "remove 3"));
  expect_three(client->put_names({.ids = objects.ids, .texts = {"a", "b", "c"}}));
  EXPECT_THAT(server->take_requests(), ElementsAre("names 1=a 2=b", "names 3=c"));
  ASSERT_TRUE(client->put_stream({.name = "riders"}));
  expect_three(client->put_queries(queries_of("riders", 3)));
  EXPECT_THAT(server->take_requests(),
              ElementsAre("stream riders", "queries riders 1:k1 2:k1", "queries riders 3:k1"));
  expect_three(client->remove_queries({.stream = "riders", .ids = objects.ids}));
  EXPECT_THAT(server->take_requests(),
              ElementsAre("remove queries riders 1 2", "remove queries riders 3"));
}

TEST_F(RestoringClientTest, BatchesWithoutRows) {
  connect();
  EXPECT_TRUE(client->update({}));
  EXPECT_FALSE(client->post({}));
  EXPECT_THAT(server->take_requests(), IsEmpty());
  EXPECT_TRUE(client->remove_objects({}));
  EXPECT_THAT(server->take_requests(), ElementsAre("remove"));
  EXPECT_EQ(client->put_queries({.stream = "riders", .queries = {}}).problem().code,
            ErrorCode::unknown_stream);
}

TEST_F(RestoringClientTest, NothingOfABatchIsSentWhoseArraysDoNotFitTogether) {
  connect({.rows_max = 2});
  const Fleet objects(3);
  const Fleet fewer(2);
  const auto expect_refused = [&](const Result<BatchReply>& reply, std::string_view sentence) {
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.problem().code, ErrorCode::array_mismatch);
    EXPECT_EQ(reply.problem().sentence, sentence);
    EXPECT_THAT(server->take_requests(), IsEmpty());
  };
  UpdateBatch batch = objects.batch();
  batch.times_us = fewer.times_us;
  expect_refused(client->update(batch), "The request has 3 ids but 2 times_us; each id needs one.");
  EXPECT_EQ(client->post(batch)->code, ErrorCode::array_mismatch);
  batch = objects.batch();
  batch.coordinates = fewer.coordinates;
  expect_refused(client->update(batch),
                 "The batch has 4 coordinates; 3 ids of 2 components need 6.");
  batch = objects.batch();
  batch.tags = fewer.bits;
  expect_refused(client->update(batch), "The request has 3 ids but 2 tags; each id needs one.");
  expect_refused(client->update_tags({objects.ids, objects.times_us, objects.bits, fewer.bits}),
                 "The request has 3 ids but 2 clear; each id needs one.");
  expect_refused(client->remove_objects({objects.ids, fewer.times_us}),
                 "The request has 3 ids but 2 times_us; each id needs one.");
  expect_refused(client->put_names({.ids = objects.ids, .texts = {"a", "b"}}),
                 "The request has 3 ids but 2 texts; each id needs one.");
}

TEST_F(RestoringClientTest, ARefusedPartIsTheLast) {
  connect({.credit_rows = 8});  // two rows a request
  server->refuse("update 3@30/3 4@40/4", ErrorCode::not_allowed);
  const Fleet objects(6);
  const auto reply = client->update(objects.batch());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.problem().code, ErrorCode::not_allowed);
  EXPECT_THAT(server->take_requests(), ElementsAre("update 1@10/1 2@20/2", "update 3@30/3 4@40/4"));
}

TEST_F(RestoringClientTest, PostedRowsAreDividedAndCountedByFlush) {
  connect({.credit_rows = 8});
  const Fleet objects(3);
  EXPECT_FALSE(client->post(objects.batch()));
  EXPECT_EQ(client->flush().accepted, 3u);
  EXPECT_THAT(server->take_requests(), ElementsAre("update 1@10/1 2@20/2", "update 3@30/3"));
}

TEST_F(RestoringClientTest, RowsMayBeMadePartByPart) {
  connect({.credit_rows = 8});
  Fleet part(0);
  const auto rows_of = [&](std::size_t first, std::size_t count) {
    part = Fleet(first + count);
    part.ids.erase(part.ids.begin(), part.ids.begin() + static_cast<std::ptrdiff_t>(first));
    return UpdateBatch{.ids = part.ids,
                       .times_us = std::span(part.times_us).subspan(first),
                       .coordinates = std::span(part.coordinates).subspan(2 * first)};
  };
  const auto reply = client->update(3, rows_of);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->accepted, 3u);
  EXPECT_THAT(server->take_requests(), ElementsAre("update 1@10/1 2@20/2", "update 3@30/3"));
  EXPECT_FALSE(client->post(1, rows_of));
  EXPECT_EQ(client->flush().accepted, 1u);
  EXPECT_THAT(server->take_requests(), ElementsAre("update 1@10/1"));
}

TEST_F(RestoringClientTest, WhatWasPutIsPutAgainByTheCallThatNoticesTheRestart) {
  connect();
  put_all();
  EXPECT_EQ(client->restarts(), 0u);
  server->restart();
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(),
              ElementsAre("stats", "names 4=Alice", "stream riders", "queries riders 1:k1"));
  EXPECT_EQ(client->restarts(), 1u);
  EXPECT_EQ(client->epoch(), 2u);
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(), ElementsAre("stats"));
}

TEST_F(RestoringClientTest, ARequestThatNeededItsStreamIsSentOnceMore) {
  connect();
  put_all();
  server->restart();
  const auto reply = client->put_queries(queries_of("riders", 2));
  ASSERT_TRUE(reply) << reply.problem().sentence;
  EXPECT_EQ(reply->accepted, 2u);
  EXPECT_THAT(server->take_requests(),
              ElementsAre("queries riders 1:k1 2:k1", "names 4=Alice", "stream riders",
                          "queries riders 1:k1", "queries riders 1:k1 2:k1"));
}

TEST_F(RestoringClientTest, WhatWasRemovedIsNotPutAgain) {
  connect();
  put_all();
  ASSERT_TRUE(client->put_stream({.name = "drivers"}));
  ASSERT_TRUE(client->remove_stream("drivers"));
  const std::vector<std::uint64_t> ids{1};
  ASSERT_TRUE(client->remove_queries({.stream = "riders", .ids = ids}));
  server->take_requests();
  server->restart();
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(), ElementsAre("stats", "names 4=Alice", "stream riders"));
}

TEST_F(RestoringClientTest, WhatWasRefusedIsNotPutAgain) {
  connect();
  server->refuse("stream riders", ErrorCode::too_many_streams);
  EXPECT_FALSE(client->put_stream({.name = "riders"}));
  server->refuse_nothing();
  server->take_requests();
  server->restart();
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(), ElementsAre("stats"));
}

TEST_F(RestoringClientTest, OneThatDoesNotRestoreStillNoticesARestart) {
  connect({}, /*restores=*/false);
  put_all();
  server->restart();
  const auto reply = client->put_queries(queries_of("riders", 2));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.problem().code, ErrorCode::unknown_stream);
  EXPECT_EQ(client->restarts(), 1u);
}

TEST_F(RestoringClientTest, RowsThatTheOldServerAcknowledgedAreLost) {
  connect();
  const Fleet objects(3);
  ASSERT_TRUE(client->update(objects.batch()));
  ASSERT_TRUE(client->update_tags({objects.ids, objects.times_us, objects.bits, objects.bits}));
  ASSERT_TRUE(client->remove_objects({objects.ids, objects.times_us}));
  EXPECT_FALSE(client->post(objects.batch()));
  client->flush();
  put_all();  // sends no rows of objects
  EXPECT_EQ(client->rows_lost(), 0u);
  server->restart();
  ASSERT_TRUE(client->update(objects.batch()));
  EXPECT_EQ(client->rows_lost(), 12u);
  server->restart();
  EXPECT_TRUE(client->get_stats());
  EXPECT_EQ(client->rows_lost(), 15u);
  EXPECT_EQ(client->restarts(), 2u);
}

TEST_F(RestoringClientTest, ARefusedRestoreIsThrownOnce) {
  connect();
  put_all();
  server->restart();
  server->refuse("stream riders", ErrorCode::too_many_streams);
  EXPECT_THROW(static_cast<void>(client->get_stats()), RefusedError);
  server->take_requests();
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(), ElementsAre("stats"));
  EXPECT_EQ(client->restarts(), 1u);
}

TEST_F(RestoringClientTest, ARestoreThatTimedOutIsGoneOnWith) {
  connect({}, /*restores=*/true, /*timeout_ms=*/1'000);
  put_all();
  server->restart();
  server->refuse("stream riders", ErrorCode::none);  // no reply
  EXPECT_THROW(static_cast<void>(client->get_stats()), TimeoutError);
  server->refuse_nothing();
  server->take_requests();
  EXPECT_TRUE(client->get_stats());
  EXPECT_THAT(server->take_requests(),
              ElementsAre("stats", "names 4=Alice", "stream riders", "queries riders 1:k1"));
  EXPECT_EQ(client->restarts(), 1u);
}

TEST_F(RestoringClientTest, ALogThatWasPutBackIsRestoredInTheSameEpoch) {
  connect();
  put_all();
  server->refuse("remove 1", ErrorCode::log_put_back);
  const Fleet objects(1);
  const auto reply = client->remove_objects({objects.ids, objects.times_us});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.problem().code, ErrorCode::log_put_back);
  EXPECT_THAT(server->take_requests(),
              ElementsAre("remove 1", "names 4=Alice", "stream riders", "queries riders 1:k1"));
  EXPECT_EQ(client->restarts(), 0u);
}

TEST_F(RestoringClientTest, OtherRequestsNoticeARestartToo) {
  connect();
  put_all();
  server->restart();
  int calls = 0;
  const auto reply = client->ask([&](Client& plain) {
    ++calls;
    return plain.put_queries(queries_of("riders", 3));
  });
  EXPECT_TRUE(reply);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(client->restarts(), 1u);
}

}  // namespace
}  // namespace starling::protocol
