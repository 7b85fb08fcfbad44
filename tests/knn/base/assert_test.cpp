// SPDX-License-Identifier: Apache-2.0
// Tests that assertions stay on in release builds, and that a failed assertion prints its sentence.
#include "starling/knn/base/assert.hpp"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(AssertDeathTest, AFailedInvariantPrintsItsSentenceAndPlaceAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(check_invariant(false, "slots 3 and 4 overlap"), "slots 3 and 4 overlap");
  EXPECT_DEATH(check_invariant(false, "anything"), "assert_test");
}

TEST(AssertDeathTest, TheFolderInWhichTheProgramWasBuiltIsNotPrinted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(check_invariant(false, "anything"),
               "^starling: tests/knn/base/assert_test.cpp:[0-9]+: ");
}

TEST(Assert, AnInvariantThatHoldsIsSilent) {
  check_invariant(true, "never printed");
}

}  // namespace
}  // namespace starling
