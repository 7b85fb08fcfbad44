// SPDX-License-Identifier: Apache-2.0
// Tests how sentences write numbers of bytes: the unit, the decimals and the rounding.
#include "starling/knn/base/bytes_text.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(BytesText, HasTheLargestUnitAndATenth) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(268'435'456), "256 MiB");
  EXPECT_EQ(bytes_text(3ULL << 30), "3 GiB");
  EXPECT_EQ(bytes_text(5ULL << 40), "5 TiB");
}

TEST(BytesText, NeverRoundsToAThousandAndTwentyFourOfAUnit) {
  EXPECT_EQ(bytes_text((1ULL << 20) - 1), "1 MiB");
  EXPECT_EQ(bytes_text((1ULL << 20) - 52), "1023.9 KiB");
  EXPECT_EQ(bytes_text((1ULL << 30) - 1), "1 GiB");
}

TEST(BytesText, TakesTheLargestNumber) {
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16384 PiB");
}

}  // namespace
}  // namespace starling
