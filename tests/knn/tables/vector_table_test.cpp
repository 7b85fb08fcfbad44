// SPDX-License-Identifier: Apache-2.0
// Tests ObjectTable in a vector space: components, labels and values.
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tests/knn/tables/object_table_fixture.hpp"

namespace starling {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// A table of vectors with two components.
class VectorTableTest : public ObjectTableTest {
 protected:
  VectorTableTest() { start({.tombstone_ttl_us = 10, .dimension = 2}); }

  UpdateStatus update_vector(const VectorUpdate& row, std::array<float, 2> components) {
    UpdateStatus status{};
    table_->update_vectors({&row, 1}, {components, 2}, no_limit, {&status, 1}, half_);
    return status;
  }
  static VectorUpdate labelled(ObjectId id, std::int64_t time_us, Label label) {
    VectorUpdate row{.id = id, .time_us = time_us};
    row.label = label;
    row.has_label = true;
    return row;
  }
  static VectorUpdate valued(ObjectId id, std::int64_t time_us, double value) {
    VectorUpdate row{.id = id, .time_us = time_us};
    row.value = value;
    row.has_value = true;
    return row;
  }
  static std::vector<Label> labels_of(const Staging& staging) {
    std::vector<Label> labels;
    for (const Targets& targets : staging.object_targets) labels.push_back(targets.label);
    return labels;
  }
  static std::vector<double> values_of(const Staging& staging) {
    std::vector<double> values;
    for (const Targets& targets : staging.object_targets) values.push_back(targets.value);
    return values;
  }
};

TEST_F(VectorTableTest, StagesComponentsAndTargetsBesideTheRowsOnceForEachSlot) {
  update_vector({.id = ann, .time_us = 1}, {1, 2});
  update_vector(labelled(bob, 1, 7), {3, 4});
  update_vector(labelled(ann, 2, 8), {5, 6});
  EXPECT_EQ(update_vector(labelled(ann, 1, 9), {0, 0}), UpdateStatus::late);
  const Staging taken = tick(2);
  EXPECT_THAT(taken.objects, SizeIs(2));
  EXPECT_THAT(taken.object_components, ElementsAre(5, 6, 3, 4));
  EXPECT_THAT(labels_of(taken), ElementsAre(8, 7));
}

TEST_F(VectorTableTest, StagesTheWholeVectorWhenOnlyTagsChange) {
  update_vector(labelled(ann, 1, 7), {1, 2});
  tick(1);
  update_tags({ann, 2, 1, 0});
  const Staging taken = tick(2);
  EXPECT_THAT(taken.object_components, ElementsAre(1, 2));
  EXPECT_THAT(labels_of(taken), ElementsAre(7));
}

TEST_F(VectorTableTest, KeepsALabelUntilAnotherComesOrTheObjectIsRemoved) {
  update_vector(labelled(ann, 1, 7), {1, 2});
  update_vector({.id = ann, .time_us = 2}, {3, 4});
  EXPECT_THAT(labels_of(tick(2)), ElementsAre(7));
  update_vector(labelled(ann, 3, no_label), {3, 4});
  EXPECT_THAT(labels_of(tick(3)), ElementsAre(no_label));
  update_vector(labelled(ann, 4, 7), {3, 4});
  remove(ann, 5);
  update_vector({.id = ann, .time_us = 6}, {3, 4});
  EXPECT_THAT(labels_of(tick(6)), ElementsAre(no_label));
}

TEST_F(VectorTableTest, KeepsAValueUntilAnotherComesOrTheObjectIsRemoved) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  update_vector(valued(ann, 1, 0.5), {1, 2});
  EXPECT_EQ(update_vector(valued(ann, 0, 9), {1, 2}), UpdateStatus::late);
  update_vector(labelled(ann, 2, 7), {3, 4});
  EXPECT_THAT(values_of(tick(2)), ElementsAre(0.5));
  update_vector(valued(ann, 3, -nan), {3, 4});
  const Staging without = tick(3);
  EXPECT_THAT(labels_of(without), ElementsAre(7));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(values_of(without)[0]),
            std::bit_cast<std::uint64_t>(no_value));
  update_vector(valued(ann, 4, 0.5), {3, 4});
  remove(ann, 5);
  update_vector({.id = ann, .time_us = 6}, {3, 4});
  EXPECT_THAT(values_of(tick(6)), ElementsAre(testing::IsNan()));
}

TEST_F(VectorTableTest, RefusesAnInfiniteValueAndChangesNothing) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  update_vector(valued(ann, 1, 0.5), {1, 2});
  EXPECT_EQ(update_vector(valued(ann, 2, infinity), {3, 4}), UpdateStatus::value_infinite);
  EXPECT_EQ(update_vector(valued(bob, 2, -infinity), {3, 4}), UpdateStatus::value_infinite);
  VectorUpdate without = valued(cat, 2, infinity);
  without.has_value = false;
  EXPECT_EQ(update_vector(without, {5, 6}), UpdateStatus::accepted) << "the value is not read";
  const Staging taken = tick(2);
  EXPECT_THAT(taken.object_components, ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(values_of(taken), ElementsAre(0.5, testing::IsNan()));
}

TEST_F(VectorTableTest, AStateHasComponentsAndTargets) {
  update_vector(labelled(ann, 1, 7), {1, 2});
  update_vector(labelled(bob, 1, 8), {3, 4});
  update_vector(valued(bob, 1, 0.25), {3, 4});
  remove(ann, 2);
  for (const std::int64_t tau_us : {2, 20}) tick(tau_us);  // ann is forgotten, so her slot is free
  const ObjectTableState state = table_->export_state();
  start({.tombstone_ttl_us = 10, .dimension = 2});
  table_->import_state(state, half_);
  const Staging taken = tick(20);
  EXPECT_THAT(taken.object_components, ElementsAre(3, 4));
  EXPECT_THAT(labels_of(taken), ElementsAre(8));
  EXPECT_THAT(values_of(taken), ElementsAre(0.25));
}

}  // namespace
}  // namespace starling
