// SPDX-License-Identifier: Apache-2.0
// Hostile clients of a server, all on one thread that takes at most a share of a core. Each client
// is one attack on one connection, drawn at random; when it ends, another is drawn. They write
// their bytes themselves, so that no library keeps them from anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "starling/stream/server.hpp"

namespace starling::stream {

struct HostileOptions {
  Endpoints endpoints;
  std::string stream;  ///< of an honest client, which readers that never read subscribe to
  unsigned clients = 64;
  std::uint64_t seed = 1;
  double cores = 0.5;  ///< processor time of all clients together
  /// Whether some clients open sessions and ask for as much work and memory as they are allowed.
  /// Nothing bounds the time of the loop that one client takes yet.
  bool attack_with_sessions = false;
};

/// Runs from the constructor to the destructor.
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
