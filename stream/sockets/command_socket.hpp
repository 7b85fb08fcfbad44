// SPDX-License-Identifier: Apache-2.0
// The commands endpoint: speaks ZMTP as a ROUTER socket of ZeroMQ would. I/O threads receive
// requests and send replies, without decoding them. The server's loop takes the requests, and
// passes the replies to send(). A client with a DEALER socket sends and receives one frame, the
// body. A client with a REQ socket sends and receives an empty frame and the body. Server owns the
// CommandSocket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "starling/protocol/wire/frame.hpp"
#include "starling/stream/sockets/reach.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/turns/places.hpp"
#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/fault.hpp"
#include "starling/stream/zmtp/io_threads.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

struct CommandSocketOptions {
  std::string endpoint{};
  Reach reach_allowed = Reach::machine;
  std::size_t message_bytes_max = 0;  ///< the sender of a longer request is cut
  /// The most bytes of requests that are being received or wait for the loop, of all connections.
  std::size_t receive_bytes_max = std::size_t{256} << 20;
  /// The most bytes of replies that wait for one peer.
  std::size_t peer_reply_bytes_max = std::size_t{32} << 20;
  /// The most bytes of replies that wait for all peers together.
  std::size_t reply_bytes_max = std::size_t{256} << 20;
  /// Returns the most bytes of replies that wait for all connections of a principal together;
  /// std::nullopt: only the limits above count. May be empty. The loop calls it.
  std::function<std::optional<std::uint64_t>(zmtp::PrincipalId)> principal_reply_bytes_max{};
  int linger_ms = 0;
  zmtp::IoThreadRange io_threads{};
  // See ListenerOptions.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
  PlaceQuota connection_quota{};
  std::size_t handshakes_max = 4096;
  const zmtp::Authentication* authentication = nullptr;  ///< null: all peers are anonymous
};

class CommandSocket {
 public:
  enum class Sent : std::uint8_t {
    queued,
    peer_gone,
    peer_full,  ///< the reply is dropped, because too many bytes wait
    no_memory,  ///< the reply is dropped
  };

  struct Handlers {
    /// While requests keep their room, the I/O threads soon read no more from their connections.
    std::function<void(const Peer&, ReceivedBytes, ReceivedRoom)> request;
    /// Called for a message that is neither one frame nor an empty frame and a second frame.
    std::function<void(const Peer&, ReceivedRoom)> malformed;
  };

  /// Listens on the endpoint. Throws as bind_endpoint does. `threads` must outlive the socket.
  CommandSocket(boost::asio::io_context& loop, zmtp::IoThreads& threads,
                const CommandSocketOptions& options, Handlers handlers);
  /// Waits up to linger_ms for replies that have not been sent.
  ~CommandSocket();

  /// Returns the bound endpoint, with the port that is in use.
  const std::string& endpoint() const;

  std::size_t connection_count() const;
  /// Returns the number of unfinished handshakes.
  std::size_t handshake_count() const;
  /// Returns which connections gave way to those of others (Places).
  Places::GaveWay gave_way() const;
  /// Returns the number of connections that were closed so far because they got no place.
  std::uint64_t refused_count() const;
  /// Returns how often peers were cut because they broke a rule, by the rule.
  const zmtp::FaultCounts& faults() const;
  /// Returns the bytes of replies that wait, of all peers together.
  std::size_t reply_bytes() const;

  Sent send(const Peer& peer, const protocol::Frame& body);

  /// Closes the connections of the principals for which `is_meant` returns true. I/O threads call
  /// `is_meant`.
  void cut(const std::function<bool(zmtp::PrincipalId)>& is_meant);

  /// Takes no more requests. Replies are still sent.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
