// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server on the loop. HttpServer limits the bytes of a request's head and body, the
// number of connections, and the time for a request and its answer. It shares the places of
// connections fairly (places.hpp), and refuses requests whose length is ambiguous. The handlers
// know the paths. Server owns an HttpServer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "starling/stream/sockets/reach.hpp"
#include "starling/stream/sockets/trusted_proxies.hpp"
#include "starling/stream/turns/places.hpp"
#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// Takes a connection that a client has opened, and returns a socket for its plain bytes: see
/// TlsRelay::secured(). std::nullopt: the connection cannot be served.
using SecureConnection =
    std::function<std::optional<boost::asio::ip::tcp::socket>(boost::asio::ip::tcp::socket)>;

/// Says whether the client of a request still waits for the answer. Only the loop calls the
/// functions.
class HttpWait {
 public:
  bool is_over() const { return is_over_; }
  /// `ended` is called once if the client leaves, or if the time for the answer passes: work that
  /// has not begun can then be dropped. It may still answer, and a client that has only closed its
  /// sending side gets that answer.
  void on_end(std::function<void()> ended) { ended_ = std::move(ended); }
  bool is_watched() const { return ended_ != nullptr; }

  /// Ends the wait, and calls what on_end() was given.
  void end() {
    is_over_ = true;
    if (const auto ended = std::exchange(ended_, {})) ended();
  }
  /// Ends the wait of a client that has its answer.
  void answered() {
    is_over_ = true;
    ended_ = {};
  }

 private:
  std::function<void()> ended_;
  bool is_over_ = false;
};

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< a numeric address or localhost
  std::uint16_t port = 0;          ///< 0: any free port
  Reach reach_allowed = Reach::machine;
  /// The places of connections whose request is read beyond its head, or answered. A request that
  /// gets none is refused.
  unsigned connections_max = 64;
  /// The places of all other connections, as in ListenerOptions. A connection that has sent nothing
  /// takes only a file descriptor.
  std::size_t handshakes_max = 4096;
  std::uint32_t header_bytes_max = 8192;
  std::size_t body_bytes_max = std::size_t{1} << 20;
  /// The most bytes of all bodies that are read and not answered yet (HttpBodies). Bodies of at
  /// most 4,096 bytes are not counted. A request that waits too long for this room gets status 503.
  std::size_t bodies_bytes_max = std::size_t{64} << 20;
  /// What is in front of the endpoint; null: it is not known.
  std::shared_ptr<const TrustedProxies> proxies{};
  /// The most time for reading a request, for the handler, and for writing the answer, each. The
  /// time for the first request begins with the connection.
  std::chrono::milliseconds timeout{5000};
  /// If set, each connection passes through it, and answers tell browsers to use only TLS.
  SecureConnection secure{};
};

/// The two ends of a connection. If a trusted proxy names the client for which it sends, that is
/// the client.
struct HttpOrigin {
  std::string local_address;  ///< the numeric address to which the client has connected
  std::string peer_address;   ///< the numeric address of the client
  bool is_local = false;      ///< the client's address is a loopback address, and not a proxy's
  bool is_proxy = false;      ///< the address is a trusted proxy's
  bool is_tls = false;
  std::uint64_t connection = 0;  ///< the server counts its connections from 1
};

/// The head of a request, as far as handlers use it. An absent field is empty.
struct HttpHead {
  std::string method;
  std::string target;  ///< a target such as "/v1/neighbors?k=3"
  std::string host;
  std::string origin;
  std::string content_type;
  std::string accept;
  std::string last_event_id;
  std::string if_none_match;
  std::string upgrade;
  std::string connection;
  std::string websocket_key;
  std::string websocket_version;
  std::string websocket_protocol;
  std::string authorization;
  bool is_forwarded = false;  ///< a proxy that is not trusted has sent the request for a client
  HttpOrigin from;
  /// The principal of the request. HttpHandlers::admit sets it.
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  /// Who pays for the request with turns and room. HttpHandlers::admit sets it.
  Payer payer{};
  bool has_length = false;  ///< the request has Content-Length or Transfer-Encoding
};

struct HttpRequest {
  HttpHead head;
  std::string body;
  std::shared_ptr<HttpWait> wait = std::make_shared<HttpWait>();  ///< not null
};

/// A connection that is no longer HTTP, for example because it now carries events.
struct HandedOver {
  /// The socket belongs to the server's loop. No operation is under way on it.
  boost::asio::ip::tcp::socket socket;
  std::string received;  ///< what the client has sent after its request
};

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields{};  ///< further fields, such as Allow
  /// If set, the answer has no body. When its head is sent, the server passes the connection to
  /// this function, on the loop, and no longer counts it. The function is destroyed without a call
  /// if the connection ends before, or if the request is HEAD.
  std::function<void(HandedOver)> hand_over{};
  /// If set, `hand_over` gets the connection at once, and writes the head itself.
  bool is_headless = false;
};

/// Answers a request. Call it on the loop, at once or later. Only the first call has an effect. No
/// call has an effect after the time for the answer, or after the connection's end.
using HttpRespond = std::function<void(HttpAnswer)>;

/// The functions that the server calls on the loop.
struct HttpHandlers {
  /// Called before the body is read. Returns the answer if it does not depend on the body;
  /// std::nullopt: read the body and call `handle`. May set HttpHead::principal.
  std::function<std::optional<HttpAnswer>(HttpHead&)> admit;
  std::function<void(HttpRequest, HttpRespond)> handle;
  /// Returns how long the request waits before its body is read or it is answered.
  std::function<std::chrono::microseconds(const HttpHead&)> rest = [](const HttpHead&) {
    return std::chrono::microseconds{0};
  };
  /// Returns the answer to a request that is malformed, too large, or not answered in time.
  std::function<HttpAnswer(unsigned status, std::string_view sentence)> refuse;
  /// Called for each answer that is sent.
  std::function<void(unsigned status)> answered = [](unsigned) {};
  /// Called for each connection that is closed because its client was too slow in sending a request
  /// or in reading an answer.
  std::function<void()> timed_out = [] {};
};

class HttpServer {
 public:
  /// Binds the endpoint. Throws std::runtime_error if the endpoint cannot be bound. The exception's
  /// text is the end of a sentence: what the host may be, what to do about its reach, or the
  /// system's message.
  HttpServer(boost::asio::io_context& loop, const HttpOptions& options, HttpHandlers handlers);
  ~HttpServer();

  /// Returns the bound endpoint, for example "127.0.0.1:7413", with the port that is in use.
  std::string endpoint() const;

  /// The places of requests, and of connections that wait for one.
  const Places& requests() const;
  const Places& handshakes() const;
  /// Returns the bytes of bodies that are read and not answered yet.
  std::size_t body_bytes() const;
  /// Returns the number of connections that gave way, and of requests that got no place.
  std::uint64_t refused_count() const;

  /// Accepts no further connections, and closes all open connections.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Returns which hosts an HttpServer takes, if it does not take `host`; else an empty text.
std::string fault_of_http_host(const std::string& host);

}  // namespace starling::stream
