// SPDX-License-Identifier: Apache-2.0
// Declares Conformance, the fixture of the conformance suite. Each TEST_P(Conformance, ...) runs
// once for each engine of engines().
#pragma once

#include <gtest/gtest.h>

#include "tests/conformance/engines.hpp"
#include "tests/conformance/twin.hpp"

namespace starling::test {

class Conformance : public ::testing::TestWithParam<EngineChoice> {
 protected:
  void SetUp() override {
    if (!GetParam().why_skipped.empty()) GTEST_SKIP() << GetParam().why_skipped;
    ASSERT_EQ(GetParam().make({}, 1)->name(), GetParam().name);
  }
  const EngineChoice& engine() const { return GetParam(); }
};

}  // namespace starling::test
