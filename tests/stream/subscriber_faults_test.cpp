// SPDX-License-Identifier: Apache-2.0
// Tests subscribers that vanish by the hundred, subscribe to topics that do not exist, or report
// false losses. Meanwhile a correct subscriber must hold the oracle's lists.
// slow_subscriber_test.cpp tests subscribers that stop reading.
#include <gtest/gtest.h>

#include "starling/protocol/wire/tick_message.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t no_number = ~std::uint64_t{0};

class SubscriberFaults : public testing::Test {
 protected:
  RunningServer server;
  Witness witness{server};
  test::Random random{1};
};

TEST_F(SubscriberFaults, VanishingByTheHundredLeavesNoSubscriptionBehind) {
  witness.move_and_expect_exact(random);
  {
    zmq::context_t context;
    std::vector<zmq::socket_t> crowd;
    for (int count = 0; count < 300; ++count) {
      zmq::socket_t& socket = crowd.emplace_back(context, zmq::socket_type::sub);
      socket.set(zmq::sockopt::linger, 0);
      socket.set(zmq::sockopt::subscribe, protocol::topic_of("witness"));
      socket.connect(server.endpoints().results);
    }
    // Runs a tick while the crowd is subscribed. Some subscriptions may not have reached the server
    // yet.
    witness.move_and_expect_exact(random);
  }
  for (int round = 0; round < 10; ++round) witness.move_and_expect_exact(random);
  EXPECT_EQ(server.stat("starling_subscriptions"), 1);
}

TEST_F(SubscriberFaults, SubscriptionsToNothingOrToEverythingHarmNobody) {
  zmq::context_t context;
  zmq::socket_t odd(context, zmq::socket_type::xsub);
  odd.set(zmq::sockopt::linger, 0);
  odd.connect(server.endpoints().results);
  for (const std::string& message :
       {std::string("\1", 1), std::string(), std::string("\0witness\0", 9), std::string("\7noise"),
        "\1" + std::string(100'000, 'x'), std::string("\1\xff\xfe\0", 4)})
    odd.send(zmq::buffer(message), zmq::send_flags::none);
  for (int round = 0; round < 10; ++round) witness.move_and_expect_exact(random);
}

TEST_F(SubscriberFaults, ALieAboutWhatWasReceivedIsCountedAsNoMoreThanWasPublished) {
  for (int tick = 0; tick < 5; ++tick) witness.move_and_expect_exact(random);
  const std::uint64_t epoch = witness.client().epoch();
  const double published = static_cast<double>(witness.subscriber().state().held_at()->sequence);
  auto liar = server.client();
  for (int time = 0; time < 3; ++time)
    for (const std::uint64_t lost : {no_number, std::uint64_t{0}, std::uint64_t{1}})
      EXPECT_TRUE(liar.report_received(
          {.stream = "witness", .epoch = epoch, .sequence = no_number, .lost = lost}));
  EXPECT_TRUE(liar.report_received(
      {.stream = "witness", .epoch = epoch + 1, .sequence = 0, .lost = no_number}));
  EXPECT_FALSE(
      liar.report_received({.stream = "nothing", .epoch = epoch, .sequence = 1, .lost = 1}));
  EXPECT_EQ(server.stat("starling_subscriber_lost_ticks_total"), published);
  witness.move_and_expect_exact(random);
}

}  // namespace
}  // namespace starling::stream
