// SPDX-License-Identifier: Apache-2.0
// Declares VectorTicks, the fixture of the suite. Each TEST_P(VectorTicks, ...) runs once for each
// store of stores().
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "tests/vector_ticks/stores.hpp"

namespace starling::test {

class VectorTicks : public ::testing::TestWithParam<StoreChoice> {
 protected:
  void SetUp() override {
    if (!GetParam().why_skipped.empty()) GTEST_SKIP() << GetParam().why_skipped;
    ASSERT_EQ(engine().make({.space = Space::vector, .dimension = 2}, 1)->name(), GetParam().name);
  }
  EngineChoice engine() const { return engine_on(GetParam(), faults_); }
  StoreFaults& faults() { return *faults_; }

 private:
  std::shared_ptr<StoreFaults> faults_ = std::make_shared<StoreFaults>();
};

}  // namespace starling::test
