// SPDX-License-Identifier: Apache-2.0
// Hostile clients of a server, all on one thread that takes at most a share of a core. Each client
// is one attack on one connection, drawn at random; when it ends, another is drawn.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "starling/stream/server.hpp"
#include "tests/stream/soak/hostile_connection.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {

/// Clients that the server admits. They ask for as much work and memory as they are allowed.
struct HostilePrincipal {
  RawKeys keys;
  std::string token;        ///< the principal's token for HTTP
  zmq::context_t* context;  ///< context of the principal's sockets
  std::string threads;      ///< the first part of the names of the context's threads
};

struct HostileOptions {
  Endpoints endpoints;
  std::string stream;  ///< an honest client's stream; hostile readers subscribe to it and never
                       ///< read
  unsigned clients = 64;
  std::uint64_t seed = 1;
  double cores = 0.5;  ///< processor time of all clients together
  /// If given, some clients are of this principal.
  std::optional<HostilePrincipal> principal{};
};

struct HostileKind {
  const char* name;
  HostileStep (*make)(const HostileOptions&, test::Random&);
};

/// Runs hostile clients on one thread, from the constructor to the destructor.
class HostileMix {
 public:
  explicit HostileMix(const HostileOptions& options);
  ~HostileMix();

  /// Returns how many attacks of each kind have ended. Call it after stop().
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void stop();

 private:
  void run(const HostileOptions& options);

  std::atomic<bool> stopping_{false};
  std::map<std::string, std::uint64_t> counts_;
  std::thread thread_;
};

/// A thread that does nothing but take a share of a core.
class IdleLoop {
 public:
  explicit IdleLoop(double cores);
  ~IdleLoop();

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace starling::stream
