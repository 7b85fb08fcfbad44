// SPDX-License-Identifier: Apache-2.0
// Tests Subscriber against a real XPUB socket and a scripted commands socket. The subscriber joins,
// loses ticks while it does not read, notices the loss and catches up. It also follows a server
// that restarts.
#include "starling/protocol/client/subscriber.hpp"

#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include "starling/knn/base/clocks.hpp"
#include "tests/protocol/client/fake_server.hpp"
#include "tests/protocol/client/fake_stream.hpp"

namespace starling::protocol {
namespace {

using test::FakeServer;
using test::FakeStream;

constexpr int polls_max = 1000;

/// Publishes a FakeStream on an XPUB socket with a high-water mark.
class Publisher {
 public:
  Publisher(zmq::context_t& context, int hwm) : socket_(context, zmq::socket_type::xpub) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::sndhwm, hwm);
    socket_.set(zmq::sockopt::rcvtimeo, 10'000);
    socket_.bind("inproc://results");  // inproc has no socket buffers besides the high-water mark
    start(1);
  }

  void start(std::uint64_t epoch) {
    const std::scoped_lock lock(mutex_);
    stream_ = std::make_unique<FakeStream>(epoch, epoch + 100);
    stream_->tick();
  }

  /// Runs a tick and sends no message.
  void lose() {
    const std::scoped_lock lock(mutex_);
    stream_->tick();
  }

  void await_subscription() {
    zmq::message_t subscription;
    ASSERT_TRUE(socket_.recv(subscription));
    EXPECT_EQ(subscription.to_string(), std::string("\x01").append(topic_of("riders")));
  }

  void publish(int ticks = 1) {
    for (int count = 0; count < ticks; ++count) {
      const std::scoped_lock lock(mutex_);
      const auto frames = stream_->tick();
      socket_.send(zmq::buffer(topic_of("riders")), zmq::send_flags::sndmore);
      for (std::size_t at = 0; at < frames.size(); ++at)
        socket_.send(zmq::buffer(frames[at]),
                     at + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }

  /// FakeServer calls this function on its own thread.
  std::optional<Frame> answer(const DecodedRequest& request) {
    const ReplyHead head{request.head.request_id, request.head.sequence};
    const std::scoped_lock lock(mutex_);
    if (std::holds_alternative<Hello>(request.body)) return test::hello_reply(7, stream_->epoch());
    if (std::holds_alternative<GetSnapshot>(request.body)) return stream_->snapshot_reply(head);
    const auto* report = std::get_if<ReportReceived>(&request.body);
    if (report == nullptr) return encode_done(head);
    if (ignores_reports_) return std::nullopt;
    lost_ = report->lost;
    return encode_done(head, {.sequence = stream_->now().sequence});
  }

  void ignore_reports() {
    const std::scoped_lock lock(mutex_);
    ignores_reports_ = true;
  }

  HeldAt now() const { return stream_->now(); }
  const ListStore& truth() const { return stream_->truth(stream_->now().tick); }
  std::uint64_t lost_as_reported() {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }

 private:
  zmq::socket_t socket_;
  std::mutex mutex_;
  std::unique_ptr<FakeStream> stream_;
  std::uint64_t lost_ = 0;
  bool ignores_reports_ = false;
};

/// A publisher and a subscriber. Each keeps at most `hwm` ticks while the subscriber does not read.
struct Pair {
  explicit Pair(int hwm)
      : publisher(context, hwm),
        server(context,
               [this](const DecodedRequest& request) { return publisher.answer(request); }),
        subscriber(context, {.results = "inproc://results",
                             .client = {.commands = server.endpoint(), .timeout_ms = 10'000},
                             .subscription = {.stream = "riders"},
                             .receive_hwm = hwm,
                             .report_interval_ms = 1,
                             .retry_interval_ms = 1}) {
    publisher.await_subscription();
  }

  bool is_up_to_date() const {
    const SubscriptionState& state = subscriber.state();
    return state.is_live() && *state.held_at() == publisher.now() &&
           state.lists() == publisher.truth();
  }

  bool catches_up(int polls = polls_max) {
    for (int count = 0; count < polls && !is_up_to_date(); ++count) subscriber.poll(1);
    return is_up_to_date();
  }

  zmq::context_t context;
  Publisher publisher;
  FakeServer server;
  Subscriber subscriber;
};

TEST(Subscriber, JoinsWithASnapshotAndFollowsTickByTick) {
  Pair pair(1000);
  EXPECT_TRUE(pair.catches_up());
  for (int tick = 0; tick < 20; ++tick) {
    pair.publisher.publish();
    EXPECT_TRUE(pair.catches_up());
  }
  EXPECT_EQ(pair.subscriber.state().counters().ticks_applied, 20u);
  EXPECT_EQ(pair.subscriber.state().counters().ticks_lost, 0u);
}

TEST(Subscriber, FollowsTicksWhileItsReportIsUnanswered) {
  Pair pair(1000);
  EXPECT_TRUE(pair.catches_up());
  pair.publisher.ignore_reports();
  const std::int64_t since_us = steady_now_us();
  for (int tick = 0; tick < 20; ++tick) {
    pair.publisher.publish();
    EXPECT_TRUE(pair.catches_up());
    EXPECT_FALSE(pair.subscriber.poll(5));
  }
  EXPECT_LT(ms_since(since_us), 5'000) << "poll() waited for a reply";
}

TEST(Subscriber, AStoppedReaderLosesTicksNoticesAndIsRightAgain) {
  Pair pair(2);
  EXPECT_TRUE(pair.catches_up());
  for (int round = 0; round < 5; ++round) {
    pair.publisher.publish(50);  // The subscriber does not read.
    // The newest tick may be lost too. The subscriber notices that when another tick arrives, or by
    // the replies to its reports.
    for (int tick = 0; tick < polls_max && !pair.catches_up(20); ++tick) pair.publisher.publish();
    EXPECT_TRUE(pair.is_up_to_date());
  }
  const std::uint64_t lost = pair.subscriber.state().counters().ticks_lost;
  EXPECT_GT(lost, 5u * 30u);
  for (int count = 0; count < polls_max && pair.publisher.lost_as_reported() < lost; ++count)
    pair.subscriber.poll(1);
  EXPECT_EQ(pair.publisher.lost_as_reported(), lost);
}

TEST(Subscriber, OutlivesItsServerAndSaysSo) {
  Pair pair(1000);
  EXPECT_TRUE(pair.catches_up());
  pair.publisher.start(2);
  pair.publisher.publish();
  EXPECT_TRUE(pair.catches_up());
  EXPECT_EQ(pair.subscriber.state().counters().restarts, 1u);
}

TEST(Subscriber, WithoutAnyMessageItFollowsBySnapshotsAndNamesTheEndpoint) {
  Pair pair(1000);
  EXPECT_TRUE(pair.catches_up());
  EXPECT_EQ(pair.subscriber.obstacle(), "");
  for (int round = 0; round < 3; ++round) {
    pair.publisher.lose();
    EXPECT_TRUE(pair.catches_up());
    EXPECT_THAT(pair.subscriber.obstacle(),
                ::testing::HasSubstr("none comes from inproc://results"));
  }
  pair.publisher.publish();
  EXPECT_TRUE(pair.catches_up());
  for (int polls = 0; polls < polls_max && !pair.subscriber.obstacle().empty(); ++polls)
    pair.subscriber.poll(1);
  EXPECT_EQ(pair.subscriber.obstacle(), "");
}

TEST(SubscriberEndpoint, ATextThatIsNoEndpointIsNamed) {
  zmq::context_t context;
  const FakeServer server(context, [](const DecodedRequest&) { return test::hello_reply(7, 1); });
  EXPECT_THROW(
      Subscriber(context, {.results = "nonsense", .client = {.commands = server.endpoint()}}, {}),
      EndpointError);
}

TEST(SubscriberEndpoint, ItIsThePortThatTheServerSaysOnTheHostByWhichItWasReached) {
  const auto reached = [](const char* results, const char* commands) {
    return results_of({.results = results}, commands);
  };
  EXPECT_EQ(reached("tcp://0.0.0.0:9002", "tcp://10.0.0.5:9001"), "tcp://10.0.0.5:9002");
  EXPECT_EQ(reached("tcp://127.0.0.1:9002", "tcp://ships.example:9001"),
            "tcp://ships.example:9002");
  EXPECT_EQ(reached("tcp://[::]:9002", "tcp://[fe80::1%eth0]:9001"), "tcp://[fe80::1%eth0]:9002");
  EXPECT_EQ(reached("ipc:///run/results", "ipc:///run/commands"), "ipc:///run/results");
  EXPECT_EQ(reached("", "tcp://10.0.0.5:9001"), "tcp://10.0.0.5:7412") << "an older server";
  EXPECT_THROW(reached("ipc:///run/results", "tcp://10.0.0.5:9001"), EndpointError);
  EXPECT_THROW(reached("tcp://0.0.0.0:9002", "ipc:///run/commands"), EndpointError);
}

}  // namespace
}  // namespace starling::protocol
