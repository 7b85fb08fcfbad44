// SPDX-License-Identifier: Apache-2.0
// How many peers are connected to a bound ZeroMQ socket, and a bound on them: ZeroMQ has none of
// its own. It tells of connections that come and go; those beyond the bound are shut down at once,
// and their ends try again. CommandSocket and ResultsSocket own one each.
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
  /// Before `socket` is bound. `name` is the socket's own in the context; `socket` outlives this.
  ConnectionLimit(boost::asio::io_context& loop, zmq::context_t& context, zmq::socket_t& socket,
                  std::string_view name, std::size_t connections_max);
  ~ConnectionLimit();

  std::size_t count() const { return connections_.size(); }
  /// Whether a connection ended in the last `period_us`, by all that ZeroMQ has told until now.
  bool ended_within(std::int64_t period_us);
  /// Connections shut down so far.
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
