// SPDX-License-Identifier: Apache-2.0
// `starling serve` as a class. Server connects sockets, decoding, sessions, ticks and HTTP on one
// loop. apps/serve.cpp runs a Server, and tests run one in their own process.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "starling/knn/engine/engine.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// The endpoints where a server listens. The ports are the bound ones, never * or 0.
struct Endpoints {
  std::string commands;  ///< an endpoint such as "tcp://127.0.0.1:7411"
  std::string results;
  std::string http;  ///< an address and a port, such as "127.0.0.1:7413"
};

/// A signal has stopped the server before it had read its log. Nothing was changed.
class StoppedAtStart : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Server {
 public:
  /// Binds the endpoints. Throws std::invalid_argument if the options contradict each other or the
  /// engine's limits. Throws std::runtime_error if an endpoint cannot be bound, and the exception's
  /// text names the endpoint. Throws StoppedAtStart.
  Server(const ServerOptions& options, std::unique_ptr<Engine> engine);
  ~Server();

  const Endpoints& endpoints() const;

  /// Serves until stop() is called. Then finishes and publishes the tick under way, answers the
  /// requests that were read, and returns.
  /// Throws std::runtime_error if the engine is lost.
  void run();

  /// Ends run(). Any thread may call stop().
  void stop();

  /// Reads the keys file and the certificate again, as SIGHUP does, and cuts connections of
  /// principals whose keys or rights have changed. The log says whether the files are good. The
  /// content of a bad file is ignored, and the old content stays. Any thread may call
  /// reload_keys().
  void reload_keys();

 private:
  friend struct ServerReading;  // the metrics read the parts
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
