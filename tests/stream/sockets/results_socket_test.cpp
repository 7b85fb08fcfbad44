// SPDX-License-Identifier: Apache-2.0
// Tests ResultsSocket with subscribers of libzmq. A subscriber that reads every tick gets every
// tick. One that reads too slowly loses whole messages, which are counted to the byte, and does not
// affect others.
#include "starling/stream/sockets/results_socket.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

namespace starling::stream {
namespace {

constexpr std::size_t budget_bytes = std::size_t{64} << 20;

/// A results socket and one subscriber, connected by TCP.
struct Wire {
  Wire() {
    subscriber.set(zmq::sockopt::linger, 0);
    subscriber.set(zmq::sockopt::rcvtimeo, 10'000);
    subscriber.set(zmq::sockopt::rcvhwm, 2);
    subscriber.set(zmq::sockopt::subscribe, protocol::topic_of("riders"));
    subscriber.connect(results.endpoint());
    while (results.subscriber_count() == 0) std::this_thread::yield();
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

  zmq::context_t context;
  zmtp::IoThreads threads{1};
  ResultsSocket results{threads,
                        {.endpoint = "tcp://127.0.0.1:*", .subscriber_bytes_max = budget_bytes}};
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
