// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server on the loop, for health probes and Prometheus. HttpServer answers GET and
// HEAD requests that have no body. It limits the size of a request's header, the number of
// connections, and the time for a request and its answer. Server owns an HttpServer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "starling/stream/sockets/reach.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< a numeric address or localhost
  std::uint16_t port = 0;          ///< 0: any free port
  Reach reach_allowed = Reach::machine;
  unsigned connections_max = 64;  ///< further connections are closed at once
  std::uint32_t header_bytes_max = 8192;
  std::chrono::milliseconds timeout{5000};  ///< for reading a request, and again for its answer
};

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  /// Called on the loop with the request's target, such as "/metrics".
  using Handler = std::function<HttpAnswer(std::string_view target)>;

  /// Binds the endpoint. Throws std::runtime_error if the endpoint cannot be bound. The exception's
  /// text is the end of a sentence: what the host may be, what to do about its reach, or the
  /// system's message.
  HttpServer(boost::asio::io_context& loop, const HttpOptions& options, Handler handler);
  ~HttpServer();

  /// Returns the bound endpoint, for example "127.0.0.1:7413", with the port that is in use.
  std::string endpoint() const;

  std::size_t connection_count() const;

  /// Accepts no further connection, and closes all open ones.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace starling::stream
