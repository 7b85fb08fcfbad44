// SPDX-License-Identifier: Apache-2.0
// Counts and limits the connections of a bound ZeroMQ socket. ZeroMQ cannot limit connections, but
// it reports each connection that opens or closes. ConnectionLimit shuts down each connection
// beyond the limit at once, and the peer then tries again. CommandSocket and ResultsSocket each own
// a ConnectionLimit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <zmq.hpp>

#include "starling/stream/sockets/zmq_watch.hpp"

namespace starling::stream {

class ConnectionLimit {
 public:
  /// `socket` must not be bound yet, and must outlive this object. `name` must be unique in the
  /// context.
  ConnectionLimit(boost::asio::io_context& loop, zmq::context_t& context, zmq::socket_t& socket,
                  std::string_view name, std::size_t connections_max);
  ~ConnectionLimit();

  std::size_t count() const { return connections_.size(); }
  /// Reads all events that ZeroMQ has reported. Returns true if less than `period_us` have passed
  /// since the last report of a closed connection was read.
  bool ended_within(std::int64_t period_us);
  /// Returns the number of connections that were shut down so far because of the limit.
  std::uint64_t refused() const { return refused_; }

 private:
  bool drain();
  void accepted(int descriptor);
  void ended(int descriptor);

  zmq::socket_t& socket_;
  zmq::socket_t events_;
  std::size_t connections_max_;
  std::unordered_set<int> connections_;  ///< file descriptors of the open connections
  std::uint64_t refused_ = 0;
  std::optional<std::int64_t> last_end_us_;
  ZmqWatch watch_;
};

}  // namespace starling::stream
