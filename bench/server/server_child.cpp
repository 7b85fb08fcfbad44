// SPDX-License-Identifier: Apache-2.0
// Starts, watches and stops the measured server: see server_child.hpp.
#include "starling/bench/server/server_child.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace starling::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{20};
constexpr std::chrono::milliseconds look_again{2};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string field(const std::string& json, const std::string& name) {
  const std::string head = "\"" + name + "\": \"";
  const std::size_t start = json.find(head);
  if (start == std::string::npos) throw std::runtime_error("the endpoints file has no " + name);
  const std::size_t first = start + head.size();
  return json.substr(first, json.find('"', first) - first);
}

double status_mib(const std::string& status, const std::string& name) {
  const std::size_t at = status.find(name + ":");
  return at == std::string::npos ? 0 : std::atof(status.c_str() + at + name.size() + 1) / 1024;
}

/// The folder of the endpoints file. The destructor removes the file and the folder.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "starling-bench-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("cannot make " + pattern +
                               " for the server's endpoints file; set TMPDIR to a folder with free "
                               "space");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    unlink(endpoints().c_str());
    rmdir(path_.c_str());
  }
  std::string endpoints() const { return path_ + "/endpoints.json"; }

 private:
  std::string path_;
};

}  // namespace

ServerChild::ServerChild(ServerProgram program, const std::vector<std::string>& flags)
    : program_(std::move(program)) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments{
      program_.path,       "serve",           "--commands",  "tcp://127.0.0.1:*", "--results",
      "tcp://127.0.0.1:*", "--http",          "127.0.0.1:0", "--log-level",       "warning",
      "--endpoints-file",  folder.endpoints()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot start a process for the server");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(program_.path.c_str(), argv.data());
    _exit(127);
  }
  wait_until_ready(folder.endpoints());
}

void ServerChild::wait_until_ready(const std::string& endpoints_path) {
  const auto deadline = Clock::now() + patience;
  while (access(endpoints_path.c_str(), R_OK) != 0) {
    if (has_ended()) throw std::runtime_error("the server ended before it was ready");
    if (Clock::now() > deadline) throw std::runtime_error("the server was not ready within 20 s");
    std::this_thread::sleep_for(look_again);
  }
  const std::string json = text_of(endpoints_path);
  commands_ = field(json, "commands");
  results_ = field(json, "results");
  http_ = field(json, "http");
}

bool ServerChild::has_ended() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ == 0;
}

ServerChild::~ServerChild() {
  if (has_ended()) return;
  kill(pid_, SIGTERM);
  for (const auto deadline = Clock::now() + patience; Clock::now() < deadline;) {
    if (has_ended()) return;
    std::this_thread::sleep_for(look_again);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

ProcessMemory ServerChild::memory() const {
  const std::string status = text_of("/proc/" + std::to_string(pid_) + "/status");
  return {.rss_mib = status_mib(status, "VmRSS"), .hwm_mib = status_mib(status, "VmHWM")};
}

double ServerChild::cpu_seconds() const {
  const std::string stat = text_of("/proc/" + std::to_string(pid_) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user_ticks = 0;
  double system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace starling::bench
