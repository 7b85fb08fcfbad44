// SPDX-License-Identifier: Apache-2.0
// Tests what a replay of a log relies on: the same calls give each query and object the same slot,
// also in a table that was exported and imported in between, and in one that numbers owners in
// another way.
#include <map>

#include <gmock/gmock.h>

#include "tests/knn/tables/query_table_fixture.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling {
namespace {

using test::every_object;
using test::fixed_at;
using test::follow;
using test::query;
using test::stream;

constexpr std::uint64_t streams = 3;
constexpr std::uint64_t ids = 12;

/// Tables that take random calls, with few ids, so that slots are used again.
struct Tables {
  explicit Tables(std::uint64_t hash_seed) : queries(QueryTableOptions{.hash_seed = hash_seed}) {}

  QueryTable queries;
  ObjectTable objects{ObjectTableOptions{}};
  Staging half;

  static std::string name(std::uint64_t number) { return "s" + std::to_string(number); }

  void call(std::uint64_t choice, std::uint64_t number, std::uint64_t id) {
    const auto known = queries.find_stream(name(number));
    if (choice < 2) {
      queries.put_stream(stream(name(number)));
    } else if (choice < 3 && known) {
      queries.remove_stream(*known, objects, half);
    } else if (choice < 9 && known) {
      queries.put(*known, query(id, 1, fixed_at(0)), objects, half);
    } else if (choice < 14 && known) {
      queries.remove(*known, QueryId{id}, {}, objects, half);
    } else if (choice < 15) {
      while (!queries.prepare_tick(0, 100, objects, half)) continue;
      half.clear();
      queries.tick_begun();
      queries.tick_finished();
    }
  }

  std::map<std::pair<std::uint64_t, std::uint64_t>, Slot> slots() const {
    std::map<std::pair<std::uint64_t, std::uint64_t>, Slot> found;
    for (std::uint64_t number = 0; number < streams; ++number)
      if (const auto known = queries.find_stream(name(number)))
        for (std::uint64_t id = 0; id < ids; ++id)
          found[{number, id}] = queries.find(*known, QueryId{id});
    return found;
  }
};

TEST(QueryTableState, AnImportedTableGivesTheSameSlotsAsTheOldOne) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    Tables old_ones(seed);
    std::unique_ptr<Tables> imported;
    for (int step = 0; step < 200; ++step) {
      if (step == 100) {
        imported = std::make_unique<Tables>(~seed);
        imported->queries.import_state(old_ones.queries.export_state(), imported->half);
      }
      const std::uint64_t choice = random.below(15);
      const std::uint64_t number = random.below(streams);
      const std::uint64_t id = random.below(ids);
      old_ones.call(choice, number, id);
      if (!imported) continue;
      imported->call(choice, number, id);
      ASSERT_EQ(imported->slots(), old_ones.slots()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST_F(QueryTableTest, ImportsAStateWithoutMembersInTheOrderOfSlots) {
  for (std::uint64_t id = 1; id <= 3; ++id) put(query(id, 1, fixed_at(0)));
  remove(1);
  QueryTableState state = table_->export_state();
  EXPECT_THAT(state.members, testing::ElementsAre(2, 1));
  state.members.clear();
  table_ = std::make_unique<QueryTable>(QueryTableOptions{});
  table_->import_state(state, half_);
  EXPECT_EQ(table_->query_count(first_stream), 2u);
  EXPECT_EQ(remove(2), QueryStatus::accepted);
  EXPECT_EQ(remove(3), QueryStatus::accepted);
}

TEST_F(QueryTableTest, WhichOutgrownQueryGoesDoesNotDependOnTheNumbersOfOwners) {
  for (const bool is_reversed : {false, true}) {
    start({.neighbors_max = 100});
    for (std::uint64_t id = 1; id <= 3; ++id) {
      QueryDefinition definition = query(id, 5, every_object());
      definition.owner = is_reversed ? 10 - id : id;
      EXPECT_EQ(put(definition), QueryStatus::accepted);
    }
    add_objects(0, 10);  // each object adds 15 neighbours
    EXPECT_EQ(remove_outgrown(), 1u);
    EXPECT_NE(find(1), no_slot);
    EXPECT_NE(find(2), no_slot);
    EXPECT_EQ(find(3), no_slot);
  }
}

TEST_F(QueryTableTest, ARefusedFollowQueryTakesNoSlotOfAnObject) {
  start({.queries_max = 1});
  EXPECT_EQ(put(query(1, 1, fixed_at(0))), QueryStatus::accepted);
  EXPECT_EQ(put(query(2, 1, follow(ObjectId{9}))), QueryStatus::too_many_queries);
  start({});
  table_->set_may_grow(false);
  EXPECT_EQ(put(query(2, 1, follow(ObjectId{9}))), QueryStatus::too_many_queries);
  add_objects(8, 10);
  EXPECT_EQ(objects_->find(ObjectId{8}), 0u);
  EXPECT_EQ(objects_->find(ObjectId{9}), 1u);
}

}  // namespace
}  // namespace starling
