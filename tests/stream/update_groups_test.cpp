// SPDX-License-Identifier: Apache-2.0
// Tests requests that come faster than they are applied. With several update threads the server
// applies many updates together, beside its loop. The replies, their order and the objects must be
// the same as if the server applied one update after another.
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t objects = 20'000;

ServerOptions with_update_threads(unsigned threads) {
  ServerOptions options = manual_options();
  options.update_threads = threads;
  options.decode_threads = 2;
  options.processor.objects.objects_max = objects - 2'000;  // some are refused
  return options;
}

std::string text_of(const protocol::BatchReply& reply) {
  std::string text = "accepted " + std::to_string(reply.accepted) + ", late " +
                     std::to_string(reply.late) + ", rejected";
  for (const protocol::RejectedRow& row : reply.first_rejected)
    text += " " + std::to_string(row.index) + ":" + std::to_string(static_cast<int>(row.reason));
  return text;
}

std::string text_of(const RawReply& reply) {
  const std::string text = std::to_string(reply.decoded.head.request_id) + ": ";
  if (const auto* batch = std::get_if<protocol::BatchReply>(&reply.decoded.body))
    return text + text_of(*batch);
  if (const auto* done = std::get_if<protocol::TickDone>(&reply.decoded.body))
    return text + std::to_string(done->object_count) + " objects, " +
           std::to_string(done->list_count) + " lists";
  return text + "error " + std::to_string(static_cast<int>(reply.error()));
}

/// Sends requests without waiting for replies.
class Burst {
 public:
  Burst(std::uint64_t seed, unsigned update_threads)
      : random_(seed), server_(with_update_threads(update_threads)) {}

  /// Returns the replies in the order in which they came.
  std::vector<std::string> run() {
    send(protocol::PutStream{.name = "all", .on = ReportOn::order, .with = {}});
    std::vector<protocol::QuerySpec> queries;
    for (std::uint64_t id = 0; id < 100; ++id)
      queries.push_back(nearest_to(id, 5, place(), place()));
    send(protocol::PutQueries{"all", queries});
    for (int step = 0; step < 60; ++step) {
      if (random_.chance(0.7)) {
        update(500 + random_.below(6'000));
      } else if (random_.chance(0.5)) {
        update(1 + random_.below(20));
      } else {
        remove();
      }
      if (random_.chance(0.1)) send_again();
      if (random_.chance(0.1)) skip_one();
    }
    time_us_ += 1000;
    send(protocol::AdvanceTick{time_us_});
    std::vector<std::string> replies;
    for (std::size_t i = 0; i < sent_; ++i) {
      const auto reply = peer_.receive();
      if (!reply) return {"a reply has not arrived"};
      replies.push_back(text_of(*reply));
    }
    return replies;
  }

 private:
  void update(std::uint64_t rows) {
    Fixes fixes;
    ++time_us_;
    for (std::uint64_t i = 0; i < rows; ++i)
      fixes.add(random_.below(objects), time_us_ - static_cast<std::int64_t>(random_.below(10)),
                random_.chance(0.001) ? 1e300 : place(), place());
    send(fixes.batch());
  }
  void remove() {
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 500; ++i) ids.push_back(random_.below(objects));
    const std::vector<std::int64_t> times_us(ids.size(), time_us_);
    send(protocol::RemoveObjects{ids, times_us});
  }
  double place() { return static_cast<double>(random_.below(100'000)) / 100; }

  void send(const protocol::RequestBody& body) {
    last_ = encoded({.request_id = ++request_, .session = session_, .sequence = ++sequence_}, body);
    peer_.send(last_);
    ++sent_;
  }
  /// Sends the last request again. The server answers it again, and applies nothing.
  void send_again() {
    peer_.send(last_);
    ++sent_;
  }
  /// Sends a request whose sequence number is not the next one. The server refuses it.
  void skip_one() {
    const std::vector<std::uint64_t> ids{1};
    const std::vector<std::int64_t> times_us{time_us_};
    peer_.send(encoded({.request_id = ++request_, .session = session_, .sequence = sequence_ + 2},
                       protocol::RemoveObjects{ids, times_us}));
    ++sent_;
  }

  test::Random random_;
  RunningServer server_;
  RawPeer peer_{server_.context(), server_.endpoints().commands};
  std::uint64_t session_ = peer_.hello();
  std::uint64_t request_ = 0;
  std::uint64_t sequence_ = 0;
  std::int64_t time_us_ = 1000;
  std::size_t sent_ = 0;
  std::string last_;
};

TEST(UpdateGroups, AreAnsweredLikeOneUpdateAfterTheOther) {
  for (const std::uint64_t seed : test::seeds(4)) {
    SCOPED_TRACE(test::replay_hint(seed));
    const std::vector<std::string> expected = Burst(seed, 1).run();
    EXPECT_EQ(Burst(seed, 2).run(), expected);
    EXPECT_EQ(Burst(seed, 4).run(), expected);
  }
}

TEST(UpdateGroups, AServerStopsWhileUpdatesAreUnderWay) {
  RunningServer server(with_update_threads(4));
  protocol::Client client = server.client();
  Fixes fixes;
  for (std::uint64_t id = 0; id < 6'000; ++id) fixes.add(id, 1, 1, 1);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(client.post(fixes.batch()));
  server.stop();
}

/// A group that is applied in slices begins when a short request looks at the tables. That request
/// must wait until the group ends.
TEST(UpdateGroups, AShortChangeBehindALongUpdateIsAppliedAfterIt) {
  constexpr std::uint64_t rounds = 8;
  constexpr std::uint64_t beside = 50'000;  // rows that are applied beside the loop
  constexpr std::uint64_t sliced = 150'000;
  ServerOptions options = with_update_threads(2);
  options.processor.objects.objects_max = rounds * (beside + sliced);
  RunningServer server(options);
  RawPeer peer(server.context(), server.endpoints().commands);
  const std::uint64_t session = peer.hello();
  std::uint64_t sequence = 0;
  std::uint64_t next_id = 0;
  const auto update = [&](std::uint64_t rows) {
    Fixes fixes;
    for (std::uint64_t row = 0; row < rows; ++row) fixes.add(next_id++, 1000, 1, 1);
    ++sequence;
    return encoded({.request_id = sequence, .session = session, .sequence = sequence},
                   fixes.batch());
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::string first = update(beside);
    const std::vector<std::uint64_t> ids{next_id, next_id + sliced - 1};
    const std::string second = update(sliced);
    const std::vector<std::int64_t> times_us(ids.size(), 2000);
    ++sequence;
    const std::string removal =
        encoded({.request_id = sequence, .session = session, .sequence = sequence},
                protocol::RemoveObjects{ids, times_us});
    peer.send(first);
    peer.send(second);
    peer.send(removal);
    for (std::uint64_t answered = sequence - 2; answered <= sequence; ++answered) {
      const auto reply = peer.receive();
      ASSERT_NE(reply, nullptr);
      EXPECT_EQ(reply->decoded.head.request_id, answered) << "in round " << round;
      const auto* batch = std::get_if<protocol::BatchReply>(&reply->decoded.body);
      ASSERT_NE(batch, nullptr);
      EXPECT_EQ(batch->rejected + batch->late, 0u);
    }
  }
}

}  // namespace
}  // namespace starling::stream
