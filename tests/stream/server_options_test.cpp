// SPDX-License-Identifier: Apache-2.0
// Tests that a server with invalid options does not start, and that the error says what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

constexpr const char* endpoint_form =
    ": write tcp://HOST:PORT, where HOST is a numeric address (127.0.0.1), localhost or * (every "
    "address of this machine), and PORT is a number or * (any free port)";
constexpr const char* http_host_form =
    ": the host must be a numeric address (127.0.0.1, or 0.0.0.0 for every address of this "
    "machine) "
    "or localhost";

constexpr const char* beyond_loopback =
    ": other machines could reach it, and it has neither authentication nor encryption; make keys "
    "with starling keygen and give the server --keys (for HTTP, --tls-cert and --tls-key too), "
    "use 127.0.0.1, or add --insecure if you trust every machine on the network";

template <class Error>
void expect_refused(const ServerOptions& options, const std::string& sentence) {
  EXPECT_THAT([&] { Server(options, make_engine()); }, testing::ThrowsMessage<Error>(sentence));
}

TEST(ServerOptions, ListsLongerThanTheEnginesAreRefused) {
  ServerOptions options = manual_options();
  options.limits.k_max = 5000;
  expect_refused<std::invalid_argument>(
      options, "k-max: the engine's lists have at most 1024 neighbours, not 5000");
}

TEST(ServerOptions, AnEndpointThatIsNotWrittenAsOneIsRefusedWithItsForm) {
  for (const std::string endpoint : {"127.0.0.1:7411", "tcp://example.com:7411", "tcp://127.0.0.1",
                                     "http://127.0.0.1:7411", "udp://127.0.0.1:7411", ""}) {
    ServerOptions options = manual_options();
    options.commands_endpoint = endpoint;
    expect_refused<std::runtime_error>(options, "cannot listen on " + endpoint + endpoint_form);
    options = manual_options();
    options.results_endpoint = endpoint;
    expect_refused<std::runtime_error>(options, "cannot listen on " + endpoint + endpoint_form);
  }
}

TEST(ServerOptions, AHostOfHttpIsANumberOrLocalhost) {
  ServerOptions options = manual_options();
  options.http_host = "example.com";
  expect_refused<std::runtime_error>(
      options, std::string("cannot listen on example.com:0") + http_host_form);
}

TEST(ServerOptions, AnEndpointThatOtherMachinesReachIsRefused) {
  for (const std::string endpoint :
       {"tcp://*:*", "tcp://0.0.0.0:*", "tcp://0:*", "tcp://[::]:*", "tcp://192.0.2.1:*"}) {
    ServerOptions options = manual_options();
    options.commands_endpoint = endpoint;
    expect_refused<std::runtime_error>(options, "cannot listen on " + endpoint + beyond_loopback);
    options = manual_options();
    options.results_endpoint = endpoint;
    expect_refused<std::runtime_error>(options, "cannot listen on " + endpoint + beyond_loopback);
  }
  for (const std::string host : {"0.0.0.0", "::", "192.0.2.1"}) {
    ServerOptions options = manual_options();
    options.http_host = host;
    expect_refused<std::runtime_error>(options,
                                       "cannot listen on " + host + ":0" + beyond_loopback);
  }
}

TEST(ServerOptions, LocalhostIsAHostOfEveryEndpoint) {
  ServerOptions options = manual_options();
  options.commands_endpoint = "tcp://localhost:*";
  options.results_endpoint = "tcp://localhost:*";
  options.http_host = "localhost";
  const RunningServer server(options);
  EXPECT_TRUE(server.endpoints().commands.starts_with("tcp://127.0.0.1:"));
  EXPECT_TRUE(server.endpoints().results.starts_with("tcp://127.0.0.1:"));
  EXPECT_TRUE(server.endpoints().http.starts_with("127.0.0.1:"));
}

TEST(ServerOptions, AnEndpointThatIsTakenIsNamedWithWhatTheSystemSays) {
  const RunningServer other;
  ServerOptions options = manual_options();
  options.commands_endpoint = other.endpoints().commands;
  expect_refused<std::runtime_error>(
      options, "cannot listen on " + options.commands_endpoint + ": Address already in use");
  options = manual_options();
  const std::string& http = other.endpoints().http;
  options.http_port = static_cast<std::uint16_t>(std::stoi(http.substr(http.rfind(':') + 1)));
  expect_refused<std::runtime_error>(options,
                                     "cannot listen on " + http + ": Address already in use");
}

TEST(ServerOptions, AllFaultsAreFoundWithoutBindingAnything) {
  const EngineLimits engine = make_engine()->limits();
  ServerOptions options = manual_options();
  EXPECT_THAT(faults_of(options, engine), testing::IsEmpty());
  options.commands_endpoint = "tcp://*:7411";
  EXPECT_THAT(faults_of(options, engine),
              testing::ElementsAre(testing::StartsWith(
                  "cannot listen on tcp://*:7411: other machines could reach it")));
  options.insecure = true;
  for (const std::string endpoint : {"tcp://localhost:*", "tcp://*:7411", "tcp://[::1]:7411",
                                     "tcp://lo:1", "ipc:///tmp/starling"}) {
    options.commands_endpoint = endpoint;
    EXPECT_THAT(faults_of(options, engine), testing::IsEmpty()) << endpoint;
  }
  for (const std::string endpoint : {"127.0.0.1:7411", "tcp://example.com:7411", "tcp://127.0.0.1",
                                     "tcp://127.0.0.1:70000", "udp://127.0.0.1:7411", ""}) {
    options.commands_endpoint = endpoint;
    EXPECT_THAT(faults_of(options, engine),
                testing::ElementsAre("cannot listen on " + endpoint + endpoint_form));
  }
  options.commands_endpoint = options.results_endpoint = "tcp://127.0.0.1:7413";
  options.http_host = "127.0.0.1";
  options.http_port = 7413;
  options.limits.k_max = 5000;
  EXPECT_THAT(
      faults_of(options, engine),
      testing::ElementsAre("k-max: the engine's lists have at most 1024 neighbours, not 5000",
                           "commands and results cannot both listen on tcp://127.0.0.1:7413",
                           "http cannot listen on tcp://127.0.0.1:7413, as another endpoint does",
                           "http cannot listen on tcp://127.0.0.1:7413, as another endpoint does"));
  options = manual_options();
  options.journal.folder = "/nowhere/log";
  options.journal.make_engine = [](const SpaceOptions&) { return make_engine(); };
  EXPECT_THAT(faults_of(options, engine), testing::IsEmpty());
  options.processor.queries.neighbors_max = engine.neighbors_max + 1;
  EXPECT_THAT(faults_of(options, engine),
              testing::ElementsAre(testing::StartsWith("neighbors-max: the engine that makes the "
                                                       "log's snapshots holds at most ")));
  options = manual_options();
  options.page_folder = "/nowhere/page";
  EXPECT_THAT(faults_of(options, engine),
              testing::ElementsAre(testing::StartsWith("--page: cannot read /nowhere/page: ")));
}

}  // namespace
}  // namespace starling::stream
