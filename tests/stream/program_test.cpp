// SPDX-License-Identifier: Apache-2.0
// Tests the `starling` binary: when it is ready, settings by flag, environment and file, its exit
// statuses, and SIGTERM.
#include "tests/stream/support/program.hpp"

#include <filesystem>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "starling/knn/base/descriptor.hpp"

namespace starling::stream {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

/// Returns a port that nothing listens on.
int free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof(address);
  EXPECT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  EXPECT_EQ(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  return ntohs(address.sin_port);
}

bool accepts(int port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
         0;
}

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

TEST_F(ProgramTest, SigtermExitsZeroFromTheMomentThatThePortsAreOpen) {
  for (int run = 0; run < 10; ++run) {
    const int port = free_port();
    Program program({"serve", "--commands", "tcp://127.0.0.1:" + std::to_string(port), "--results",
                     "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--threads", "1"});
    while (!accepts(port)) std::this_thread::yield();
    program.send_signal(SIGTERM);
    ASSERT_EQ(program.exit_status(), 0) << "run " << run << ": " << program.said();
  }
}

TEST_F(ProgramTest, SigtermExitsZeroWhileALogIsRead) {
  const std::string folder = temporary_path("read_log");
  {
    Program program(serve({"--journal", folder, "--tick", "manual"}));
    ASSERT_TRUE(program.says("ready"));
    auto producer = client();
    for (std::uint64_t batch = 0; batch < 100; ++batch) {
      Fixes fixes;
      for (std::uint64_t id = 1; id <= 1000; ++id)
        fixes.add(id, static_cast<std::int64_t>(batch + 1), 0, 0);
      ASSERT_EQ(producer.update(fixes.batch()).value().accepted, 1000u);
    }
  }
  const int port = free_port();
  Program program({"serve", "--commands", "tcp://127.0.0.1:" + std::to_string(port), "--results",
                   "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--threads", "1", "--journal",
                   folder, "--tick", "manual"});
  while (!accepts(port)) std::this_thread::yield();
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
  std::filesystem::remove_all(folder);
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

TEST_F(ProgramTest, AKMaxBeyondEveryEnginesIsWrongUsageAndTheSentenceNamesTheLimit) {
  Program program(serve({"--k-max", "1025"}));
  EXPECT_TRUE(program.says("--k-max: Value 1025 not in range 1 to 1024")) << program.said();
  EXPECT_EQ(program.exit_status(), 2);
}

TEST_F(ProgramTest, AFileOfFlagsThatDoNotExistIsWrongUsage) {
  const std::string config = temporary_path("starling.toml");
  const auto expect_refused = [&](const std::string& text, const std::string& sentence) {
    std::ofstream(config, std::ios::binary) << text;
    Program program({"info", "--config", config});
    EXPECT_EQ(program.exit_status(), 2);
    EXPECT_TRUE(program.says("--config: " + config + ":" + sentence)) << program.said();
  };
  expect_refused("[knn]\nbogus = 1\n", "2: [knn] has the unknown key 'bogus'");
  expect_refused("[simulate]\ndriverz=7\n", "2: [simulate] has the unknown key 'driverz'");
  expect_refused("[bogus]\nk = 1\n", "1: there is no command 'bogus'");
  expect_refused("tick = 1\n", "1: the key 'tick' stands under no command");
  expect_refused(std::string("\x7f\x45LF\0\x1b[2J = \xff", 13), "");
  std::ofstream(config) << "[knn]\nk = 3\n[serve]\ntick = \"manual\"\n[simulate]\ndrivers = 7\n";
  Program other({"info", "--config", config});
  EXPECT_EQ(other.exit_status(), 0) << other.said();
  unlink(config.c_str());
}

TEST_F(ProgramTest, ASpaceOfVectorsComesFromFlagsEnvironmentOrFile) {
  const std::string config = temporary_path("starling.toml");
  std::ofstream(config) << "[serve]\nspace = \"vector:7\"\nmetric = \"pearson\"\n";
  const auto terms = [&](std::vector<std::string> flags, std::vector<std::string> environment) {
    Program program(serve(flags), environment);
    EXPECT_TRUE(program.says("commands tcp")) << program.said();
    EXPECT_NE(program.said().find(", vector:"), std::string::npos) << program.said();
    const SpaceOptions space = client().server().space;
    program.send_signal(SIGTERM);
    EXPECT_EQ(program.exit_status(), 0);
    return space;
  };
  const auto expect_terms = [](const SpaceOptions& space, std::uint32_t dimension, Metric metric) {
    EXPECT_EQ(space.space, Space::vector);
    EXPECT_EQ(space.dimension, dimension);
    EXPECT_EQ(space.metric, metric);
  };
  expect_terms(terms({"--config", config}, {}), 7, Metric::pearson);
  expect_terms(terms({"--space", "vector:128", "--metric", "cosine"}, {}), 128, Metric::cosine);
  expect_terms(terms({}, {"STARLING_SERVE_SPACE=vector:4096"}), 4096, Metric::l2);
  unlink(config.c_str());
}

TEST_F(ProgramTest, FlagsThatDoNotGoWithTheSpaceAreWrongUsage) {
  const auto expect_refused = [&](const std::vector<std::string>& flags,
                                  const std::string& sentence) {
    Program program(serve(flags));
    EXPECT_TRUE(program.says(sentence)) << program.said();
    EXPECT_EQ(program.exit_status(), 2);
  };
  expect_refused({"--metric", "cosine"},
                 "--metric: only vectors have one; add --space vector:DIMENSION");
  expect_refused({"--space", "vector:3", "--resolution", "0.5"}, "--resolution: vectors have none");
  expect_refused({"--space", "vector:3", "--origin", "1,2"}, "--origin: vectors have none");
  for (const std::string space : {"vector", "vector:", "vector:0", "vector:4097", "vector:-1",
                                  "vector:1e3", "vector:99999999999"})
    expect_refused({"--space", space},
                   "--space: \"" + space + "\" has no dimension of 1 to 4096; write vector:128");
  expect_refused({"--space", "vectors:3"},
                 "--space: \"vectors:3\" is neither planar2, planar3, wgs84 nor vector:DIMENSION");
}

TEST_F(ProgramTest, VectorsOnAnEngineThatHasNoneAreRefused) {
  Program program(serve({"--space", "vector:3", "--engine", "cuda"}));
  EXPECT_TRUE(program.says("--engine cuda: ")) << program.said();
  EXPECT_EQ(program.exit_status(), 1);
}

TEST_F(ProgramTest, AReplayIntoAServerOfVectorsIsRefused) {
  const std::string trace = temporary_path("trace.csv");
  std::ofstream(trace) << "id,t,x,y\n1,1,0,0\n";
  Program server(serve({"--space", "vector:2", "--tick", "manual"}));
  ASSERT_TRUE(server.says("commands tcp"));
  Program program({"replay", trace, "--columns", "id=id,time=t,x=x,y=y", "--connect",
                   endpoint("commands"), "--results", endpoint("results")});
  EXPECT_TRUE(program.says("the server's space is vector, the trace's planar2")) << program.said();
  EXPECT_EQ(program.exit_status(), 2);
  unlink(trace.c_str());
}

TEST_F(ProgramTest, ListeningBeyondLoopbackNeedsInsecureWhereverTheEndpointIsSet) {
  const std::string config = temporary_path("starling.toml");
  std::ofstream(config) << "[serve]\ncommands = \"tcp://*:*\"\n";
  const auto expect_refused = [](const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
    Program program(arguments, environment);
    ASSERT_TRUE(program.ends());
    EXPECT_EQ(program.exit_status(), 1);
    EXPECT_TRUE(program.says("other machines could reach it")) << program.said();
    EXPECT_TRUE(program.says("--insecure")) << program.said();
  };
  auto by_flag = serve({});
  by_flag[6] = "0.0.0.0:0";  // the value of --http
  expect_refused(by_flag, {});
  auto without_commands = serve({"--tick", "manual"});
  without_commands.erase(without_commands.begin() + 1, without_commands.begin() + 3);
  auto by_config = without_commands;
  by_config.insert(by_config.end(), {"--config", config});
  expect_refused(by_config, {});
  expect_refused(without_commands, {"STARLING_SERVE_COMMANDS=tcp://0.0.0.0:*"});

  const auto expect_warning = [&](const std::string& file,
                                  const std::vector<std::string>& environment) {
    std::ofstream(config) << "[serve]\ncommands = \"tcp://*:*\"\n" << file;
    Program program(by_config, environment);
    EXPECT_TRUE(program.says("insecure: other machines can reach commands tcp://0.0.0.0:"));
    program.send_signal(SIGTERM);
    EXPECT_TRUE(program.says("stopped")) << program.said();
    EXPECT_EQ(program.exit_status(), 0);
    const std::size_t warning = program.said().find("insecure: ");
    EXPECT_EQ(program.said().find("results tcp", warning), std::string::npos)
        << "results are on loopback: " << program.said();
  };
  expect_warning("insecure = true\n", {});
  expect_warning("", {"STARLING_SERVE_INSECURE=true"});
  unlink(config.c_str());
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
