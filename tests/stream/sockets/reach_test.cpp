// SPDX-License-Identifier: Apache-2.0
// Tests which endpoints count as reachable by other machines, and that an insecure server warns
// again and again.
#include "starling/stream/sockets/reach.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

/// Counts the warnings about endpoints that other machines reach.
class WarningCounter final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::atomic<int> warnings{0};

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (message.level == spdlog::level::warn && text.starts_with("insecure: ")) ++warnings;
  }
  void flush_() override {}
};

TEST(ReachTest, LoopbackAddressesAndLocalTransportsStayOnTheMachine) {
  for (const auto* endpoint :
       {"tcp://127.0.0.1:7411", "tcp://127.0.0.1:*", "tcp://127.9.8.7:1", "tcp://127.1:1",
        "tcp://2130706433:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp://[::ffff:127.0.0.1]:1",
        "ipc:///tmp/starling", "ipc://@starling", "inproc://starling"})
    EXPECT_EQ(reach_of(endpoint), Reach::machine) << endpoint;
}

TEST(ReachTest, EveryOtherAddressIsOnTheNetwork) {
  for (const auto* endpoint :
       {"tcp://*:7411", "tcp://0.0.0.0:7411", "tcp://0:1", "tcp://128.0.0.1:1", "tcp://10.0.0.1:1",
        "tcp://[::]:1", "tcp://[fe80::1]:1", "tcp://[::ffff:10.0.0.1]:1"})
    EXPECT_EQ(reach_of(endpoint), Reach::network) << endpoint;
}

TEST(ReachTest, WhatIsNoEndpointIsNotJudged) {
  for (const auto* endpoint : {"", "127.0.0.1:7411", "tcp://127.0.0.1", "tcp://example.com:1",
                               "udp://127.0.0.1:1", "tcp://no such interface:1"})
    EXPECT_EQ(reach_of(endpoint), std::nullopt) << endpoint;
}

TEST(ReachTest, AnInterfaceIsJudgedByItsAddresses) {
  ifaddrs* first = nullptr;
  ASSERT_EQ(getifaddrs(&first), 0);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  bool has_loopback = false;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    const std::string endpoint = "tcp://" + std::string(each->ifa_name) + ":1";
    if (ntohl(address->sin_addr.s_addr) == INADDR_LOOPBACK) {
      EXPECT_EQ(reach_of(endpoint), Reach::machine) << endpoint;
      has_loopback = true;
    } else if (ntohl(address->sin_addr.s_addr) >> 24 != 127) {
      EXPECT_EQ(reach_of(endpoint), Reach::network) << endpoint;
    }
  }
  EXPECT_TRUE(has_loopback);
}

TEST(ReachTest, AnInsecureServerWarnsAgainAndAgain) {
  const auto sink = std::make_shared<WarningCounter>();
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("reach_test", sink));
  {
    ServerOptions options = manual_options();
    options.http_host = "0.0.0.0";
    options.insecure = true;
    options.insecure_warning_us = 1000;
    const RunningServer server(options);  // sets the log's level
    spdlog::set_level(spdlog::level::warn);
    EXPECT_TRUE(happens([&] { return sink->warnings >= 3; }));
  }
  spdlog::set_default_logger(before);
}

}  // namespace
}  // namespace starling::stream
