// SPDX-License-Identifier: Apache-2.0
// FakeServer is a ROUTER socket on a loopback port. It sends the replies that a test scripts. With
// it, tests see what Client does when a server is slow, has forgotten the session, or is gone.
// FakeServer runs on a thread of its own until it is destroyed.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <zmq.hpp>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::protocol::test {

class FakeServer {
 public:
  /// FakeServer calls this function on its own thread for each request. The function returns the
  /// reply, or std::nullopt to send no reply. FakeServer itself answers EndSession, which a client
  /// sends when it is destroyed.
  using Answer = std::function<std::optional<Frame>(const DecodedRequest&)>;

  /// Requests that exceed `limits` are passed on as problems.
  FakeServer(zmq::context_t& context, Answer answer,
             const std::string& endpoint = "tcp://127.0.0.1:*", const Limits& limits = {});
  ~FakeServer();

  std::string endpoint() const { return endpoint_; }
  /// Returns the heads of all requests so far, except those of Hello and EndSession requests.
  std::vector<RequestHead> received() const;
  /// Returns the sessions that clients have ended.
  std::vector<std::uint64_t> ended() const;

 private:
  void run(const std::stop_token& stop);

  zmq::socket_t socket_;
  std::string endpoint_;
  Answer answer_;
  Limits limits_;
  mutable std::mutex mutex_;
  std::vector<RequestHead> received_;
  std::vector<std::uint64_t> ended_;
  std::jthread thread_;
};

Frame hello_reply(std::uint64_t session, std::uint64_t epoch, const Limits& limits = {});

}  // namespace starling::protocol::test
