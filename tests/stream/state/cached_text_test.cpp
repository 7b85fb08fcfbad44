// SPDX-License-Identifier: Apache-2.0
// Tests that a cached text is made once in its period, and that the text of /metrics is cached.
#include "starling/stream/state/cached_text.hpp"

#include <chrono>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

TEST(CachedText, IsMadeOnceInItsPeriodHoweverOftenItIsAskedFor) {
  int made = 0;
  CachedText text(1'000'000, [&] { return std::to_string(++made); });
  for (std::int64_t now_us = 0; now_us < 3'000'000; now_us += 1000)
    ASSERT_EQ(text.at(now_us), std::to_string(1 + now_us / 1'000'000));
  EXPECT_EQ(made, 3);
}

TEST(CachedText, ManyScrapesOfMetricsAreOneText) {
  ServerOptions options = manual_options();
  options.metrics_period_us = 1'000'000;
  const RunningServer server(options);
  const auto since = std::chrono::steady_clock::now();
  std::set<std::string> texts;
  for (int count = 0; count < 200; ++count)
    texts.insert(http_get(server.endpoints().http, "/metrics"));
  const auto passed = std::chrono::steady_clock::now() - since;
  EXPECT_LE(texts.size(), 2u + static_cast<std::size_t>(passed / std::chrono::seconds(1)));
}

}  // namespace
}  // namespace starling::stream
