// SPDX-License-Identifier: Apache-2.0
// Tests keep_rows. If failed ticks leave several rows of a slot, keep_rows keeps only the newest
// row, with its components and its targets.
#include "starling/knn/engine/kept_rows.hpp"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Returns staging with an object row and a query row for each slot. Each row has two components:
/// its slot and `mark`.
Staging half_of(std::initializer_list<Slot> slots, std::uint32_t mark) {
  Staging half;
  for (const Slot slot : slots) {
    half.objects.push_back({slot, 1, mark, {}, 0});
    half.queries.emplace_back(QueryRow{}).slot = slot;
    half.queries.back().k = mark;
    for (auto* const components : {&half.object_components, &half.query_components}) {
      components->push_back(static_cast<float>(slot));
      components->push_back(static_cast<float>(mark));
    }
    half.object_targets.push_back({mark, mark + 0.5});
  }
  return half;
}

/// Returns the marks that the targets were made from.
std::vector<Label> marks_of(const StagedVector<Targets>& targets) {
  std::vector<Label> marks;
  for (const auto& [label, value] : targets) {
    marks.push_back(label);
    EXPECT_EQ(value, static_cast<double>(label) + 0.5);
  }
  return marks;
}

TEST(KeptRows, OfASlotTheNewestStaysWithItsComponentsAndItsTargets) {
  Staging kept;
  Staging first = half_of({5, 1, 3}, 10);
  keep_rows(first, kept);
  Staging second = half_of({3, 7, 5}, 20);
  keep_rows(second, kept);
  EXPECT_TRUE(second.is_empty());
  EXPECT_THAT(second.object_components, IsEmpty());
  ASSERT_EQ(kept.objects.size(), 4u);
  EXPECT_THAT(kept.object_components, ElementsAre(5, 20, 1, 10, 3, 20, 7, 20));
  EXPECT_THAT(kept.query_components, ElementsAre(5, 20, 1, 10, 3, 20, 7, 20));
  EXPECT_THAT(marks_of(kept.object_targets), ElementsAre(20, 10, 20, 20));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<float>(kept.objects[i].slot), kept.object_components[2 * i]);
    EXPECT_EQ(static_cast<float>(kept.objects[i].tags), kept.object_components[2 * i + 1]);
    EXPECT_EQ(static_cast<float>(kept.queries[i].k), kept.query_components[2 * i + 1]);
  }
}

TEST(KeptRows, OfTheRowsOfASlotInSeveralPartsTheLastStays) {
  for (const bool has_kept : {false, true}) {
    Staging kept;
    if (has_kept) kept.objects.push_back({7, 1, 5, {}, 0});
    Staging half;
    for (const Slot slot : {5u, 1u, 7u}) half.objects.push_back({slot, 1, 10, {}, 0});
    half.end_part();
    for (const Slot slot : {7u, 2u}) half.objects.push_back({slot, 1, 20, {}, 0});
    half.end_part();
    for (const Slot slot : {1u, 7u}) half.objects.push_back({slot, 1, 30, {}, 0});
    keep_rows(half, kept);
    EXPECT_EQ(half.taken_rows, 0u);
    EXPECT_THAT(kept.part_ends, IsEmpty());
    std::map<Slot, std::uint32_t> marks;
    for (const ObjectRow& row : kept.objects) EXPECT_TRUE(marks.emplace(row.slot, row.tags).second);
    EXPECT_EQ(marks, (std::map<Slot, std::uint32_t>{{1, 30}, {2, 20}, {5, 10}, {7, 30}}));
  }
}

TEST(KeptRows, OfTheRowsOfASlotInSeveralPartsTheLastStaysWithItsComponents) {
  const auto half_with_parts = [] {
    Staging half = half_of({5, 1, 7}, 10);
    half.end_part();
    Staging later = half_of({7, 2, 5}, 20);
    for (std::size_t i = 0; i < later.objects.size(); ++i) {
      half.objects.push_back(later.objects[i]);
      half.object_targets.push_back(later.object_targets[i]);
      for (const std::size_t component : {2 * i, 2 * i + 1})
        half.object_components.push_back(later.object_components[component]);
    }
    return half;
  };
  Staging half = half_with_parts();
  Staging kept;
  keep_rows(half, kept);
  EXPECT_THAT(kept.object_components, ElementsAre(1, 10, 7, 20, 2, 20, 5, 20));
  EXPECT_THAT(marks_of(kept.object_targets), ElementsAre(10, 20, 20, 20));
  Staging kept_before = half_of({2, 3}, 5);
  half = half_with_parts();
  keep_rows(half, kept_before);
  EXPECT_THAT(kept_before.object_components, ElementsAre(2, 20, 3, 5, 1, 10, 7, 20, 5, 20));
  EXPECT_THAT(marks_of(kept_before.object_targets), ElementsAre(20, 5, 10, 20, 20));
}

TEST(KeptRows, RowsWithoutComponentsJoinThoseThatHaveThem) {
  Staging kept;
  Staging first = half_of({5, 1}, 10);
  keep_rows(first, kept);
  Staging second;
  second.births.push_back({9, ObjectId{9}});
  keep_rows(second, kept);
  EXPECT_EQ(kept.births.size(), 1u);
  EXPECT_THAT(kept.object_components, ElementsAre(5, 10, 1, 10));
  EXPECT_EQ(kept.objects[0].slot, Slot{5});
}

}  // namespace
}  // namespace starling
