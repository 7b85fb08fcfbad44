// SPDX-License-Identifier: Apache-2.0
// Runs the `starling` binary as a child process and reads its standard error. The tests of the
// program use it.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

/// A running `starling`. The destructor kills the process if it has not ended.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    error_fd_ = pipe_ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    // The program starts as from a shell, even if this process ignores SIGPIPE.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    arguments.insert(arguments.begin(), STARLING_PROGRAM);
    // The program is built with the same sanitizer as the test, so it gets the same options.
    for (const std::string name : {"TSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"})
      if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
    auto argv = pointers(arguments);
    auto envp = pointers(environment);
    const int failed =
        posix_spawn(&pid_, STARLING_PROGRAM, &actions, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pipe_ends[1]);
    if (failed != 0) throw std::runtime_error("cannot start " STARLING_PROGRAM);
  }
  ~Program() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    exit_status();
    if (error_fd_ >= 0) close(error_fd_);
  }

  /// Reads standard error until `text` appears. Returns false if standard error ends first.
  bool says(std::string_view text) { return says_one_of({text}); }
  bool says_one_of(std::initializer_list<std::string_view> texts) {
    const auto is_said = [this](std::string_view text) {
      return said_.find(text) != std::string::npos;
    };
    while (std::ranges::none_of(texts, is_said)) {
      char buffer[4096];
      const ssize_t count = read(error_fd_, buffer, sizeof(buffer));
      if (count <= 0) return false;
      said_.append(buffer, static_cast<std::size_t>(count));
    }
    return true;
  }

  /// Shrinks the pipe of standard error to a page, so that few lines fill it.
  bool shrink_stderr() const { return fcntl(error_fd_, F_SETPIPE_SZ, 4096) >= 0; }

  /// Closes the reading end of standard error.
  void stop_reading() {
    close(error_fd_);
    error_fd_ = -1;
  }

  /// Returns true if the process ends before `patience` does.
  bool ends() {
    return happens([&] {
      siginfo_t info{};
      return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             info.si_pid == pid_;
    });
  }

  std::size_t resident_bytes() const { return stream::resident_bytes(pid_); }

  void send_signal(int number) const { kill(pid_, number); }

  /// Sends SIGSTOP and waits until all threads have stopped.
  void freeze() const {
    kill(pid_, SIGSTOP);
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
  }

  /// Waits until the process ends. Returns its exit status, or -1 if a signal ended it.
  int exit_status() {
    if (pid_ <= 0) return status_;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return status_;
  }

  const std::string& said() const { return said_; }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  pid_t pid_ = 0;
  int error_fd_ = -1;
  int status_ = -1;
  std::string said_;
};

inline std::string temporary_path(const std::string& name) {
  return testing::TempDir() + "starling_" + std::to_string(getpid()) + "_" + name;
}

class ProgramTest : public testing::Test {
 protected:
  std::vector<std::string> serve(std::vector<std::string> more) const {
    std::vector<std::string> arguments{
        "serve",       "--commands",  "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*",
        "--http",      "127.0.0.1:0", "--threads",         "1",         "--endpoints-file",
        endpoints_path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// Returns the field `name` of the endpoints file.
  std::string endpoint(const std::string& name) const {
    std::ifstream file(endpoints_path);
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    const std::size_t start = all.find("\"" + name + "\": \"") + name.size() + 5;
    return all.substr(start, all.find('"', start) - start);
  }

  protocol::Client client() {
    return protocol::Client(context, {.commands = endpoint("commands")});
  }

  void TearDown() override { unlink(endpoints_path.c_str()); }

  std::string endpoints_path = temporary_path("endpoints.json");
  zmq::context_t context;
};

}  // namespace starling::stream
