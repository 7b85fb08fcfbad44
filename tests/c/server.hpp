// SPDX-License-Identifier: Apache-2.0
// A server in a process of its own, with manual ticks, for the tests of the C client. Its endpoints
// are sockets in a temporary folder, so they are known before the server is ready.
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace starling::c_test {

class Server {
 public:
  Server() {
    std::string folder = "/tmp/starling_c_XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    start();
  }
  ~Server() {
    kill_it();
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string commands() const { return "ipc://" + folder_ + "/commands"; }
  std::string results() const { return "ipc://" + folder_ + "/results"; }

  /// Kills the server, which loses everything, and starts another in its place.
  void restart() {
    kill_it();
    start();
  }

 private:
  void start() {
    std::string texts[] = {STARLING_PROGRAM, "serve",     "--tick",      "manual", "--commands",
                           commands(),       "--results", results(),     "--http", "127.0.0.1:0",
                           "--threads",      "1",         "--log-level", "warning"};
    char* arguments[std::size(texts) + 1] = {};
    for (std::size_t i = 0; i < std::size(texts); ++i) arguments[i] = texts[i].data();
    if (posix_spawn(&pid_, STARLING_PROGRAM, nullptr, nullptr, arguments, environ) != 0)
      throw std::runtime_error("cannot start " STARLING_PROGRAM);
  }
  void kill_it() const {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  std::string folder_;
  pid_t pid_ = 0;
};

}  // namespace starling::c_test
