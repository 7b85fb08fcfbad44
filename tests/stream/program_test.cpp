// The real binary: readiness, settings by flag, environment and file, exit statuses, SIGTERM.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stream/running_server.hpp"

namespace starling::stream {
namespace {

/// `starling` with its standard error to be read; killed by its own pid if a test gives up on it.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    error_fd_ = pipe_ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    arguments.insert(arguments.begin(), STARLING_PROGRAM);
    // The program is built as its test is; a sanitizer is to treat both alike.
    for (const std::string name : {"TSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"})
      if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
    auto argv = pointers(arguments);
    auto envp = pointers(environment);
    const int failed =
        posix_spawn(&pid_, STARLING_PROGRAM, &actions, nullptr, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (failed != 0) throw std::runtime_error("cannot start " STARLING_PROGRAM);
  }
  ~Program() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    exit_status();
    close(error_fd_);
  }

  /// Reads standard error until `text` has come; false if it ended before.
  bool says(std::string_view text) {
    while (said_.find(text) == std::string::npos) {
      char buffer[4096];
      const ssize_t count = read(error_fd_, buffer, sizeof(buffer));
      if (count <= 0) return false;
      said_.append(buffer, static_cast<std::size_t>(count));
    }
    return true;
  }

  void send_signal(int number) const { kill(pid_, number); }

  /// Waits for its end; -1 if a signal was the cause.
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

std::string temporary_path(const std::string& name) {
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

  /// Field `name` of the endpoints file.
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

TEST_F(ProgramTest, SigtermFinishesAndExitsZero) {
  Program program(serve({"--tick", "1ms"}));
  ASSERT_TRUE(program.says("ready"));
  {
    auto producer = client();
    Fixes fixes;
    fixes.add(1, 1, 0, 0);
    EXPECT_EQ(producer.update(fixes.batch()).value().accepted, 1u);
  }
  EXPECT_TRUE(http_get(endpoint("http"), "/healthz").starts_with("HTTP/1.1 200"));
  program.send_signal(SIGTERM);
  EXPECT_TRUE(program.says("stopped"));
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

TEST_F(ProgramTest, SigintExitsZeroToo) {
  Program program(serve({"--tick", "manual"}));
  ASSERT_TRUE(program.says("ready"));
  program.send_signal(SIGINT);
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ProgramTest, FlagsWinOverEnvironmentAndThatOverTheFile) {
  const std::string config = temporary_path("starling.toml");
  std::ofstream(config) << "[serve]\nspace = \"planar3\"\nresolution = 0.5\ntick = \"manual\"\n"
                        << "origin = [1.0, 2.0, 3.0]\n";
  const auto terms = [&](std::vector<std::string> flags, std::vector<std::string> environment) {
    flags.insert(flags.end(), {"--config", config});
    Program program(serve(flags), environment);
    EXPECT_TRUE(program.says("ready")) << program.said();
    const protocol::HelloReply reply = client().server();
    program.send_signal(SIGTERM);
    EXPECT_EQ(program.exit_status(), 0);
    return reply;
  };
  const auto by_file = terms({}, {});
  EXPECT_EQ(by_file.space.space, Space::planar3);
  EXPECT_EQ(by_file.space.resolution_m, 0.5);
  EXPECT_EQ(by_file.space.origin, (Position{1, 2, 3}));
  EXPECT_TRUE(by_file.manual_ticks);
  const auto by_environment = terms(
      {},
      {"STARLING_SERVE_SPACE=planar2", "STARLING_SERVE_RESOLUTION=0.25", "STARLING_SERVE_TICK=1s"});
  EXPECT_EQ(by_environment.space.space, Space::planar2);
  EXPECT_EQ(by_environment.space.resolution_m, 0.25);
  EXPECT_FALSE(by_environment.manual_ticks);
  const auto by_flag = terms({"--resolution", "0.125"}, {"STARLING_SERVE_RESOLUTION=0.25"});
  EXPECT_EQ(by_flag.space.resolution_m, 0.125);
  unlink(config.c_str());
}

TEST_F(ProgramTest, TheEnvironmentOfOneCommandDoesNotReachAnother) {
  const std::string trace = temporary_path("trace.csv");
  std::ofstream(trace) << "id,t,x,y\n1,1,0,0\n2,2,1,0\n";
  const std::vector<std::string> replay{"replay", trace, "--columns", "id=id,time=t,x=x,y=y"};
  Program unharmed(replay, {"STARLING_SERVE_TICK=manual"});
  EXPECT_TRUE(unharmed.says("2 replayed")) << unharmed.said();
  EXPECT_EQ(unharmed.exit_status(), 0);
  Program told(replay, {"STARLING_REPLAY_TICK=manual"});
  EXPECT_TRUE(told.says("--tick: 'manual'")) << told.said();
  EXPECT_EQ(told.exit_status(), 2);
  unlink(trace.c_str());
}

TEST_F(ProgramTest, AReplayIntoNoServerSaysSoWhenItsTimeToConnectIsOver) {
  const std::string trace = temporary_path("trace.csv");
  std::ofstream(trace) << "id,t,x,y\n1,1,0,0\n";
  Program program({"replay", trace, "--columns", "id=id,time=t,x=x,y=y", "--connect",
                   "tcp://127.0.0.1:1", "--connect-timeout", "70ms"});
  EXPECT_TRUE(program.says("tcp://127.0.0.1:1 did not answer within 70 ms")) << program.said();
  EXPECT_TRUE(program.says("starling serve")) << program.said();
  EXPECT_EQ(program.exit_status(), 1);
  unlink(trace.c_str());
}

TEST_F(ProgramTest, WrongUsageExitsTwoAndNamesTheFlag) {
  Program program(serve({"--tick", "often"}));
  EXPECT_TRUE(program.says("--tick")) << program.said();
  EXPECT_EQ(program.exit_status(), 2);
}

TEST_F(ProgramTest, WhatCannotBeServedExitsOneAndSaysWhy) {
  RunningServer other;
  auto arguments = serve({});
  arguments[6] = other.endpoints().http;
  Program program(arguments);
  EXPECT_TRUE(program.says("cannot listen on"));
  EXPECT_EQ(program.exit_status(), 1);
}

}  // namespace
}  // namespace starling::stream
