// SPDX-License-Identifier: Apache-2.0
// The commands endpoint: a ZeroMQ ROUTER socket on the server's loop. CommandSocket receives
// requests and sends replies, and decodes neither. A client with a DEALER socket sends and receives
// one frame, the body. A client with a REQ socket sends and receives an empty frame and the body.
// Server owns the CommandSocket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "starling/stream/sockets/reach.hpp"

namespace boost::asio {
class io_context;
}
namespace zmq {
class context_t;
}

namespace starling::stream {

struct CommandSocketOptions {
  std::string endpoint;
  Reach reach_allowed = Reach::machine;
  std::size_t message_bytes_max = 0;  ///< ZeroMQ disconnects the sender of a longer frame
  int send_hwm = 1000;                ///< the most replies that may wait for one peer
  int receive_hwm = 1000;             ///< the most requests of one peer that may wait
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< bit mask: which of the context's threads to use; 0: any
  /// Connections beyond this number are closed at once.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
};

/// The peer that sent a request and gets the reply.
struct Peer {
  std::string routing_id;
  bool has_delimiter = false;  ///< an empty frame precedes each body, as with a REQ socket
  bool in_process = false;     ///< not of this socket: the server's own HTTP endpoint
  bool operator==(const Peer&) const = default;
};

/// A received frame. `owner` owns the memory of `bytes`.
struct ReceivedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class CommandSocket {
 public:
  enum class Sent : std::uint8_t {
    queued,
    peer_gone,
    peer_full,  ///< too many replies wait for the peer, and this one is dropped
  };

  struct Handlers {
    std::function<void(Peer, ReceivedBytes)> request;
    /// Called for a message that is neither one frame nor an empty frame and a second frame.
    std::function<void(const Peer&)> malformed;
    /// Called before each request is read. If it returns false, requests stay with ZeroMQ until
    /// read_on() is called.
    std::function<bool()> may_read;
  };

  /// Binds the endpoint. Throws as bind_endpoint does.
  CommandSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const CommandSocketOptions& options, Handlers handlers);
  ~CommandSocket();

  /// Returns the bound endpoint, with the port that is in use.
  const std::string& endpoint() const;

  std::size_t connection_count() const;
  /// Returns the number of connections closed so far because of connections_max.
  std::uint64_t refused_count() const;

  Sent send(const Peer& peer, std::span<const std::byte> body);

  /// Call read_on() when `may_read` has returned false and would now return true.
  void read_on();

  /// Reads no more requests. Replies are still sent.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
