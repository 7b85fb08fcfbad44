// SPDX-License-Identifier: Apache-2.0
// Hostile principals in a process of their own, with all the processor time that they get. Each
// connection of a principal repeats one kind of attack for a few seconds, then draws another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/stream/soak/hostile_kinds.hpp"

namespace starling::stream {

struct HostileOptions {
  Endpoints endpoints{};
  std::string stream{};  ///< an honest client's stream, which attacks subscribe to and ask for
  std::vector<HostilePrincipal> principals{};
  unsigned connections = 16;  ///< the connections of each principal
  unsigned sessions = 4;      ///< how many of the connections have a session
  std::uint64_t seed = 1;
  std::vector<std::string> kinds{};  ///< names of the kinds to draw from; empty: all
  std::vector<std::string> kinds_left_out{};
  std::optional<unsigned> core{};  ///< the core of all attacks; std::nullopt: any
};

/// Makes the process run on one core. Threads and processes that it starts later run there, too.
void run_on_core(unsigned core);

/// A process that begins to attack when it is told to.
class HostileProcess {
 public:
  /// Forks, so the caller may have one thread only.
  explicit HostileProcess(const HostileOptions& options);
  ~HostileProcess();
  HostileProcess(const HostileProcess&) = delete;
  HostileProcess& operator=(const HostileProcess&) = delete;

  void begin() const;
  /// Ends the attacks and the process. Returns what came of each kind that was chosen.
  std::map<std::string, HostileTally> end();

 private:
  pid_t pid_ = 0;
  int orders_ = -1;   ///< tells the process when to begin, and when to end
  int tallies_ = -1;  ///< has the tallies of the process
};

/// Returns the kinds that `options` chooses.
std::vector<HostileKind> chosen_kinds(const HostileOptions& options);

}  // namespace starling::stream
