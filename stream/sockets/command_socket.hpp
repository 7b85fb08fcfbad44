// SPDX-License-Identifier: Apache-2.0
// The commands endpoint: a ZeroMQ ROUTER on the server's loop. Knows frames and peers, not what
// they say. DEALER peers send [body]; REQ peers send ["", body] and are answered alike.
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
  int send_hwm = 1000;                ///< replies waiting for one peer
  int receive_hwm = 1000;             ///< requests waiting from one peer
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< of the context, those that serve it, by bit; 0: any
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();  ///< more are closed
};

/// Where a reply goes.
struct Peer {
  std::string routing_id;
  bool has_delimiter = false;
  bool operator==(const Peer&) const = default;
};

/// One received frame, which lives as long as `owner`.
struct ReceivedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class CommandSocket {
 public:
  enum class Sent : std::uint8_t {
    queued,
    peer_gone,
    peer_full,  ///< it does not read its replies; a resend is answered from the session's cache
  };

  struct Handlers {
    std::function<void(Peer, ReceivedBytes)> request;
    std::function<void(const Peer&)> malformed;  ///< not one body
    std::function<bool()> may_read;  ///< false: leave requests with ZeroMQ until read_on
  };

  /// Binds, and throws as bind_endpoint does.
  CommandSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const CommandSocketOptions& options, Handlers handlers);
  ~CommandSocket();

  /// As bound, with the port that the system chose.
  const std::string& endpoint() const;

  std::size_t connection_count() const;
  /// Connections beyond the limit, so far.
  std::uint64_t refused_count() const;

  Sent send(const Peer& peer, std::span<const std::byte> body);

  /// After `may_read` said no and now would say yes.
  void read_on();

  /// Reads no more; replies still go out.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
