// SPDX-License-Identifier: Apache-2.0
// Tests close_gaps() on lists that have unused room, some of them with states.
#include "starling/gpu/points/lists/list_copies.hpp"

#include <gmock/gmock.h>

#include "tests/support/words.hpp"

namespace starling::gpu {
namespace {

using test::at;
using ::testing::ElementsAre;

NeighborState tagged(std::uint32_t tags) {
  return {{}, tags};
}

TEST(CloseGaps, ListsAndTheStatesOfSomeOfThemFollowOneAnother) {
  const Neighbor none = at(ObjectId{99}, 99);
  Answers answers;
  answers.neighbors = {at(ObjectId{1}, 1), none, none, at(ObjectId{2}, 2),
                       at(ObjectId{3}, 3), none};
  answers.states = {tagged(0), tagged(2), tagged(3), tagged(0)};
  Answers::List list;
  list.count = 1;
  answers.lists.push_back(list);
  list.count = 0;
  list.first = 2;
  list.first_state = 0;
  answers.lists.push_back(list);
  list.count = 2;
  list.first = 3;
  list.first_state = 1;
  answers.lists.push_back(list);
  close_gaps(answers);
  EXPECT_THAT(answers.neighbors,
              ElementsAre(at(ObjectId{1}, 1), at(ObjectId{2}, 2), at(ObjectId{3}, 3)));
  EXPECT_THAT(answers.states, ElementsAre(tagged(2), tagged(3)));
  EXPECT_EQ(answers.lists[0].first, 0u);
  EXPECT_EQ(answers.lists[0].first_state, ReportedList::no_state);
  EXPECT_EQ(answers.lists[2].first, 1u);
  EXPECT_EQ(answers.lists[2].first_state, 0u);
}

}  // namespace
}  // namespace starling::gpu
