// SPDX-License-Identifier: Apache-2.0
// Declares Vectors, the fixture of the suite. Each TEST_P(Vectors, ...) runs once for each searcher
// of searchers().
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "tests/vectors/searchers.hpp"

namespace starling::test {

class Vectors : public ::testing::TestWithParam<SearcherChoice> {
 protected:
  void SetUp() override {
    if (!GetParam().why_skipped.empty()) GTEST_SKIP() << GetParam().why_skipped;
    searcher_ = GetParam().make();
    ASSERT_EQ(searcher_->name(), GetParam().name);
  }
  VectorSearcher& searcher() { return *searcher_; }

 private:
  std::unique_ptr<VectorSearcher> searcher_;
};

}  // namespace starling::test
