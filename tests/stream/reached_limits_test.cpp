// SPDX-License-Identifier: Apache-2.0
// Reaches each limit that a request can reach. The reply must name the limit and its value. The
// server must change nothing and keep running. The table `tested_elsewhere` names the tests of the
// other limits.
#include <array>
#include <functional>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/operation/limit_table.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;
using ::testing::HasSubstr;

/// A client that sends requests without checking them.
class Producer {
 public:
  explicit Producer(const RunningServer& server)
      : server_(server), peer_(server.context(), server.endpoints().commands) {}

  std::unique_ptr<RawReply> ask(const protocol::RequestBody& body) {
    if (protocol::is_sequenced(body)) ++sequence_;
    return peer_.ask(encoded({.request_id = 1,
                              .session = session_,
                              .sequence = protocol::is_sequenced(body) ? sequence_ : 0},
                             body));
  }
  std::unique_ptr<RawReply> resend(std::uint64_t sequence, const protocol::RequestBody& body) {
    return peer_.ask(encoded({.request_id = 1, .session = session_, .sequence = sequence}, body));
  }
  std::unique_ptr<RawReply> update(std::uint64_t count) {
    Fixes fixes;
    for (std::uint64_t id = 1; id <= count; ++id) fixes.add(id, 1, static_cast<double>(id), 0);
    return ask(fixes.batch());
  }
  std::unique_ptr<RawReply> put_stream(std::string_view name) {
    return ask(protocol::PutStream{.name = name});
  }
  std::unique_ptr<RawReply> put_query(std::uint64_t id, std::uint32_t k) {
    return ask(protocol::PutQueries{"s", {nearest_to(id, k, 0, 0)}});
  }
  std::unique_ptr<RawReply> put_name(std::string_view text) {
    const std::array ids{to_number(protocol::id_of_text(text))};
    return ask(protocol::PutNames{ids, {text}});
  }
  std::unique_ptr<RawReply> ask_neighbors(std::size_t questions, std::uint32_t k) {
    return ask(protocol::GetNeighbors{{questions, nearest_to(0, k, 0, 0)}});
  }
  std::unique_ptr<RawReply> hello_here() {
    return peer_.ask(encoded({}, protocol::Hello{.client = "raw"}));
  }
  std::unique_ptr<RawReply> hello_again() const {
    RawPeer other(server_.context(), server_.endpoints().commands);
    return other.ask(encoded({}, protocol::Hello{.client = "raw"}));
  }

  /// Asks on a session that does not exist.
  std::unique_ptr<RawReply> guess() {
    return other_.ask(encoded({.request_id = 1, .session = 1}, protocol::GetStats{}));
  }

  /// Returns the gauges that count what the server holds.
  std::vector<double> state() {
    const auto reply = ask(protocol::GetStats{});
    const std::set<std::string_view> names{"starling_objects", "starling_queries",
                                           "starling_streams", "starling_names",
                                           "starling_sessions"};
    std::vector<double> values;
    for (const auto& counter : std::get<protocol::Stats>(reply->decoded.body).counters)
      if (names.contains(counter.name)) values.push_back(counter.value);
    return values;
  }

 private:
  const RunningServer& server_;
  RawPeer peer_;
  std::uint64_t session_ = peer_.hello();
  std::uint64_t sequence_ = 0;
  RawPeer other_{server_.context(), server_.endpoints().commands};
};

struct Case {
  const char* limit;
  std::uint64_t value;
  ErrorCode code;    ///< the error of a refused request; none if only a row is rejected
  RowReason reason;  ///< the reason of a rejected row; none if the request is refused
  std::function<void(Producer&)> fill;
  std::function<std::unique_ptr<RawReply>(Producer&)> reach;
};

Case refused(
    const char* limit, std::uint64_t value, ErrorCode code,
    std::function<std::unique_ptr<RawReply>(Producer&)> reach,
    std::function<void(Producer&)> fill = [](Producer&) {}) {
  return {limit, value, code, RowReason::none, std::move(fill), std::move(reach)};
}

Case rejected(const char* limit, std::uint64_t value, RowReason reason,
              std::function<void(Producer&)> fill,
              std::function<std::unique_ptr<RawReply>(Producer&)> reach) {
  return {limit, value, ErrorCode::none, reason, std::move(fill), std::move(reach)};
}

const std::string long_name(256, 'n');
constexpr std::array<std::uint64_t, 3> three_ids{1, 2, 3};

std::vector<Case> cases() {
  const auto fill_stream = [](Producer& p) { p.put_stream("s"); };
  const auto fill_queries = [](Producer& p) {
    p.put_stream("s");
    p.put_query(1, 1);
    p.put_query(2, 1);
  };
  const auto third_query = [](Producer& p) { return p.put_query(3, 1); };
  const auto fill_name = [](Producer& p) { p.put_name("a"); };
  const auto second_name = [](Producer& p) { return p.put_name("b"); };
  const auto second_stream = [](Producer& p) { return p.put_stream("t"); };
  const auto first_snapshot = [](Producer& p) {
    return p.ask(protocol::GetSnapshot{.stream = "s"});
  };
  return {
      refused("rows-max", 2, ErrorCode::too_many_rows, [](Producer& p) { return p.update(3); }),
      refused("questions-max", 2, ErrorCode::too_many_rows,
              [](Producer& p) { return p.ask_neighbors(3, 1); }),
      refused("names-asked-max", 2, ErrorCode::too_many_rows,
              [](Producer& p) { return p.ask(protocol::GetNames{three_ids}); }),
      refused("page-rows-max", 2, ErrorCode::too_many_rows,
              [](Producer& p) { return p.ask(protocol::GetObjects{.object_ids = three_ids}); }),
      refused("k-max", 4, ErrorCode::k_out_of_range, [](Producer& p) { return p.put_query(1, 5); }),
      refused("text-bytes-max", 5, ErrorCode::bad_text,
              [](Producer& p) { return p.put_name("tram 7"); }),
      refused("stream-name-bytes-max", 255, ErrorCode::bad_text,
              [](Producer& p) { return p.put_stream(long_name); }),
      refused(
          "chunk-bytes-max", protocol::chunk_bytes_max, ErrorCode::too_many_rows,
          [](Producer& p) { return p.ask_neighbors(1024, 1024); },
          [](Producer& p) {
            p.update(1024);
            p.ask(protocol::AdvanceTick{1});
          }),
      refused(
          "unanswered-max", 1, ErrorCode::sequence_forgotten,
          [](Producer& p) { return p.resend(1, protocol::PutStream{.name = "s"}); }, fill_queries),
      refused("session-streams-max", 1, ErrorCode::too_many_streams, second_stream, fill_stream),
      refused("streams-max", 1, ErrorCode::too_many_streams, second_stream, fill_stream),
      refused(
          "sessions-max", 1, ErrorCode::too_many_sessions,
          [](Producer& p) { return p.hello_again(); }, fill_stream),
      refused(
          "connection-sessions-max", 1, ErrorCode::too_many_sessions,
          [](Producer& p) { return p.hello_here(); }, fill_stream),
      refused("connection-snapshots-max", 0, ErrorCode::busy, first_snapshot, fill_stream),
      refused("connection-snapshot-bytes-max", 1, ErrorCode::too_many_rows, first_snapshot,
              fill_stream),
      refused("snapshot-bytes-max", 1, ErrorCode::too_many_rows, first_snapshot, fill_stream),
      refused("unknown-sessions-burst", 2, ErrorCode::busy,
              [](Producer& p) {
                p.guess();
                p.guess();
                return p.guess();
              }),
      refused("searches-max", 0, ErrorCode::busy,
              [](Producer& p) { return p.ask_neighbors(5, 1); }),  // four are answered at once
      refused("snapshots-max", 0, ErrorCode::busy, first_snapshot, fill_stream),
      refused("session-snapshots-max", 0, ErrorCode::busy, first_snapshot, fill_stream),
      rejected("session-queries-max", 2, RowReason::too_many_queries_of_session, fill_queries,
               third_query),
      rejected("queries-max", 2, RowReason::too_many_queries, fill_queries, third_query),
      rejected("neighbors-max", 10, RowReason::too_many_neighbors, fill_queries,
               [](Producer& p) { return p.put_query(3, 9); }),
      rejected("session-names-max", 1, RowReason::too_many_names_of_session, fill_name,
               second_name),
      rejected("names-max", 1, RowReason::too_many_names, fill_name, second_name),
      rejected("name-bytes-max", 1, RowReason::too_many_name_bytes, fill_name, second_name),
      rejected(
          "objects-max", 1, RowReason::too_many_objects, [](Producer& p) { p.update(1); },
          [](Producer& p) { return p.update(2); }),
  };
}

class ReachedLimit : public testing::TestWithParam<Case> {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    for (const Limit& limit : limit_table())
      if (limit.name == GetParam().limit && limit.is_settable())
        limit.field.set(options, GetParam().value);
    return options;
  }

  RunningServer server{options()};
  Producer producer{server};
};

TEST_P(ReachedLimit, IsNamedWithItsValueChangesNothingAndTheServerGoesOn) {
  const Case& expected = GetParam();
  const protocol::ReachedLimit limit{expected.limit, expected.value};
  expected.fill(producer);
  const auto state_before = producer.state();
  const auto reply = expected.reach(producer);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), expected.code);
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply->decoded.body)) {
    EXPECT_THAT(error->problem.sentence, HasSubstr(to_string(limit)));
    EXPECT_EQ(error->problem.limit, limit);
  } else {
    const auto& batch = std::get<protocol::BatchReply>(reply->decoded.body);
    EXPECT_EQ(batch.reasons, (std::vector<protocol::ReasonCount>{{expected.reason, 1, limit}}));
  }
  EXPECT_EQ(producer.state(), state_before);
  const auto tick = producer.ask(protocol::AdvanceTick{1000});
  ASSERT_TRUE(tick);
  EXPECT_TRUE(std::holds_alternative<protocol::TickDone>(tick->decoded.body));
}

INSTANTIATE_TEST_SUITE_P(OfRequests, ReachedLimit, testing::ValuesIn(cases()),
                         [](const auto& limit) {
                           std::string name = limit.param.limit;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The limits that no request reaches with certainty. A comment names the tests that reach each of
// them.
const std::set<std::string_view> tested_elsewhere{
    "frame-bytes-max",          // hostile_test.cpp: the connection is closed
    "credit-rows",              // limits_test.cpp: several unanswered batches
    "credit-bytes",             // limits_test.cpp
    "session-snapshots-burst",  // limits_test.cpp: depends on the time
    "hellos-burst",             // requests/session_requests_test.cpp: depends on the time
    "session-pages-burst",      // read_requests_test.cpp: depends on the time
    "subscriber-bytes-max",     // results_socket_test.cpp, slow_subscriber_test.cpp
    "subscriber-topics-max",    // zmtp/attacks_test.cpp
    "peer-reply-bytes-max",     // zmtp/attacks_test.cpp
    "reply-bytes-max",          // zmtp/attacks_test.cpp
    "subscriber-ticks-max",     // results_socket_test.cpp, slow_subscriber_test.cpp
    "memory-bytes-max",         // state/memory_test.cpp
    "vector-bytes-max",         // vectors_test.cpp: in a space of vectors
    "decode-requests-max",      // hostile_test.cpp: the server pauses reading
    "decode-bytes-max",         // hostile_test.cpp: the server pauses reading
    "connections-max",          // connection_limit_test.cpp
    "subscribers-max",          // connection_limit_test.cpp
    "handshakes-max",           // zmtp/listener_test.cpp, http_limits_test.cpp
    "http-connections-max",     // http_limits_test.cpp
    "http-body-bytes-max",      // hostile_http_test.cpp
    "http-bodies-bytes-max",    // http_limits_test.cpp
    "http-events-max",          // events_test.cpp
    "http-views-max",           // websocket/sockets_test.cpp
    "journal-tail-bytes-max",   // journal/snapshot_test.cpp
    "http-stream-bytes-max",    // slow_events_test.cpp
};

TEST(ReachedLimits, EveryLimitIsReachedInSomeTest) {
  std::set<std::string_view> tested = tested_elsewhere;
  const auto all = cases();
  for (const Case& each : all) tested.insert(each.limit);
  std::set<std::string_view> known;
  for (const Limit& limit : limit_table()) known.insert(limit.name);
  EXPECT_EQ(tested, known);
}

}  // namespace
}  // namespace starling::stream
