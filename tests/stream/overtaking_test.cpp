// SPDX-License-Identifier: Apache-2.0
// Tests the order of requests. Worker threads decode long batches, and the loop decodes short
// requests. A short request that changes nothing may overtake long batches. A shorter batch of the
// same connection may not.
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

}  // namespace
}  // namespace starling::stream
