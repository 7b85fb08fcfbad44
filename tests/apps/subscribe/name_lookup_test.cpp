// SPDX-License-Identifier: Apache-2.0
// Tests that NameLookup shows names as soon as the server has answered, and that it waits only once
// for a server that does not answer.
#include "starling/apps/subscribe/name_lookup.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/protocol/client/fake_server.hpp"

namespace starling::apps {
namespace {

using protocol::DecodedRequest;
using protocol::Frame;
using protocol::test::FakeServer;

const std::uint64_t ids[] = {5};

Frame names_reply(const DecodedRequest& request) {
  const auto& asked = std::get<protocol::GetNames>(request.body).object_ids;
  const std::vector<std::string_view> texts(asked.size(), "tram");
  return protocol::encode_names({request.head.request_id, 0}, {1, 1, texts});
}

bool is_hello(const DecodedRequest& request) {
  return std::holds_alternative<protocol::Hello>(request.body);
}

std::string shown(NameLookup& lookup) {
  std::string text;
  lookup.with_names(ids, [&] {
    sim::NameTable::NumberText number;
    text = lookup.names().text_of(5, number);
  });
  return text;
}

bool comes_to_show(NameLookup& lookup, std::string_view text) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (shown(lookup) == text) return true;
    std::this_thread::yield();
  }
  return false;
}

class NameLookupTest : public testing::Test {
 protected:
  zmq::context_t context;
};

TEST_F(NameLookupTest, ANameIsShownWhereTheServerTellsIt) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    return is_hello(request) ? protocol::test::hello_reply(7, 1) : names_reply(request);
  });
  NameLookup lookup({.commands = server.endpoint()});
  EXPECT_TRUE(comes_to_show(lookup, "tram"));
}

TEST_F(NameLookupTest, ASilentServerIsWaitedForOnceAndItsNamesShownWhenItSpeaks) {
  std::atomic<bool> speaks = false;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (!speaks) return std::nullopt;
    return is_hello(request) ? protocol::test::hello_reply(7, 1) : names_reply(request);
  });
  NameLookup lookup({.commands = server.endpoint(), .timeout_ms = 100, .reconnect_after_ms = 50});
  EXPECT_EQ(shown(lookup), "5");
  const auto start = std::chrono::steady_clock::now();
  for (int tick = 0; tick < 1000; ++tick) EXPECT_EQ(shown(lookup), "5");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 100 * NameLookup::wait_max)
      << "each of them waited";
  speaks = true;
  EXPECT_TRUE(comes_to_show(lookup, "tram"));
}

TEST_F(NameLookupTest, AnOlderServerIsDoneWithout) {
  protocol::Limits limits;
  limits.names_asked_max = 0;
  std::atomic<int> asked = 0;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (!is_hello(request)) ++asked;
    return protocol::test::hello_reply(7, 1, limits);
  });
  NameLookup lookup({.commands = server.endpoint()});
  for (int tick = 0; tick < 100; ++tick) EXPECT_EQ(shown(lookup), "5");
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace starling::apps
