// SPDX-License-Identifier: Apache-2.0
// Tests the high-water mark of the results socket. The mark must keep waiting messages within the
// limit on bytes. However the mark changes, a subscriber that reads must get further messages. The
// tests use a model of ZeroMQ's pipe, and real sockets.
#include "starling/stream/sockets/results_socket.hpp"

#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>

#include <boost/asio/io_context.hpp>
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using NextTick = HighWaterMark::NextTick;

constexpr std::size_t budget_bytes = 1 << 20;
constexpr int seeds_default = 200;

void follow(HighWaterMark& mark, int ticks, const NextTick& next) {
  for (int tick = 0; tick < ticks; ++tick) mark.follow(next);
}

TEST(HighWaterMark, TheFirstTickDecidesByItself) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes / 16});
  EXPECT_EQ(mark.messages(), 16);
}

TEST(HighWaterMark, LongerMessagesHalveItAndItWaitsBetweenTwoHalves) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes / 16});
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes});
  EXPECT_EQ(mark.messages(), 8);
  follow(mark, 7, {.messages = 1, .message_bytes = budget_bytes});
  EXPECT_EQ(mark.messages(), 8);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes});
  EXPECT_EQ(mark.messages(), 4);
}

TEST(HighWaterMark, AtLeastTwoMessagesMayWaitHoweverLong) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 200, {.messages = 1, .message_bytes = 16 * budget_bytes});
  EXPECT_EQ(mark.messages(), 2);
}

TEST(HighWaterMark, HoweverShortSixtyFourTicksOfEveryStreamMayWait) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 3, .message_bytes = 1});
  EXPECT_EQ(mark.messages(), 256);
}

TEST(HighWaterMark, ALongMessageFadesAndWhatIsRaisedWaitsUntilNothingIsOnItsWay) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes / 2});
  follow(mark, 2000, {.messages = 1, .message_bytes = 100, .waiting_bytes = 1});
  EXPECT_EQ(mark.messages(), 2);
  follow(mark, 1, {.messages = 1, .message_bytes = 100});
  EXPECT_EQ(mark.messages(), 64);
}

TEST(HighWaterMark, ItIsLoweredUnderWayOnlyWhenMoreThanTheBudgetWaits) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 1, .message_bytes = 100});
  follow(mark, 9, {.messages = 1, .message_bytes = budget_bytes, .waiting_bytes = budget_bytes});
  EXPECT_EQ(mark.messages(), 64);
  follow(mark, 1,
         {.messages = 1, .message_bytes = budget_bytes, .waiting_bytes = budget_bytes + 1});
  EXPECT_EQ(mark.messages(), 32);
}

TEST(HighWaterMark, ItIsDecidedOnlyWhenItCanBeSet) {
  HighWaterMark mark(budget_bytes);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes / 16});
  follow(mark, 200, {.messages = 1, .message_bytes = budget_bytes, .may_move = false});
  EXPECT_EQ(mark.messages(), 16);
  follow(mark, 1, {.messages = 1, .message_bytes = budget_bytes});
  EXPECT_EQ(mark.messages(), 8) << "one step only, although several were due";
}

/// Models libzmq's pipe_t as far as it depends on the high-water mark.
class Pipe {
 public:
  void set_mark(int messages) {
    mark_ = static_cast<std::uint64_t>(messages);
    say_at_ = (mark_ + 1) / 2;
  }
  bool write(std::size_t bytes) {
    if (is_stopped_) return false;
    is_stopped_ = written_ - said_ >= mark_;
    if (is_stopped_) return false;
    waiting_.push_back(bytes);
    ++written_;
    return true;
  }
  void read_one() {
    waiting_.pop_front();
    ++read_;
    if (read_ % say_at_ != 0) return;
    said_ = read_;
    is_stopped_ = false;
  }
  std::size_t waiting_messages() const { return waiting_.size(); }
  std::size_t waiting_bytes() const {
    return std::accumulate(waiting_.begin(), waiting_.end(), std::size_t{0});
  }

 private:
  std::deque<std::size_t> waiting_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t said_ = 0;
  std::uint64_t mark_ = 0;
  std::uint64_t say_at_ = 1;
  bool is_stopped_ = false;
};

/// Changes the size of messages at random. The subscriber sometimes reads fast, sometimes slowly,
/// and sometimes not at all.
void wander(std::uint64_t seed) {
  SCOPED_TRACE(test::replay_hint(seed));
  test::Random random(seed);
  HighWaterMark mark(budget_bytes);
  Pipe pipe;
  double message_bytes = 1000;
  double reads_a_tick = 1;
  for (int tick = 0; tick < 3000; ++tick) {
    if (random.chance(0.01)) message_bytes = std::exp2(10 + 14 * random.unit());
    if (random.chance(0.02)) reads_a_tick = random.chance(0.3) ? 0 : 3 * random.unit();
    message_bytes *= 0.97 + 0.061 * random.unit();
    const auto bytes = static_cast<std::size_t>(message_bytes) + 1;
    mark.follow({.messages = 1, .message_bytes = bytes, .waiting_bytes = pipe.waiting_bytes()});
    pipe.set_mark(mark.messages());
    static_cast<void>(pipe.write(bytes));
    ASSERT_LE(pipe.waiting_messages(), std::size_t{HighWaterMark::ticks_max});
    for (double reads = reads_a_tick; reads > random.unit() && pipe.waiting_messages() > 0; --reads)
      pipe.read_one();
    if (!random.chance(0.05)) continue;
    while (pipe.waiting_messages() > 0) pipe.read_one();
    Pipe next = pipe;
    ASSERT_TRUE(next.write(1)) << "tick " << tick << ": the pipe is empty and stopped for ever";
  }
}

TEST(HighWaterMark, HoweverItMovesAPipeThatIsReadGoesOn) {
  for (const std::uint64_t seed : test::seeds(seeds_default)) {
    wander(seed);
    if (HasFatalFailure()) return;
  }
}

/// A results socket and one subscriber, connected by TCP. One thread runs both.
struct Wire {
  Wire() {
    subscriber.set(zmq::sockopt::linger, 0);
    subscriber.set(zmq::sockopt::rcvtimeo, 10'000);
    subscriber.set(zmq::sockopt::rcvhwm, 2);
    subscriber.set(zmq::sockopt::subscribe, protocol::topic_of("riders"));
    subscriber.connect(results.endpoint());
    while (results.subscriber_count() == 0) loop.run_one();
  }

  void send(std::size_t bytes) {
    protocol::TickMessage message{.topic = protocol::topic_of("riders")};
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(builder.CreateString(std::to_string(++sent)));
    message.header = protocol::Frame(builder.Release());
    builder.Finish(builder.CreateString(std::string(bytes, 'x')));
    message.chunks.emplace_back(builder.Release());
    std::vector<protocol::TickMessage> messages;
    messages.push_back(std::move(message));
    results.send(std::move(messages));
    loop.poll();
  }

  bool is_readable() {
    zmq::pollitem_t item{subscriber.handle(), 0, ZMQ_POLLIN, 0};
    return zmq::poll(&item, 1, std::chrono::milliseconds(20)) > 0;
  }

  /// Returns the number of the next message, or 0 if none arrives.
  int receive() {
    std::string number;
    zmq::message_t part;
    bool more = true;
    for (int at = 0; more; ++at) {
      if (!subscriber.recv(part)) return 0;
      if (at == 1) number = flatbuffers::GetRoot<flatbuffers::String>(part.data())->str();
      more = part.more();
    }
    return std::stoi(number);
  }

  boost::asio::io_context loop;
  zmq::context_t context;
  ResultsSocket results{
      loop, context, {.endpoint = "tcp://127.0.0.1:*", .subscriber_bytes_max = budget_bytes}};
  zmq::socket_t subscriber{context, zmq::socket_type::sub};
  int sent = 0;
};

TEST(ResultsSocket, WhoReadsEveryTickGetsEveryTickHoweverTheirLengthsChange) {
  Wire wire;
  for (int tick = 1; tick <= 600; ++tick) {
    // Three times, the size grows from 1 kB to 1 MB and shrinks again.
    wire.send(std::size_t(1000) << (tick % 200 < 100 ? tick % 200 : 200 - tick % 200) / 10);
    ASSERT_EQ(wire.receive(), tick);
  }
}

TEST(ResultsSocket, WhoStoppedReadingGetsNewTicksOnceItReadsOn) {
  Wire wire;
  for (const std::size_t bytes : {1000u, 200'000u, 2'000'000u, 1000u}) {
    for (int tick = 0; tick < 300; ++tick) wire.send(bytes);
    int newest = 0;
    for (int tick = 0; tick < 500 && newest < wire.sent; ++tick) {
      wire.send(bytes);
      while (newest < wire.sent && wire.is_readable()) newest = wire.receive();
    }
    ASSERT_EQ(newest, wire.sent) << "messages of " << bytes << " bytes";
  }
}

}  // namespace
}  // namespace starling::stream
