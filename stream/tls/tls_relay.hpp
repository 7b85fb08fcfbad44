// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 in front of HttpServer. The relay's own thread makes the handshakes. It passes plain
// bytes through pairs of local sockets to HttpServer, EventHub and SocketHub, so these need no TLS,
// and neither handshakes nor encryption hold the loop. Server owns the relay.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "starling/stream/tls/tls_context.hpp"

namespace starling::stream {

struct TlsLimits {
  /// The most open connections, with those that only pass on the rest of an answer. At the limit, a
  /// new connection replaces one of the latter. If there are none, the new connection is closed.
  std::size_t connections_max = 512;
  std::int64_t handshake_us = 5'000'000;
  /// A client is cut if it takes no bytes for this long, although some wait for it.
  std::int64_t stall_us = 30'000'000;
  /// The limit in place of stall_us when HttpServer has closed the connection.
  std::int64_t last_bytes_us = 5'000'000;
};

/// Counts from the start of the relay. Any thread may read them.
struct TlsCounts {
  std::atomic<std::size_t> connections{0};   ///< number of open connections
  std::atomic<std::uint64_t> handshakes{0};  ///< number of handshakes that succeeded
  std::atomic<std::uint64_t> failed{0};      ///< number of handshakes that failed
  std::atomic<std::uint64_t> stalled{0};     ///< connections cut because a client took no bytes
  /// Number of new connections beyond connections_max, which were closed or replaced another one.
  std::atomic<std::uint64_t> refused{0};
};

class TlsRelay {
 public:
  /// Throws as load_tls() does.
  explicit TlsRelay(TlsFiles files, const TlsLimits& limits = {});
  /// Waits at most a second until the connections end, and cuts the rest.
  ~TlsRelay();

  /// Takes a connection that a client has just opened. Returns a socket of the same loop for the
  /// plain bytes of the connection. It gets bytes only after the handshake, and ends if the
  /// handshake fails. Returns std::nullopt if the system has no free socket.
  std::optional<boost::asio::ip::tcp::socket> secured(boost::asio::ip::tcp::socket accepted);

  /// Reads the files again, for new connections. If the files are bad, throws as load_tls() does,
  /// and the old certificate stays. Any thread may call it. Returns LoadedTls::warning.
  std::string reload();
  /// The warning of the first load.
  const std::string& warning() const;

  const TlsCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
