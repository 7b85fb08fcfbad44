// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 in front of HttpServer. A thread of its own makes the handshakes, and passes plain bytes
// through a pair of local sockets to HttpServer and to those who take connections over from it. So
// they need not know TLS, and neither a handshake nor encryption holds the loop. Server owns it.
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
  /// Open connections, also those that only pass on the rest of an answer. Beyond it, such a
  /// connection is cut, or else the new one is closed.
  std::size_t connections_max = 512;
  std::int64_t handshake_us = 5'000'000;
  /// A client that takes nothing for so long, although bytes wait for it, is cut.
  std::int64_t stall_us = 30'000'000;
  /// The same, when HttpServer has closed the connection and its last bytes wait.
  std::int64_t last_bytes_us = 5'000'000;
};

/// Counts from the start of the relay. Any thread may read them.
struct TlsCounts {
  std::atomic<std::size_t> connections{0};   ///< number of open connections
  std::atomic<std::uint64_t> handshakes{0};  ///< number of handshakes that succeeded
  std::atomic<std::uint64_t> failed{0};      ///< handshakes that did not
  std::atomic<std::uint64_t> stalled{0};     ///< connections that were cut for taking nothing
  /// Number of connections refused because of connections_max.
  std::atomic<std::uint64_t> refused{0};
};

class TlsRelay {
 public:
  /// Throws as load_tls() does.
  explicit TlsRelay(TlsFiles files, const TlsLimits& limits = {});
  /// Cuts what is left of the connections after a second at most.
  ~TlsRelay();

  /// Takes a connection that a client has just opened. Returns a socket of the same loop, on which
  /// its plain bytes come and go. Nothing comes before the handshake has succeeded, and the socket
  /// ends if it fails. Returns std::nullopt if the system has no socket free.
  std::optional<boost::asio::ip::tcp::socket> secured(boost::asio::ip::tcp::socket accepted);

  /// Reads the files again, for connections from now on. If they are bad, throws as load_tls()
  /// does, and the old certificate stays. Any thread may call it. Returns LoadedTls::warning.
  std::string reload();
  /// The warning of the first load.
  const std::string& warning() const;

  const TlsCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
