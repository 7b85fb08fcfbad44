// SPDX-License-Identifier: Apache-2.0
// Tests that a sparse vector has the elements that were written, and uses memory for few other
// elements.
#include "starling/knn/base/sparse_vector.hpp"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(SparseVectorTest, ElementsKeepTheirPlacesAndValues) {
  SparseVector<int> values;
  EXPECT_EQ(values.find(0), nullptr);
  int* const first = &values.at(0);
  *first = 7;
  values.at(5'000'000) = 8;
  EXPECT_EQ(&values.at(0), first);
  EXPECT_EQ(*values.find(0), 7);
  EXPECT_EQ(*values.find(5'000'000), 8);
  EXPECT_EQ(*values.find(1), 0) << "its neighbour was written";
  EXPECT_EQ(values.find(SparseVector<int>::segment_size), nullptr);
  EXPECT_EQ(values.find(6'000'000), nullptr);
}

TEST(SparseVectorTest, TakesMemoryForTheSegmentsOfWrittenElements) {
  SparseVector<int> values;
  EXPECT_EQ(values.bytes_used(), 0u);
  for (const std::size_t index : {3u, 4u, 5'000'000u}) values.at(index) = 1;
  EXPECT_EQ(values.bytes_used(), 2 * SparseVector<int>::segment_size * sizeof(int));
}

}  // namespace
}  // namespace starling
