// SPDX-License-Identifier: Apache-2.0
// A server that says hello to each client that its keys admit, and answers every request with Done.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <variant>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "tests/stream/zmtp/echo_server.hpp"

namespace starling::stream {

class GreetingServer {
 public:
  /// Without an Authentication, the server has no keys.
  explicit GreetingServer(const zmtp::Authentication* authentication) {
    socket_ = std::make_unique<CommandSocket>(
        loop_, threads_,
        CommandSocketOptions{.endpoint = "tcp://127.0.0.1:*",
                             .message_bytes_max = std::size_t{1} << 20,
                             .linger_ms = 500,
                             .authentication = authentication},
        CommandSocket::Handlers{.request = [this](const Peer& peer, const ReceivedBytes& received,
                                                  const ReceivedRoom&) { answer(peer, received); },
                                .malformed = [](const Peer&, const ReceivedRoom&) {}});
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~GreetingServer() {
    work_.reset();
    loop_.stop();
    thread_.join();
    socket_.reset();
  }

  const std::string& endpoint() const { return socket_->endpoint(); }
  void cut_all() {
    socket_->cut([](zmtp::PrincipalId) { return true; });
  }

 private:
  void answer(const Peer& peer, const ReceivedBytes& received) {
    const protocol::AlignedBytes frame(received.bytes);
    const auto request = protocol::decode_request(frame, protocol::Limits{});
    const protocol::ReplyHead head{request.head.request_id, request.head.sequence};
    if (std::holds_alternative<protocol::Hello>(request.body))
      socket_->send(peer, protocol::encode_hello_reply({}, {.session = 7, .epoch = 1}));
    else if (const auto* removal = std::get_if<protocol::RemoveObjects>(&request.body))
      socket_->send(peer, protocol::encode_batch_reply(head, {.accepted = removal->ids.size()}));
    else
      socket_->send(peer, protocol::encode_done(head));
  }

  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  zmtp::IoThreads threads_{2};
  std::unique_ptr<CommandSocket> socket_;
  std::thread thread_;
};

}  // namespace starling::stream
