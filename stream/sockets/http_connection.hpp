// SPDX-License-Identifier: Apache-2.0
// One connection to the HTTP server. It reads a request, waits for the answer of the handlers,
// writes the answer, and reads the next request. Reading, waiting and writing each have a deadline.
// HttpServer makes the connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "starling/stream/sockets/http_bodies.hpp"
#include "starling/stream/sockets/http_parser.hpp"
#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The functions of an HttpServer that its connections call.
  struct Owner {
    virtual ~Owner() = default;
    virtual const HttpOptions& http_options() const = 0;
    virtual const HttpHandlers& http_handlers() const = 0;
    virtual HttpBodies& http_bodies() = 0;
    /// Called when the head of a request has come. Returns false if the request gets no place.
    virtual bool may_serve(HttpConnection& connection) = 0;
    /// Called when the whole request has come.
    virtual void handles(HttpConnection& connection) = 0;
    /// Called when the request is answered, and the connection waits for another one.
    virtual void waits(HttpConnection& connection) = 0;
    /// Called by the destructor.
    virtual void ended(HttpConnection& connection) = 0;
  };

  HttpConnection(boost::asio::ip::tcp::socket socket, HttpOrigin from,
                 std::shared_ptr<Owner> owner);
  ~HttpConnection();

  /// Reads a request. The head and the body must have come at `until`.
  void read(Time until);
  void close();
  const HttpOrigin& from() const { return from_; }
  /// The principal and the client's address of the request that was read last.
  zmtp::PrincipalId principal() const { return principal_; }
  PeerAddress client_address() const { return address_of(head_.from.peer_address); }

  /// The owner's number of the connection.
  std::uint64_t number = 0;

 private:
  using Error = boost::beast::error_code;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  void read_head();
  void take_head(const Error& error);
  void ask_for_body();
  void read_body();
  void take_body(const Error& error);
  void go_on(std::optional<HttpAnswer> answer);
  void take_room();
  void begin_body();
  void forget_body();
  void handle();
  void wait_for_leave();
  bool has_client_left();
  void end_wait();
  void respond(std::uint64_t exchange, HttpAnswer answer);
  void fail(const Error& error);
  void refuse(const Error& error);
  void refuse(unsigned status, std::string_view sentence);
  void write(HttpAnswer answer, bool keep_alive);
  void finish(bool keep_alive);
  void hand_over();
  void discard();
  HttpHead read_fields() const;
  bool is_forwarded() const;
  HttpOrigin client() const;
  void set_fields(const HttpAnswer& answer);
  bool is_body_read() const;

  HttpOrigin from_;
  std::shared_ptr<Owner> owner_;
  const HttpOptions& options_;
  const HttpHandlers& handlers_;
  HttpBodies& bodies_;
  zmtp::PrincipalId principal_ = zmtp::PrincipalId::anonymous;
  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer answer_deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<HttpParser> parser_;
  HttpHead head_;               ///< head of the request that is read or answered
  RequestOwner body_owner_;     ///< owner that bodies_ counts the body for
  std::size_t body_bytes_ = 0;  ///< what bodies_ counts
  std::shared_ptr<const HttpBodies::GoOn> room_granted_;  ///< null: no body waits for room
  std::shared_ptr<HttpWait> wait_;  ///< wait for the answer under way; null: no answer is
  std::optional<Response> response_;
  /// The function that takes the connection when the head of the answer is written.
  std::function<void(HandedOver)> hand_over_;
  std::uint64_t exchange_ = 0;  ///< number of requests and answers so far
  bool is_closed_ = false;
};

}  // namespace starling::stream
