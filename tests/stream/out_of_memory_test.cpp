// SPDX-License-Identifier: Apache-2.0
// Tests that the server refuses a request for which memory runs out, counts it, and keeps running.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using test::FailingNew;

// Allocations of at least this size fail. Nothing else fails: ZeroMQ does not allocate with
// operator new, and no reply or table of these tests is so large.
constexpr std::size_t large_bytes = std::size_t{1} << 20;

// With a limit on address space, the tables grow with operator new: see knn/base/lazy_memory.hpp.
const bool is_address_space_limited = [] {
  rlimit of_addresses{};
  getrlimit(RLIMIT_AS, &of_addresses);
  of_addresses.rlim_cur = rlim_t{1} << 60;
  return setrlimit(RLIMIT_AS, &of_addresses) == 0;
}();

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory() {
    EXPECT_TRUE(is_address_space_limited);
    for (std::uint64_t id = 0; id < 100'000; ++id) {
      fixes.add(id, 10, 0, 0);
      texts.emplace_back("a");
    }
  }

  void expect_busy(const std::string& frame) {
    std::unique_ptr<RawReply> reply;
    {
      const FailingNew failing(large_bytes, FailingNew::On::other_threads);
      reply = peer.ask(frame);
    }
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error(), ErrorCode::busy);
    EXPECT_EQ(reply->decoded.head, (protocol::ReplyHead{9, 1})) << "the reply names its request";
  }

  RunningServer server;
  RawPeer peer{server.context(), server.endpoints().commands};
  std::uint64_t session = peer.hello();
  protocol::RequestHead head{.request_id = 9, .session = session, .sequence = 1};
  Fixes fixes;
  std::vector<std::string_view> texts;
};

TEST_F(OutOfMemory, ABatchThatCannotBeConvertedKeepsItsNumberAndItsCreditComesBack) {
  const std::string frame = encoded(head, fixes.batch());
  const std::uint64_t credit_rows = protocol::Limits().credit_rows;
  for (std::uint64_t rows = 0; rows <= credit_rows; rows += fixes.ids.size()) expect_busy(frame);
  const auto reply = peer.ask(frame);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->error(), ErrorCode::none);
  EXPECT_EQ(std::get<protocol::BatchReply>(reply->decoded.body).accepted, fixes.ids.size());
}

TEST_F(OutOfMemory, ARequestThatCannotBeDecodedIsAnsweredAndCounted) {
  expect_busy(encoded(head, protocol::PutNames{fixes.ids, texts}));
  EXPECT_EQ(server.stat("starling_decode_out_of_memory_total"), 1);
  EXPECT_EQ(server.stat("starling_refused_requests_total{code=\"busy\"}"), 1);
}

// The staged rows of the queries take more than large_bytes.
TEST_F(OutOfMemory, ARequestForWhichTheLoopFindsNoMemoryKeepsItsNumber) {
  ASSERT_EQ(peer.ask(encoded(head, protocol::PutStream{.name = "s"}))->error(), ErrorCode::none);
  const auto put_queries = [&](std::uint64_t first, std::uint64_t count) {
    ++head.sequence;
    std::vector<protocol::QuerySpec> specs;
    for (std::uint64_t id = first; id < first + count; ++id)
      specs.push_back(nearest_to(id, 1, 0, 0));
    return encoded(head, protocol::PutQueries{"s", specs});
  };
  constexpr std::uint64_t rows = large_bytes / sizeof(QueryRow);
  for (std::uint64_t id = 0; id < rows; id += 1024)
    ASSERT_EQ(peer.ask(put_queries(id, 1024))->error(), ErrorCode::none);
  const std::string frame = put_queries(rows, 1);
  {
    const FailingNew failing(large_bytes, FailingNew::On::other_threads);
    const auto refused = peer.ask(frame);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->error(), ErrorCode::busy);
  }
  const auto reply = peer.ask(frame);
  ASSERT_EQ(reply->error(), ErrorCode::none);
  EXPECT_EQ(std::get<protocol::BatchReply>(reply->decoded.body).accepted, 1u);
}

TEST_F(OutOfMemory, ObjectsForWhichTheTableFindsNoMemoryAreRefusedAndTheOthersTaken) {
  ASSERT_EQ(peer.ask(encoded(head, fixes.batch()))->error(), ErrorCode::none);
  constexpr std::uint64_t more = 8000;  // more than the headroom of the table
  Fixes further;
  for (std::uint64_t id = 0; id < more; ++id) further.add(1'000'000 + id, 10, 0, 0);
  head.sequence = 2;
  protocol::BatchReply batch;
  {
    const FailingNew failing(large_bytes, FailingNew::On::other_threads);
    const auto reply = peer.ask(encoded(head, further.batch()));
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->error(), ErrorCode::none);
    batch = std::get<protocol::BatchReply>(reply->decoded.body);
  }
  EXPECT_GT(batch.rejected, 0u);
  EXPECT_EQ(batch.accepted + batch.rejected, more);
  ASSERT_EQ(batch.reasons.size(), 1u);
  EXPECT_EQ(batch.reasons[0].reason, protocol::RowReason::too_many_objects);
  auto client = server.client();
  EXPECT_EQ(client.advance_tick(10).value().object_count, fixes.ids.size() + batch.accepted);
  EXPECT_EQ(client.update(further.batch()).value().accepted, more);
  EXPECT_EQ(client.advance_tick(10).value().object_count, fixes.ids.size() + more);
}

// The lists of a tick are longer as a message than in the engine.
TEST_F(OutOfMemory, ATickWhoseMessagesFindNoMemoryFailsAndTheNextOneGoesOn) {
  constexpr std::uint32_t k = 10;
  auto client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s",
                                 .on = ReportOn::distance,
                                 .with = {.distance = true, .position = true, .tags = true}}));
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t id = 0; id < 20'000; ++id)
    queries.push_back(nearest_to(id, k, static_cast<double>(id), 0));
  ASSERT_TRUE(client.put_queries({"s", queries}));
  const auto move = [&](std::int64_t time_us) {
    Fixes moved;
    for (std::uint64_t id = 0; id < 1000; ++id)
      moved.add(id, time_us, static_cast<double>(id * 20 + static_cast<std::uint64_t>(time_us)), 0);
    return client.update(moved.batch()).value().accepted;
  };
  auto subscriber = protocol::Subscriber(server.context(), server.subscriber_options("s"));
  for (std::int64_t warm_us = 10; warm_us < 14; ++warm_us) {
    ASSERT_EQ(move(warm_us), 1000u);
    ASSERT_TRUE(client.advance_tick(warm_us));
  }
  // The first size that the messages need and that the engine does not.
  std::int64_t time_us = 14;
  std::string sentence;
  for (std::size_t bytes = std::size_t{8} << 20; sentence.empty() && bytes >= large_bytes / 4;
       bytes = bytes / 4 * 3) {
    ASSERT_EQ(move(++time_us), 1000u);
    const FailingNew failing(bytes, FailingNew::On::other_threads);
    const auto failed = client.advance_tick(time_us);
    if (failed) continue;
    EXPECT_EQ(failed.problem().code, ErrorCode::tick_failed);
    sentence = failed.problem().sentence;
  }
  EXPECT_THAT(sentence, testing::HasSubstr("the tick's messages"));
  EXPECT_EQ(server.stat("starling_ticks_failed_total"), 1);
  ASSERT_TRUE(client.advance_tick(++time_us));
  const auto answers = client.get_neighbors({{queries[777]}}).value();
  ASSERT_TRUE(happens([&] {
    subscriber.poll(10);
    const auto& state = subscriber.state();
    return state.is_live() && state.held_at()->tick >= answers.tick;
  }));
  EXPECT_EQ(subscriber.state().lists().at({.query = QueryId{777}}).neighbors,
            answers.lists[0].neighbors)
      << "the subscriber has made up for the tick that failed";
}

}  // namespace
}  // namespace starling::stream
