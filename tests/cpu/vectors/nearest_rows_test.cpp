// SPDX-License-Identifier: Apache-2.0
// Tests NearestRows: the order of scores, ties at the gate, the merging of candidates, and the rows
// that queries skip.
#include "starling/cpu/vectors/nearest_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace starling::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void add(NearestRows& nearest, float score, VectorRow row) {
  nearest.add(0, score, row);
  nearest.make_room(0, row + 1);
}

TEST(NearestRows, KeepsTheLeastScoresWhateverTheirSign) {
  const float scores[] = {3, 0, -0x1p-149f, 0x1p-149f, -1, 1, -0x1p126f, 0x1p126f};
  NearestRows nearest;
  nearest.start(1, 8, no_row);
  const float in_order[] = {-0x1p126f, -1, -0x1p-149f, 0, 0x1p-149f, 1, 3, 0x1p126f};
  VectorRow row = 0;
  for (const float score : scores) add(nearest, score, row++);
  std::vector<VectorNeighbor> list(8);
  nearest.write(0, list);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(list[i].score, in_order[i]);
}

TEST(NearestRows, OpenTheGateForTiesOfSmallerRowsAlone) {
  NearestRows nearest;
  nearest.start(1, 2, no_row);
  EXPECT_EQ(nearest.gate(0), infinity);
  for (VectorRow row = 1000; row < 2000; ++row) add(nearest, 5, row);
  EXPECT_EQ(nearest.gate(0), 5.0f) << "later rows with this score are larger";
  nearest.go_on_from(10);
  EXPECT_GT(nearest.gate(0), 5.0f);
  add(nearest, 5, 10);
  std::vector<VectorNeighbor> list(2);
  nearest.write(0, list);
  EXPECT_EQ(list, (std::vector<VectorNeighbor>{{5, 10}, {5, 1000}}));
}

TEST(NearestRows, MergeToTheSameListInAnyOrder) {
  std::vector<VectorNeighbor> all;
  for (VectorRow row = 0; row < 4000; ++row)
    all.push_back({static_cast<float>(row * 7919 % 4001 / 3), row});
  NearestRows parts[2];
  for (NearestRows& part : parts) part.start(1, 300, no_row);
  for (const VectorNeighbor& neighbor : all)
    add(parts[neighbor.row % 2], neighbor.score, neighbor.row);
  std::sort(all.begin(), all.end());
  all.resize(300);
  for (const std::size_t first : {0u, 1u}) {
    NearestRows merged;
    merged.start(1, 300, no_row);
    merged.add_all(parts[first], 0);
    merged.add_all(parts[1 - first], 0);
    std::vector<VectorNeighbor> list(300);
    merged.write(0, list);
    EXPECT_EQ(list, all);
  }
}

TEST(NearestRows, LeaveOutEachQuerysOwnRow) {
  NearestRows nearest;
  nearest.start(2, 3, 7);
  for (std::size_t query = 0; query < 2; ++query)
    for (VectorRow row = 6; row < 10; ++row) nearest.add(query, 0, row);
  std::vector<VectorNeighbor> list(3);
  nearest.write(0, list);
  EXPECT_EQ(list, (std::vector<VectorNeighbor>{{0, 6}, {0, 8}, {0, 9}}));
  nearest.write(1, list);
  EXPECT_EQ(list, (std::vector<VectorNeighbor>{{0, 6}, {0, 7}, {0, 9}}));
}

}  // namespace
}  // namespace starling::cpu
