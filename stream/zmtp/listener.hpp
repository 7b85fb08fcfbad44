// SPDX-License-Identifier: Apache-2.0
// Accepts the connections of an endpoint and spreads them over I/O threads. It shares the places of
// connections and of unfinished handshakes (places.hpp), and counts why connections were cut.
// CommandSocket and ResultsSocket each own a Listener.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "starling/stream/turns/places.hpp"
#include "starling/stream/zmtp/connection.hpp"
#include "starling/stream/zmtp/fault.hpp"
#include "starling/stream/zmtp/io_threads.hpp"
#include "starling/stream/zmtp/link.hpp"
#include "starling/stream/zmtp/session.hpp"

namespace starling::stream::zmtp {

struct ListenerOptions {
  SessionOptions session;
  /// The places of connections. A connection that gets none is closed.
  std::size_t connections_max = 0;
  PlaceQuota connection_quota{};
  /// The places of unfinished handshakes, which do not count towards connections_max. One address
  /// has at most a quarter of them. A peer that has sent nothing is idle (places.hpp).
  std::size_t handshakes_max = 4096;
};

class Listener {
 public:
  /// Owns `descriptor`, a listening socket. `traffic` must outlive the listener.
  Listener(IoThreads& threads, IoThreadRange range, int descriptor, const ListenerOptions& options,
           Traffic& traffic);
  /// Closes all connections at once, if close() was not called.
  ~Listener();

  /// Begins to accept connections, and to call `traffic`.
  void start();

  std::size_t lane_count() const;
  Lane& lane(std::size_t index);

  const Places& connections() const;
  const Places& handshakes() const;
  /// Returns the number of connections that got no place, or that the kernel could not watch.
  std::uint64_t refused_count() const;
  const FaultCounts& faults() const;

  /// Closes the connections of the principals for which `is_meant` returns true. I/O threads call
  /// `is_meant` later.
  void cut(const std::function<bool(PrincipalId)>& is_meant);

  /// Accepts no more connections, and closes each connection when it has sent its waiting messages,
  /// or at `until`. Returns when all connections are closed.
  void close(std::chrono::steady_clock::time_point until);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs Connection::go_on() on the connection's thread, if the connection still exists then. Throws
/// nothing.
void post_go_on(const std::shared_ptr<Link>& link);

}  // namespace starling::stream::zmtp
