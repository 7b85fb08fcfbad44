// SPDX-License-Identifier: Apache-2.0
// HostileServer speaks ZMTP 3.0 by hand, with the mechanism NULL, so that it can send what no
// ZeroMQ library sends: frames that never end, lengths beyond all memory, replies to other
// requests. A Misbehaviour scripts what it sends. The clients in C++, C and Python and the commands
// are tested against it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::protocol::test {

/// A connection of a client. Each function returns false once the client has gone or the server
/// stops.
class Peer {
 public:
  Peer(int descriptor, const std::atomic<bool>& stops, std::string results)
      : descriptor_(descriptor), stops_(stops), results_(std::move(results)) {}

  /// The server's results endpoint.
  const std::string& results() const { return results_; }

  /// Sends a frame of a message. If `more`, further frames of the message follow.
  bool send(std::span<const std::byte> body, bool more = false);
  bool send(const Frame& frame, bool more = false) { return send(frame.bytes(), more); }
  bool send(std::string_view text, bool more = false) {
    return send(std::as_bytes(std::span(text)), more);
  }
  /// Sends the head of a frame that announces `length` bytes.
  bool announce(std::uint64_t length, bool more = false);
  bool send_raw(std::string_view bytes);
  bool receive_raw(std::span<std::byte> bytes);
  /// Receives a frame. `flags` are those of ZMTP: 1 more, 4 command.
  bool receive(std::string& body, std::uint8_t& flags);

 private:
  int descriptor_;
  const std::atomic<bool>& stops_;
  std::string results_;
};

struct Misbehaviour {
  std::string name;
  /// Answers a request on the commands endpoint. Returns false to end the connection.
  std::function<bool(Peer&, const DecodedRequest&)> on_request{};
  /// Sends messages to a subscriber of the results endpoint, with `topic` as their first frame.
  std::function<void(Peer&, const std::string& topic)> on_subscribed{};
};

class HostileServer {
 public:
  explicit HostileServer(Misbehaviour misbehaviour);
  ~HostileServer();

  std::string commands() const;
  std::string results() const;

 private:
  struct Listener {
    int descriptor = -1;
    std::uint16_t port = 0;
  };

  static Listener listening();
  void accept_on(const Listener& listener, bool is_commands);
  void serve_commands(Peer& peer);
  void serve_results(Peer& peer);

  Misbehaviour misbehaviour_;
  std::atomic<bool> stops_ = false;
  Listener commands_ = listening();
  Listener results_ = listening();
  std::mutex mutex_;                     ///< guards connections_
  std::list<std::jthread> connections_;  ///< one thread for each connection
  std::jthread commands_thread_;
  std::jthread results_thread_;
};

}  // namespace starling::protocol::test
