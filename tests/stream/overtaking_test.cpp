// SPDX-License-Identifier: Apache-2.0
// Tests the order of requests. Worker threads decode long batches, and the loop decodes short
// requests. A short request that changes nothing may overtake long batches. A shorter batch of the
// same owner may not, one of another owner may.
#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

/// Returns options with one worker thread. In their space, decoding a position takes several times
/// longer than sending it.
ServerOptions slow_to_decode() {
  ServerOptions options = manual_options();
  options.processor.space.space = Space::wgs84;
  options.decode_threads = 1;
  return options;
}

Fixes fixes(std::uint64_t count) {
  Fixes fixes;
  for (std::uint64_t id = 1; id <= count; ++id) fixes.add(id, 10, 1, 1);
  return fixes;
}

class Overtaking : public testing::Test {
 protected:
  void send(const protocol::RequestBody& body) {
    const bool is_sequenced = protocol::is_sequenced(body);
    peer.send(encoded(
        {.request_id = ++request_id, .session = session, .sequence = is_sequenced ? ++sequence : 0},
        body));
  }

  RunningServer server{slow_to_decode()};
  RawPeer peer{server.context(), server.endpoints().commands};
  std::uint64_t session = peer.hello();
  std::uint64_t request_id = 0;
  std::uint64_t sequence = 0;
};

// If the worker is faster than the sockets, there is nothing to overtake. So the test tries several
// times. If the server kept the requests in order, every try would get the short request's reply
// last.
TEST_F(Overtaking, ARequestThatChangesNothingDoesNotWaitForLongBatchesBeforeIt) {
  constexpr int tries_max = 50;
  const protocol::Limits limits;
  const Fixes long_batch = fixes(limits.rows_max);
  bool has_overtaken = false;
  for (int attempt = 0; attempt < tries_max && !has_overtaken; ++attempt) {
    const std::uint64_t first = request_id;
    for (std::uint64_t rows = 0; rows < limits.credit_rows; rows += limits.rows_max)
      send(long_batch.batch());
    send(protocol::GetNames{});
    const std::uint64_t question = request_id;
    std::uint64_t last_answered = 0;
    for (std::uint64_t reply = first; reply < question; ++reply) {
      const auto received = peer.receive();
      ASSERT_NE(received, nullptr);
      EXPECT_EQ(received->error(), protocol::ErrorCode::none);
      last_answered = received->decoded.head.request_id;
    }
    has_overtaken = last_answered != question;
  }
  EXPECT_TRUE(has_overtaken);
}

TEST_F(Overtaking, AShortBatchKeepsItsPlaceBehindLongOnes) {
  constexpr std::uint64_t long_batches = 20;
  const Fixes long_batch = fixes(30'000);
  const Fixes medium_batch = fixes(2000);
  const Fixes short_batch = fixes(1);
  for (std::uint64_t batch = 0; batch < long_batches; ++batch) {
    send(long_batch.batch());
    send(medium_batch.batch());
    send(short_batch.batch());
    for (std::uint64_t reply = 0; batch % 4 == 3 && reply < 12; ++reply) {
      const auto received = peer.receive();
      ASSERT_NE(received, nullptr);
      EXPECT_EQ(received->error(), protocol::ErrorCode::none);
      EXPECT_EQ(received->decoded.head.request_id, 3 * (batch - 3) + reply + 1);
    }
  }
}

// As above, the test tries several times. If the server kept the requests of all owners in order,
// the other owner would be answered last each time.
TEST_F(Overtaking, ABatchOfAThousandRowsDoesNotWaitForTheLongOnesOfAnotherOwner) {
  const std::string endpoint = server.endpoints().commands;
  RawPeer other(server.context(),
                "tcp://127.0.0.2:0;127.0.0.1" + endpoint.substr(endpoint.rfind(':')));
  const std::uint64_t other_session = other.hello();
  const Fixes long_batch = fixes(30'000);
  const Fixes medium_batch = fixes(1000);
  constexpr int tries_max = 50;
  constexpr int long_batches = 30;
  bool has_overtaken = false;
  for (std::uint64_t attempt = 1; attempt <= tries_max && !has_overtaken; ++attempt) {
    for (int batch = 0; batch < long_batches; ++batch) send(long_batch.batch());
    ASSERT_NE(peer.receive(), nullptr);
    const auto answered =
        other.ask(encoded({.request_id = attempt, .session = other_session, .sequence = attempt},
                          medium_batch.batch()));
    ASSERT_NE(answered, nullptr);
    EXPECT_EQ(answered->error(), protocol::ErrorCode::none);
    has_overtaken = server.stat("starling_decoding_requests") > 0;
    for (int batch = 1; batch < long_batches; ++batch) ASSERT_NE(peer.receive(), nullptr);
  }
  EXPECT_TRUE(has_overtaken);
}

}  // namespace
}  // namespace starling::stream
