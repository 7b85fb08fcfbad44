// SPDX-License-Identifier: Apache-2.0
// Tests that the server refuses a request for which memory runs out, counts it, and keeps running.
#include <memory>

#include <gtest/gtest.h>

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

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory() {
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

}  // namespace
}  // namespace starling::stream
