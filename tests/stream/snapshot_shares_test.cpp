// SPDX-License-Identifier: Apache-2.0
// Tests that one connection cannot take all sessions, or all memory for snapshots. Other
// connections are answered, and keep what they have.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::HasSubstr;

constexpr std::uint64_t lists = 1200;
constexpr std::uint64_t k = 1000;

/// A peer with a session of its own, which asks for pages of snapshots.
class Reader {
 public:
  explicit Reader(const RunningServer& server)
      : peer_(server.context(), server.endpoints().commands) {}

  std::uint64_t open() { return session_ = peer_.hello(); }
  std::unique_ptr<RawReply> ask(std::uint64_t page = 0) {
    return peer_.ask(encoded({.request_id = 1, .session = session_},
                             protocol::GetSnapshot{.stream = "s", .page = page}));
  }
  /// Begins a snapshot, and returns the name of its second page.
  std::uint64_t begin() {
    const auto reply = ask();
    EXPECT_EQ(reply->error(), ErrorCode::none);
    const auto* page = std::get_if<protocol::SnapshotPage>(&reply->decoded.body);
    return page == nullptr ? 0 : page->head.next_page;
  }

 private:
  RawPeer peer_;
  std::uint64_t session_ = open();
};

class SnapshotShares : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    const std::uint64_t bytes = snapshot_bytes(lists, lists * k, false);
    options.snapshots.owner_bytes_max = bytes;
    options.snapshots.bytes_max = 2 * bytes;
    return options;
  }

  /// Makes a stream whose lists need two pages, so that a snapshot is held after the first one.
  SnapshotShares() {
    Fixes fixes;
    for (std::uint64_t id = 1; id <= k; ++id) fixes.add(id, 1, static_cast<double>(id), 0);
    EXPECT_TRUE(client.update(fixes.batch()));
    EXPECT_TRUE(client.put_stream({.name = "s", .with = {.distance = true}}));
    std::vector<protocol::QuerySpec> queries;
    for (std::uint64_t id = 1; id <= lists; ++id) queries.push_back(nearest_to(id, k, 0, 0));
    EXPECT_TRUE(client.put_queries({"s", queries}));
    EXPECT_TRUE(client.advance_tick(1));
  }

  RunningServer server{options()};
  protocol::Client client = server.client();
};

TEST_F(SnapshotShares, AConnectionLosesItsOwnOldestAndOthersLoseNone) {
  Reader other(server);
  const std::uint64_t kept = other.begin();
  ASSERT_NE(kept, 0u) << "the lists need two pages";
  Reader taker(server);
  const std::uint64_t first = taker.begin();
  taker.open();  // a further session of the same connection
  EXPECT_NE(taker.begin(), first);
  Reader late(server);
  const auto refused = late.ask();
  ASSERT_EQ(refused->error(), ErrorCode::busy);
  const auto& problem = std::get<protocol::ErrorReply>(refused->decoded.body).problem;
  EXPECT_EQ(problem.limit.name, "snapshot-bytes-max");
  EXPECT_THAT(problem.sentence, HasSubstr("ask again in"));
  EXPECT_EQ(other.ask(kept)->error(), ErrorCode::none) << "another connection's snapshot is kept";
  EXPECT_NE(late.begin(), 0u) << "the last page has freed the bytes";
}

TEST(SessionShares, OneConnectionKeepsNobodyOut) {
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 4;
  options.sessions.connection_sessions_max = 3;
  RunningServer server(options);
  RawPeer taker(server.context(), server.endpoints().commands);
  for (int each = 0; each < 4; ++each) {
    const auto reply = taker.ask(encoded({}, protocol::Hello{.client = "raw"}));
    if (each == 3) {
      ASSERT_EQ(reply->error(), ErrorCode::too_many_sessions);
      const auto& problem = std::get<protocol::ErrorReply>(reply->decoded.body).problem;
      EXPECT_EQ(problem.limit, (protocol::ReachedLimit{"connection-sessions-max", 3}));
      EXPECT_THAT(problem.sentence, HasSubstr("open another connection"));
      break;
    }
    const std::uint64_t session = std::get<protocol::HelloReply>(reply->decoded.body).session;
    taker.ask(encoded({.request_id = 1, .session = session}, protocol::GetStats{}));  // uses the
                                                                                      // session
  }
  protocol::Client client = server.client();
  EXPECT_TRUE(client.put_stream({.name = "s"}));
}

}  // namespace
}  // namespace starling::stream
