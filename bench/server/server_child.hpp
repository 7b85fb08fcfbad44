// A real `starling serve` in a process of its own, for benchmarks: ports that the system chooses,
// stopped by its own pid, and what it costs in memory and processor time.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace starling::bench {

struct ProcessMemory {
  double rss_mib = 0;  ///< resident now (VmRSS)
  double hwm_mib = 0;  ///< resident at most (VmHWM)
};

class ServerChild {
 public:
  /// `flags` follow `PROGRAM serve`; endpoints are chosen here. Throws std::runtime_error if it is
  /// not ready within 20 s. Fork: start it before the threads of a benchmark.
  ServerChild(const std::string& program, const std::vector<std::string>& flags);
  /// Asks it to stop, and ends it if it has not after 20 s.
  ~ServerChild();
  ServerChild(const ServerChild&) = delete;
  ServerChild& operator=(const ServerChild&) = delete;

  const std::string& commands() const { return commands_; }
  const std::string& results() const { return results_; }

  ProcessMemory memory() const;
  double cpu_seconds() const;

 private:
  void wait_until_ready(const std::string& endpoints_path);
  bool has_ended();

  pid_t pid_ = 0;
  std::string commands_;
  std::string results_;
};

/// Processor time of this process.
double own_cpu_seconds();

}  // namespace starling::bench
