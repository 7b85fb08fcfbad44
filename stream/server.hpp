// SPDX-License-Identifier: Apache-2.0
// `starling serve` as a class: it wires sockets, decoding, sessions, ticks and HTTP on one loop.
// apps/serve.cpp runs it; tests run it in their own process.
#pragma once

#include <memory>
#include <string>

#include "starling/knn/engine/engine.hpp"
#include "starling/stream/options.hpp"

namespace starling::stream {

/// The endpoints where a server listens, with the ports that are bound.
struct Endpoints {
  std::string commands;  ///< "tcp://127.0.0.1:7411"
  std::string results;
  std::string http;  ///< "127.0.0.1:7413"
};

class Server {
 public:
  /// Binds the endpoints. Throws std::invalid_argument if the options contradict each other or the
  /// engine's limits, and std::runtime_error, which names the endpoint, if an endpoint cannot be
  /// bound.
  Server(const ServerOptions& options, std::unique_ptr<Engine> engine);
  ~Server();

  const Endpoints& endpoints() const;

  /// Serves until stop() is called. Then finishes and publishes the tick under way, and returns.
  /// Throws std::runtime_error if the engine is lost.
  void run();

  /// Ends run(). Any thread may call stop().
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
