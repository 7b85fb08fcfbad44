// SPDX-License-Identifier: Apache-2.0
// One connection of TlsRelay: TLS on one side, plain bytes on the other. It holds at most 16 KiB in
// each direction, and reads more only when these are sent, so a slow side slows the other side
// down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "starling/stream/tls/tls_relay.hpp"

struct ssl_st;  // OpenSSL's SSL

namespace starling::stream {

/// Only the thread of TlsRelay calls the functions.
class TlsConnection : public std::enable_shared_from_this<TlsConnection> {
 public:
  using Client = boost::asio::ip::tcp::socket;
  using Server = boost::asio::local::stream_protocol::socket;

  /// close() calls `ended`, once.
  TlsConnection(std::shared_ptr<ssl_ctx_st> context, Client client, Server server,
                const TlsLimits& limits, TlsCounts& counts,
                std::function<void(TlsConnection*)> ended);
  ~TlsConnection();

  void start();
  /// Cuts the connection if one of the times in TlsLimits has passed. Call it a few times a second.
  void beat(std::int64_t now_us);
  /// Returns whether HttpServer has closed its side, so that only its last bytes are passed on.
  bool is_leftover();
  void close();

 private:
  enum class Step : std::uint8_t { progress, waits, ended };
  enum class Phase : std::uint8_t { handshake, open };
  struct Bytes {
    std::array<char, 16384> bytes{};
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_empty() const { return begin == end; }
  };

  void pump();
  bool shake_hands();
  void refuse_plain_http();
  Step pass_up();
  Step drop_up();
  Step pass_down();
  Step end_down();
  Step tls_step(int result);
  void wait_for_events();
  template <class Socket, class Kind>
  void wait(Socket& socket, Kind kind, bool& is_waiting);

  std::shared_ptr<ssl_ctx_st> context_;
  Client client_;
  Server server_;
  const TlsLimits& limits_;
  TlsCounts& counts_;
  std::function<void(TlsConnection*)> ended_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
  Phase phase_ = Phase::handshake;
  std::unique_ptr<Bytes> up_;    ///< bytes that go from the client to the server
  std::unique_ptr<Bytes> down_;  ///< bytes that go from the server to the client
  bool is_up_ended_ = false;
  bool is_down_ending_ = false;  ///< HttpServer writes no more
  bool is_down_ended_ = false;   ///< the client has got the end of the server's bytes
  bool is_closed_ = false;
  bool wants_client_read_ = false;
  bool wants_client_write_ = false;
  bool waits_client_read_ = false;
  bool waits_client_write_ = false;
  bool waits_server_read_ = false;
  bool waits_server_write_ = false;
  std::int64_t begun_us_;
  std::int64_t progress_us_;  ///< time when the client last took bytes, or no bytes waited
};

}  // namespace starling::stream
