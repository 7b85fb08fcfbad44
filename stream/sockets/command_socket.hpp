// SPDX-License-Identifier: Apache-2.0
// The commands endpoint: a ZeroMQ ROUTER on the server's loop. The socket carries frames from and
// to peers, and does not decode the frames. A DEALER sends the frames [body]. A REQ sends ["",
// body], and its reply has the same form. Server owns the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

namespace boost::asio {
class io_context;
}
namespace zmq {
class context_t;
}

namespace starling::stream {

struct CommandSocketOptions {
  std::string endpoint;
  std::size_t message_bytes_max = 0;  ///< a longer frame disconnects its sender
  int send_hwm = 1000;                ///< replies that wait for one peer
  int receive_hwm = 1000;             ///< requests of one peer that wait
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< bit mask of the context's threads to use; 0: any
  /// Further connections are closed.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
};

/// The peer that sent a request and gets the reply.
struct Peer {
  std::string routing_id;
  bool has_delimiter = false;
  bool operator==(const Peer&) const = default;
};

/// A received frame. `owner` keeps the bytes alive.
struct ReceivedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class CommandSocket {
 public:
  enum class Sent : std::uint8_t {
    queued,
    peer_gone,
    peer_full,  ///< the peer does not read its replies; a resent request gets the kept reply
  };

  struct Handlers {
    std::function<void(Peer, ReceivedBytes)> request;
    std::function<void(const Peer&)> malformed;  ///< gets a message without exactly one body
    std::function<bool()> may_read;  ///< false: requests stay with ZeroMQ until read_on()
  };

  /// Binds the endpoint. Throws as bind_endpoint does.
  CommandSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const CommandSocketOptions& options, Handlers handlers);
  ~CommandSocket();

  /// The bound endpoint, with the port that the system chose.
  const std::string& endpoint() const;

  std::size_t connection_count() const;
  /// The number of connections closed so far because of the limit.
  std::uint64_t refused_count() const;

  Sent send(const Peer& peer, std::span<const std::byte> body);

  /// Call when `may_read` has returned false and would now return true.
  void read_on();

  /// Reads no more requests. Replies are still sent.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
