// SPDX-License-Identifier: Apache-2.0
// ServerChild runs `starling serve` as a child process, on ports that the system chooses. It also
// reads the memory and the processor time of the child. The workloads of `starling bench server`
// use this class.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "starling/protocol/keys/key_file.hpp"

namespace starling::bench {

struct ProcessMemory {
  double rss_mib = 0;  ///< resident now (VmRSS)
  double hwm_mib = 0;  ///< resident at most (VmHWM)
};

struct ServerProgram {
  std::string path{};                      ///< path of `starling`
  std::optional<protocol::KeyPair> key{};  ///< the clients' key pair, if the server has keys
};

class ServerChild {
 public:
  /// Starts `PROGRAM serve` with `flags`; this class sets the endpoints. Throws std::runtime_error
  /// if the server is not ready within 20 s. The constructor calls fork, so construct the object
  /// before a benchmark starts threads.
  ServerChild(ServerProgram program, const std::vector<std::string>& flags);
  /// Asks the server to stop, and kills it if it still runs after 20 s.
  ~ServerChild();
  ServerChild(const ServerChild&) = delete;
  ServerChild& operator=(const ServerChild&) = delete;

  const std::optional<protocol::KeyPair>& key() const { return program_.key; }
  const std::string& commands() const { return commands_; }
  const std::string& results() const { return results_; }
  /// An address and a port, such as "127.0.0.1:7413".
  const std::string& http() const { return http_; }

  ProcessMemory memory() const;
  double cpu_seconds() const;

 private:
  void wait_until_ready(const std::string& endpoints_path);
  bool has_ended();

  ServerProgram program_;
  pid_t pid_ = 0;
  std::string commands_;
  std::string results_;
  std::string http_;
};

/// Returns the processor time that all threads of this process have used.
double own_cpu_seconds();

}  // namespace starling::bench
