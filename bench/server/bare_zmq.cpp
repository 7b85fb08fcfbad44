// SPDX-License-Identifier: Apache-2.0
// Sends from an XPUB socket as the server's results socket does, but encodes and decodes nothing:
// see bare_zmq.hpp.
#include "starling/bench/server/bare_zmq.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <zmq.hpp>

#include "starling/bench/clock.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::bench {
namespace {

constexpr int rounds = 40;
constexpr std::chrono::milliseconds pause{25};  // between two rounds
constexpr std::chrono::seconds patience{10};

std::string topic(std::size_t subscriber) {
  return "bare" + std::to_string(subscriber) + '.';
}

/// Receives on a thread of its own, and counts the complete messages.
class Receiver {
 public:
  Receiver(const std::string& endpoint, std::size_t number)
      : socket_(context_, zmq::socket_type::sub) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::subscribe, topic(number));
    socket_.connect(endpoint);
    thread_ = std::thread([this] {
      zmq::message_t frame;
      while (!stopping_)
        if (protocol::wait_until_readable(socket_, Clock::now() + std::chrono::milliseconds(50)))
          while (protocol::receive_now(socket_, frame))
            if (!frame.more()) ++received_;
    });
  }
  ~Receiver() {
    stopping_ = true;
    thread_.join();
  }

  int received() const { return received_; }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  std::atomic<int> received_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

template <class Condition>
void wait_for(const Condition& holds) {
  for (const auto start = Clock::now(); !holds(); std::this_thread::yield())
    if (Clock::now() - start > patience)
      throw std::runtime_error("a message of ZeroMQ alone did not arrive within 10 s");
}

}  // namespace

double bare_zmq_p50_ms(const std::vector<std::vector<std::size_t>>& frame_bytes) {
  zmq::context_t context(static_cast<int>(frame_bytes.size()));
  zmq::socket_t socket(context, zmq::socket_type::xpub);
  socket.set(zmq::sockopt::linger, 0);
  socket.bind("tcp://127.0.0.1:*");
  std::vector<std::unique_ptr<Receiver>> receivers;
  for (std::size_t i = 0; i < frame_bytes.size(); ++i)
    receivers.push_back(std::make_unique<Receiver>(socket.get(zmq::sockopt::last_endpoint), i));
  for (std::size_t joined = 0; joined < receivers.size();) {
    zmq::message_t subscription;
    wait_for([&] { return protocol::receive_now(socket, subscription); });
    ++joined;
  }
  std::vector<double> times_ms;
  for (int round = 1; round <= rounds; ++round) {
    std::vector<zmq::message_t> frames;
    for (std::size_t i = 0; i < frame_bytes.size(); ++i) {
      frames.emplace_back(topic(i));
      for (const std::size_t bytes : frame_bytes[i])
        std::memset(frames.emplace_back(bytes).data(), 1, bytes);
    }
    const auto start = Clock::now();
    auto frame = frames.begin();
    for (const std::vector<std::size_t>& bytes : frame_bytes)
      for (std::size_t left = bytes.size() + 1; left-- > 0; ++frame)
        socket.send(std::move(*frame), left > 0 ? zmq::send_flags::sndmore : zmq::send_flags::none);
    wait_for([&] {
      return std::ranges::all_of(receivers,
                                 [&](const auto& each) { return each->received() == round; });
    });
    times_ms.push_back(ms_between(start, Clock::now()));
    std::this_thread::sleep_for(pause);
  }
  return percentile(times_ms, 0.5);
}

}  // namespace starling::bench
