// SPDX-License-Identifier: Apache-2.0
// Counts and limits the connections of a bound ZeroMQ socket. ZeroMQ cannot limit connections, but
// it reports each connection that opens or closes. This class shuts down connections beyond the
// limit at once, and their peers try again. CommandSocket and ResultsSocket each own a
// ConnectionLimit.
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
  /// Make a ConnectionLimit before `socket` is bound. `name` must be unique in the context.
  /// `socket` must outlive this object.
  ConnectionLimit(boost::asio::io_context& loop, zmq::context_t& context, zmq::socket_t& socket,
                  std::string_view name, std::size_t connections_max);
  ~ConnectionLimit();

  std::size_t count() const { return connections_.size(); }
  /// Reads all events that ZeroMQ has reported. Then returns whether a connection was closed within
  /// the last `period_us`.
  bool ended_within(std::int64_t period_us);
  /// The number of connections shut down so far.
  std::uint64_t refused() const { return refused_; }

 private:
  bool drain();
  void accepted(int descriptor);
  void ended(int descriptor);

  zmq::socket_t& socket_;
  zmq::socket_t events_;
  std::size_t connections_max_;
  std::unordered_set<int> connections_;  ///< by file descriptor
  std::uint64_t refused_ = 0;
  std::optional<std::int64_t> last_end_us_;
  ZmqWatch watch_;
};

}  // namespace starling::stream
