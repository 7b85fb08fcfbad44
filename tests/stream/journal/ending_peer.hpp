// SPDX-License-Identifier: Apache-2.0
// A connection to a server that may end at any time, by a power cut or a kill.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <zmq.hpp>

#include "tests/stream/journal/told_state.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

class EndingPeer {
 public:
  EndingPeer(zmq::context_t& context, const std::string& endpoint, std::function<bool()> has_ended)
      : has_ended_(std::move(has_ended)), socket_(context, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, 2);
    socket_.connect(endpoint);
  }

  void send(const std::string& bytes) { socket_.send(zmq::buffer(bytes), zmq::send_flags::none); }

  /// Returns the next reply. Throws NoReply when the server has ended.
  std::unique_ptr<RawReply> receive() {
    auto reply = std::make_unique<RawReply>();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
      const bool is_last_try = has_ended_();
      if (socket_.recv(reply->message)) break;
      if (is_last_try) throw NoReply();
      if (std::chrono::steady_clock::now() > deadline)
        throw std::runtime_error("the server neither replies nor ends");
    }
    reply->frame = protocol::AlignedBytes(
        std::as_bytes(std::span(reply->message.data<char>(), reply->message.size())));
    reply->decoded = protocol::decode_reply(reply->frame);
    return reply;
  }

  std::unique_ptr<RawReply> ask(const std::string& bytes) {
    send(bytes);
    return receive();
  }

 private:
  std::function<bool()> has_ended_;
  zmq::socket_t socket_;
};

}  // namespace starling::stream
