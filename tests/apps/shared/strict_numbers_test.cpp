// SPDX-License-Identifier: Apache-2.0
// Tests that a flag of the program takes the float64 that is nearest to its text.
#include "starling/apps/shared/strict_numbers.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::apps {
namespace {

TEST(StrictNumbers, TakeTheFloat64ThatIsNearestToTheText) {
  CLI::App app;
  double value = 0;
  app.add_option("--value", value);
  make_numbers_strict(app);
  // Rounded to long double, these texts are halfway between two float64. Rounded again, they become
  // the wrong one.
  for (const auto& [text, nearest] : {std::pair{"4.359105412811211", 4.359105412811211},
                                      {"-5.347541491190134", -5.347541491190134}}) {
    app.parse(std::string("--value=") + text);
    EXPECT_EQ(value, nearest);
  }
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (int i = 0; i < 100'000; ++i) {
      const double written = std::sqrt(static_cast<double>(random.below(std::uint64_t{1} << 40)));
      char text[32];
      const auto end = std::to_chars(text, text + sizeof(text), written * 0.01).ptr;
      app.parse("--value=" + std::string(text, end));
      ASSERT_EQ(value, written * 0.01) << std::string(text, end);
    }
  }
}

}  // namespace
}  // namespace starling::apps
