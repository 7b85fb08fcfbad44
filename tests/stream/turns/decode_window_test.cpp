// SPDX-License-Identifier: Apache-2.0
// Tests that as many requests are decoded ahead as are applied within a few milliseconds.
#include "starling/stream/turns/decode_window.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

/// Applies `count` requests of `bytes`, one after the other, each in `us`.
DecodeWindow after(int count, std::size_t bytes, std::int64_t us) {
  DecodeWindow window;
  std::int64_t now_us = 0;
  window.began(true, now_us);
  for (int i = 0; i < count; ++i) window.ended(bytes, now_us += us);
  return window;
}

TEST(DecodeWindow, AllowsTheRequestsOfFiveMilliseconds) {
  DecodeWindow window = after(10'000, 1000, 10);
  EXPECT_TRUE(window.has_room(490, 0));
  EXPECT_FALSE(window.has_room(510, 0));
  EXPECT_FALSE(window.has_room(260, 0)) << "until half of it is empty";
  EXPECT_TRUE(window.has_room(240, 0));
  EXPECT_TRUE(window.has_room(0, 490'000));
  EXPECT_FALSE(window.has_room(0, 510'000));
}

TEST(DecodeWindow, ShrinksWhenRequestsTakeLonger) {
  DecodeWindow window = after(10'000, 1000, 10);
  std::int64_t now_us = 1'000'000;
  window.began(true, now_us);
  for (int count = 0; count < 100; ++count) window.ended(1000, now_us += 1000);
  EXPECT_FALSE(window.has_room(6, 0));
}

TEST(DecodeWindow, DoesNotCountTheTimeWithoutRequests) {
  DecodeWindow window = after(10'000, 1000, 10);
  std::int64_t now_us = 1'000'000;
  for (int count = 0; count < 10'000; ++count) {
    window.began(true, now_us += 1'000'000);
    window.ended(1000, now_us += 10);
  }
  EXPECT_TRUE(window.has_room(490, 490'000));
}

}  // namespace
}  // namespace starling::stream
