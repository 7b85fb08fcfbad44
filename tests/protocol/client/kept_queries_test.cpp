// SPDX-License-Identifier: Apache-2.0
// Tests what a client puts again after a restart of its server, on a clock of the test's own.
#include "starling/protocol/client/kept_queries.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/protocol/client/forgetful_server.hpp"

namespace starling::protocol {
namespace {

using std::chrono::milliseconds;
using test::ForgetfulServer;
using testing::ElementsAre;
using testing::IsEmpty;

QuerySpec leased(std::uint64_t id, std::uint64_t lease_ms, std::uint32_t k = 1) {
  return {.id = QueryId{id}, .k = k, .lease_ms = lease_ms};
}

struct KeptQueriesTest : ::testing::Test {
  void put_queries(const std::vector<QuerySpec>& queries, milliseconds at = milliseconds(0)) {
    kept.put_queries({.stream = "riders", .queries = queries}, start + at);
  }
  std::vector<std::string> put_again(const Limits& limits = {}, milliseconds at = milliseconds(0)) {
    ForgetfulServer server(context, limits);
    Client client(context, server.options());
    kept.put_again(client, start + at);
    return server.take_requests();
  }

  zmq::context_t context;
  KeptQueries::Clock::time_point start{std::chrono::hours(1)};
  KeptQueries kept;
};

TEST_F(KeptQueriesTest, NamesComeBeforeStreamsAndAStreamBeforeItsQueries) {
  const std::vector<std::uint64_t> ids{4, 5};
  kept.put_names({.ids = ids, .texts = {"Alice", "Bob"}});
  kept.put_stream({.name = "riders", .on = ReportOn::distance, .with = {.tags = true}});
  put_queries({leased(7, 0, 3), leased(8, 0)});
  kept.put_stream({.name = "drivers"});
  EXPECT_THAT(put_again(),
              ElementsAre("names 4=Alice 5=Bob", "stream drivers",
                          "stream riders on=distance with=tags", "queries riders 7:k3 8:k1"));
}

TEST_F(KeptQueriesTest, NothingKeptPutsNothing) {
  EXPECT_THAT(put_again(), IsEmpty());
}

TEST_F(KeptQueriesTest, TheLastQueryAndStreamWithANameCount) {
  kept.put_stream({.name = "riders"});
  put_queries({leased(7, 0, 3)});
  kept.put_stream({.name = "riders", .on = ReportOn::distance});
  put_queries({leased(7, 0, 4)});
  EXPECT_THAT(put_again(), ElementsAre("stream riders on=distance", "queries riders 7:k4"));
}

TEST_F(KeptQueriesTest, WhatWasRemovedIsNotPut) {
  kept.put_stream({.name = "riders"});
  put_queries({leased(7, 0), leased(8, 0)});
  kept.put_stream({.name = "drivers"});
  kept.remove_stream("drivers");
  const std::vector<std::uint64_t> ids{7, 99};
  kept.remove_queries({.stream = "riders", .ids = ids});
  EXPECT_THAT(put_again(), ElementsAre("stream riders", "queries riders 8:k1"));
  kept.remove_stream("riders");
  EXPECT_THAT(put_again(), IsEmpty());
}

TEST_F(KeptQueriesTest, QueriesOfAnotherClientsStreamAreNotKept) {
  put_queries({leased(7, 0)});
  kept.put_stream({.name = "riders"});
  EXPECT_THAT(put_again(), ElementsAre("stream riders"));
}

TEST_F(KeptQueriesTest, QueriesWhoseLeaseHasEndedAreLeftOut) {
  kept.put_stream({.name = "riders"});
  put_queries({leased(1, 0), leased(2, 1000), leased(3, 1001), leased(4, 1000)});
  put_queries({leased(4, 1000)}, milliseconds(1));
  EXPECT_THAT(put_again({}, milliseconds(999)),
              ElementsAre("stream riders", "queries riders 1:k1 2:k1 3:k1 4:k1"));
  EXPECT_THAT(put_again({}, milliseconds(1000)),
              ElementsAre("stream riders", "queries riders 1:k1 3:k1 4:k1"));
}

TEST_F(KeptQueriesTest, NoRequestHasMoreRowsThanTheServerAllows) {
  constexpr std::uint32_t rows_max = 2;
  kept.put_stream({.name = "riders"});
  put_queries({leased(1, 0), leased(2, 0), leased(3, 0)});
  const std::vector<std::uint64_t> ids{4, 5, 6, 7};
  kept.put_names({.ids = ids, .texts = {"a", "b", "c", "d"}});
  // The client refuses to send more rows, and then put_again() throws.
  const auto requests = put_again({.rows_max = rows_max});
  EXPECT_EQ(requests.size(), 5u);  // 2 for names, 1 for the stream, 2 for queries
}

TEST_F(KeptQueriesTest, ARefusalIsThrown) {
  ForgetfulServer server(context);
  Client client(context, server.options());
  server.refuse("stream riders", ErrorCode::too_many_streams);
  kept.put_stream({.name = "riders"});
  try {
    kept.put_again(client, start);
    FAIL() << "the refusal is lost";
  } catch (const RefusedError& refused) {
    EXPECT_EQ(refused.code, ErrorCode::too_many_streams);
  }
}

}  // namespace
}  // namespace starling::protocol
