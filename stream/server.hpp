// SPDX-License-Identifier: Apache-2.0
// `starling serve` as a class: wires sockets, decoding, sessions, ticks and http on one loop. Run
// by apps/serve.cpp, and in-process by tests.
#pragma once

#include <memory>
#include <string>

#include "starling/knn/engine/engine.hpp"
#include "starling/stream/options.hpp"

namespace starling::stream {

/// Where a server listens, as bound.
struct Endpoints {
  std::string commands;  ///< "tcp://127.0.0.1:7411"
  std::string results;
  std::string http;  ///< "127.0.0.1:7413"
};

class Server {
 public:
  /// Binds. Throws std::invalid_argument if the options contradict each other or the engine, and
  /// std::runtime_error with the endpoint if one cannot be bound.
  Server(const ServerOptions& options, std::unique_ptr<Engine> engine);
  ~Server();

  const Endpoints& endpoints() const;

  /// Serves until stopped: finishes the tick under way, publishes it, and returns.
  void run();

  /// From any thread.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
