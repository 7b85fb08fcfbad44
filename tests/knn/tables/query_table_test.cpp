// SPDX-License-Identifier: Apache-2.0
// Tests QueryTable by itself: limits, leases, slots, and the rows staged for the engine.
#include <algorithm>
#include <chrono>
#include <memory>

#include <gmock/gmock.h>

#include "starling/knn/base/times.hpp"
#include "tests/knn/tables/query_table_fixture.hpp"
#include "tests/support/words.hpp"

namespace starling {
namespace {

using test::every_object;
using test::fixed_at;
using test::follow;
using test::query;
using test::stream;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(QueryTableTest, RefusesStreamsAndQueriesBeyondItsLimits) {
  start({.queries_max = 2, .streams_max = 1, .k_max = 8});
  EXPECT_EQ(table_->put_stream(stream("t")), StreamStatus::too_many_streams);
  EXPECT_EQ(table_->put_stream(stream("s")), StreamStatus::accepted) << "known already";
  EXPECT_EQ(put(query(1, 0, fixed_at(0))), QueryStatus::k_zero);
  EXPECT_EQ(put(query(1, 9, fixed_at(0))), QueryStatus::k_too_large);
  EXPECT_EQ(put(query(1, 8, fixed_at(0))), QueryStatus::accepted);
  EXPECT_EQ(put(query(2, 1, fixed_at(0))), QueryStatus::accepted);
  EXPECT_EQ(put(query(3, 1, fixed_at(0))), QueryStatus::too_many_queries);
  EXPECT_EQ(put(query(2, 3, fixed_at(0))), QueryStatus::accepted) << "known already";
  EXPECT_EQ(table_->query_count(), 2u);
}

TEST_F(QueryTableTest, AQueryCountsForTheOwnerWhoPutItLast) {
  start({.owner_queries_max = 1});
  const auto put_by = [&](std::uint64_t owner, std::uint64_t id) {
    QueryDefinition definition = query(id, 1, fixed_at(0));
    definition.owner = owner;
    return put(definition);
  };
  EXPECT_EQ(put_by(1, 1), QueryStatus::accepted);
  EXPECT_EQ(put_by(1, 2), QueryStatus::too_many_queries_of_owner);
  EXPECT_EQ(put_by(1, 1), QueryStatus::accepted) << "owner 1 puts its own query again";
  EXPECT_EQ(put_by(2, 2), QueryStatus::accepted);
  EXPECT_EQ(put_by(2, 1), QueryStatus::too_many_queries_of_owner)
      << "owner 2 already has one query";
  EXPECT_EQ(put_by(3, 1), QueryStatus::accepted) << "owner 1 has none now";
  EXPECT_EQ(put_by(1, 3), QueryStatus::accepted);
  remove(3);
  EXPECT_EQ(put_by(1, 4), QueryStatus::accepted) << "removed queries do not count";
  EXPECT_EQ(table_->owner_query_count_most(), 1u);
}

TEST_F(QueryTableTest, RefusesQueriesWhoseListsWouldPassTheLimitOnNeighbors) {
  start({.neighbors_max = 20});
  add_objects(0, 3);
  EXPECT_EQ(put(query(1, 5, fixed_at(0))), QueryStatus::accepted);
  EXPECT_EQ(put(query(2, 5, follow(ObjectId{1}))), QueryStatus::accepted);
  EXPECT_EQ(put(query(3, 4, every_object())), QueryStatus::too_many_neighbors) << "3 lists of 4";
  EXPECT_EQ(put(query(3, 3, every_object())), QueryStatus::accepted);
  EXPECT_EQ(put(query(4, 2, fixed_at(0))), QueryStatus::too_many_neighbors);
  EXPECT_EQ(put(query(1, 7, fixed_at(0))), QueryStatus::too_many_neighbors);
  EXPECT_EQ(table_->definition_of(find(1)).k, 5u) << "the old definition stays";
  EXPECT_EQ(put(query(1, 6, fixed_at(0))), QueryStatus::accepted)
      << "its 6 neighbours replace its 5";
  EXPECT_EQ(find(4), no_slot);
  remove(3);
  EXPECT_EQ(put(query(4, 9, fixed_at(0))), QueryStatus::accepted);
}

TEST_F(QueryTableTest, RemovesTheLargestEveryObjectQueriesThatObjectsHaveOutgrown) {
  start({.neighbors_max = 100});
  put(query(1, 10, fixed_at(0)));
  put(query(2, 3, every_object()));
  put(query(3, 6, every_object()));
  put(query(4, 1, every_object()));
  add_objects(0, 9);
  EXPECT_EQ(remove_outgrown(), 0u) << "10 neighbours and 9 times 10";
  add_objects(9, 23);
  EXPECT_EQ(remove_outgrown(), 2u);
  EXPECT_EQ(find(2), no_slot);
  EXPECT_EQ(find(3), no_slot);
  EXPECT_NE(find(4), no_slot);
}

TEST_F(QueryTableTest, RefusesAFollowQueryWhoseObjectCannotBeRemembered) {
  start({}, {.objects_max = 1});
  EXPECT_EQ(put(query(1, 1, follow(ObjectId{1}))), QueryStatus::accepted);
  EXPECT_EQ(put(query(2, 1, follow(ObjectId{2}))), QueryStatus::too_many_objects);
  EXPECT_EQ(find(2), no_slot);
  EXPECT_EQ(table_->query_count(), 1u);
}

TEST_F(QueryTableTest, OnlyVectorSpacesTakeVotesAndMeans) {
  QueryDefinition voting = query(1, 1, follow(ObjectId{7}));
  voting.vote = true;
  QueryDefinition regressing = query(2, 1, follow(ObjectId{7}));
  regressing.regress = RegressionWeights::distance;
  EXPECT_EQ(put(voting), QueryStatus::no_labels);
  EXPECT_EQ(put(regressing), QueryStatus::no_values);
  start({.dimension = 3}, {.dimension = 3});
  EXPECT_EQ(put(voting), QueryStatus::accepted);
  EXPECT_EQ(put(regressing), QueryStatus::accepted);
  const Staging taken = tick(0);
  ASSERT_THAT(taken.queries, SizeIs(2));
  EXPECT_TRUE(taken.queries[0].vote);
  EXPECT_EQ(taken.queries[1].regress, RegressionWeights::distance);
  start({.dimension = 3, .metric = Metric::inner_product}, {.dimension = 3});
  EXPECT_EQ(put(regressing), QueryStatus::no_weights);
}

TEST_F(QueryTableTest, StagesADefinitionOnceAndInFull) {
  table_->put_stream(stream("s", ReportOn::distance, {.position = true}));
  put(query(7, 1, fixed_at(5)));
  QueryDefinition definition = query(7, 3, follow(ObjectId{9}), test::within(4));
  definition.subject = {1, 2};
  put(definition);
  const Staging taken = tick(0);
  ASSERT_THAT(taken.queries, SizeIs(1));
  const QueryRow& row = taken.queries[0];
  EXPECT_EQ(row.slot, find(7));
  EXPECT_TRUE(is_alive(row.generation));
  EXPECT_EQ(row.k, 3u);
  EXPECT_EQ(row.anchor, AnchorKind::follow);
  EXPECT_EQ(row.object, objects_->find(ObjectId{9}));
  EXPECT_EQ(row.on, ReportOn::distance);
  EXPECT_TRUE(row.with_state);
  EXPECT_EQ(row.filter, test::within(4));
  EXPECT_EQ(row.subject, (TagFilter{1, 2}));
}

TEST_F(QueryTableTest, KeepsTheSlotAndGenerationOfARedefinedQuery) {
  put(query(7, 1, fixed_at(5)));
  const QueryRow before = tick(0).queries[0];
  put(query(7, 2, fixed_at(6)));
  const QueryRow after = tick(1).queries[0];
  EXPECT_EQ(after.slot, before.slot);
  EXPECT_EQ(after.generation, before.generation);
}

TEST_F(QueryTableTest, HoldsASlotUntilTheTickThatReportsItsRemovalHasFinished) {
  put(query(7, 1, fixed_at(5)));
  tick(0);
  const Slot slot = find(7);
  EXPECT_EQ(remove(7), QueryStatus::accepted);
  EXPECT_EQ(remove(7), QueryStatus::unknown_query);
  EXPECT_EQ(find(7), no_slot);
  EXPECT_EQ(table_->query_count(), 0u);
  put(query(8, 1, fixed_at(5)));
  EXPECT_NE(find(8), slot);
  EXPECT_EQ(table_->id_of(slot), QueryId{7});
  EXPECT_EQ(table_->stream_of(slot), first_stream);
  tick(1);
  put(query(9, 1, fixed_at(5)));
  EXPECT_EQ(find(9), slot) << "used again";
}

TEST_F(QueryTableTest, GivesAQueryPutAgainBeforeTheTickItsSlotUnderANewGeneration) {
  put(query(7, 1, fixed_at(5)));
  const QueryRow before = tick(0).queries[0];
  remove(7);
  put(query(7, 1, fixed_at(5)));
  const Staging taken = tick(1);
  ASSERT_THAT(taken.queries, SizeIs(1));
  EXPECT_EQ(taken.queries[0].slot, before.slot);
  EXPECT_TRUE(is_alive(taken.queries[0].generation));
  EXPECT_GT(taken.queries[0].generation, before.generation);
}

TEST_F(QueryTableTest, AQueryPutAgainWhileItsRemovalIsUnderWayKeepsItsSlot) {
  put(query(7, 1, fixed_at(5)));
  tick(0);
  const Slot slot = find(7);
  remove(7);
  half_.clear();
  table_->tick_begun();
  put(query(7, 2, fixed_at(5)));
  EXPECT_EQ(find(7), slot);
  table_->tick_finished();
  put(query(8, 1, fixed_at(5)));
  EXPECT_NE(find(8), slot);
}

TEST_F(QueryTableTest, HoldsASlotWhileTheTicksThatWouldReportItsRemovalFail) {
  put(query(7, 1, fixed_at(5)));
  tick(0);
  const Slot slot = find(7);
  remove(7);
  for (int failed = 0; failed < 2; ++failed) {
    table_->tick_begun();
    table_->tick_failed();
    EXPECT_THAT(table_->export_state().removed, ElementsAre(slot));
  }
  put(query(8, 1, fixed_at(5)));
  EXPECT_NE(find(8), slot);
  tick(1);
  put(query(9, 1, fixed_at(5)));
  EXPECT_EQ(find(9), slot) << "used again";
}

TEST_F(QueryTableTest, AQueryPutAndRemovedManyTimesIsRememberedOnce) {
  for (int again = 0; again < 5; ++again) {
    put(query(7, 1, fixed_at(5)));
    remove(7);
  }
  EXPECT_THAT(table_->export_state().removed, SizeIs(1));
  EXPECT_THAT(tick(0).queries, SizeIs(1));
  EXPECT_THAT(table_->export_state().free_slots, SizeIs(1));
}

TEST_F(QueryTableTest, ARedefinitionReplacesTheLease) {
  QueryDefinition leased = query(7, 1, fixed_at(0));
  leased.lease_end_us = 10;
  put(leased);
  put(query(7, 1, fixed_at(0)));
  tick(11);
  EXPECT_NE(find(7), no_slot);
  leased.lease_end_us = 15;
  put(leased);
  tick(16);
  EXPECT_EQ(find(7), no_slot);
}

TEST_F(QueryTableTest, MovedLeasesEndLaterAndOtherQueriesStay) {
  QueryDefinition leased = query(7, 1, fixed_at(0));
  leased.lease_end_us = 10;
  put(leased);
  leased.id = QueryId{8};
  leased.lease_end_us = QueryDefinition::no_lease - 1;
  put(leased);
  put(query(9, 1, fixed_at(0)));
  table_->move_leases(100);
  tick(110);
  EXPECT_NE(find(7), no_slot);
  EXPECT_EQ(table_->definition_of(find(7)).lease_end_us, 110);
  tick(111);
  EXPECT_EQ(find(7), no_slot);
  tick(time_us_limit);
  EXPECT_NE(find(8), no_slot);
  EXPECT_EQ(table_->definition_of(find(8)).lease_end_us, QueryDefinition::no_lease - 1);
  EXPECT_EQ(table_->definition_of(find(9)).lease_end_us, QueryDefinition::no_lease);
}

TEST_F(QueryTableTest, RemovesQueriesAtTheFirstTickBeyondTheirLease) {
  QueryDefinition leased = query(7, 1, fixed_at(0));
  leased.lease_end_us = 10;
  put(leased);
  put(query(8, 1, fixed_at(0)));
  tick(10);
  EXPECT_NE(find(7), no_slot);
  const Staging taken = tick(11);
  EXPECT_EQ(find(7), no_slot);
  ASSERT_THAT(taken.queries, SizeIs(1));
  EXPECT_FALSE(is_alive(taken.queries[0].generation));
  EXPECT_NE(find(8), no_slot);
}

TEST_F(QueryTableTest, ListsTheQueriesOfAStream) {
  table_->put_stream(stream("t"));
  for (const std::uint64_t id : {5u, 1u, 3u}) put(query(id, 1, fixed_at(0)));
  put(query(2, 1, fixed_at(0)), StreamId{1});
  const auto member = [&](std::uint64_t id) { return QuerySlot{QueryId{id}, find(id)}; };
  EXPECT_THAT(table_->members_of(first_stream),
              UnorderedElementsAre(member(1), member(3), member(5)));
  remove(1);
  EXPECT_THAT(table_->members_of(first_stream), UnorderedElementsAre(member(3), member(5)));
  EXPECT_THAT(table_->members_of(StreamId{1}), SizeIs(1));
}

TEST_F(QueryTableTest, LetsGoOfAFollowedObjectWithItsQuery) {
  start({}, {.tombstone_ttl_us = 10});
  put(query(7, 1, follow(ObjectId{9})));
  put(query(8, 1, follow(ObjectId{9})));
  put(query(8, 1, fixed_at(0)));
  EXPECT_NE(objects_->find(ObjectId{9}), no_slot);
  remove(7);
  for (const std::int64_t tau_us : {0, 20, 40}) {
    while (!objects_->prepare_tick(tau_us, 2, half_)) continue;
    tick(tau_us);
  }
  EXPECT_EQ(objects_->find(ObjectId{9}), no_slot);
}

TEST_F(QueryTableTest, ContinuesFromItsExportedState) {
  QueryDefinition leased = query(7, 3, fixed_at(1));
  leased.lease_end_us = 10;
  put(leased);
  put(query(8, 1, fixed_at(2)));
  put(query(9, 1, fixed_at(3)));
  tick(0);
  remove(9);
  const QueryTableState state = table_->export_state();
  const Slot slot = find(8);

  half_.clear();
  table_ = std::make_unique<QueryTable>(QueryTableOptions{});
  table_->import_state(state, half_);
  EXPECT_EQ(table_->find_stream("s"), first_stream);
  EXPECT_EQ(table_->query_count(), 2u);
  EXPECT_EQ(find(8), slot);
  EXPECT_EQ(find(9), no_slot);
  tick(11);
  EXPECT_EQ(find(7), no_slot) << "its lease was imported";
}

/// Returns the least time of three runs in which 2^19 queries with the ids of `id_of` are put into
/// a new table and found again.
template <class IdOf>
std::chrono::nanoseconds time_to_put(IdOf id_of) {
  auto least = std::chrono::nanoseconds::max();
  for (int run = 0; run < 3; ++run) {
    Staging half;
    ObjectTable objects({});
    QueryTable table({.hash_seed = 0x5bd1e995u});
    table.put_stream(stream("s"));
    const auto since = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < 1u << 19; ++i)
      table.put(first_stream, query(id_of(i), 1, fixed_at(0)), objects, half);
    for (std::uint64_t i = 0; i < 1u << 19; ++i)
      EXPECT_NE(table.find(first_stream, QueryId{id_of(i)}), no_slot);
    least = std::min(least, std::chrono::steady_clock::now() - since);
  }
  return least;
}

// The prime is a number of buckets that std::unordered_map takes on the way to 2^19 elements. There
// the first sequence of ids costs thousands of times as much as random ids. The bound leaves room
// for a busy machine.
TEST(QueryTable, IdsThatAreChosenToCollideCostNoMoreThanRandomOnes) {
  const auto random = time_to_put([](std::uint64_t i) { return mixed_bits(i + 1); });
  EXPECT_LT(time_to_put([](std::uint64_t i) { return (i + 1) * 351'061; }), 3 * random);
  EXPECT_LT(time_to_put([](std::uint64_t i) { return (i + 1) << 32; }), 3 * random);
}

TEST_F(QueryTableTest, TheOwnerWithTheMostNeighborsLosesEveryObjectQueriesFirst) {
  start({.neighbors_max = 100});
  const auto put_of = [&](std::uint64_t owner, std::uint64_t id, std::uint32_t k) {
    QueryDefinition definition = query(id, k, every_object());
    definition.owner = owner;
    EXPECT_EQ(put(definition), QueryStatus::accepted);
  };
  put_of(1, 1, 9);
  for (const std::uint64_t id : {2u, 3u, 4u}) put_of(2, id, 5);
  add_objects(1, 6);  // each of the 5 objects adds 24 neighbours
  EXPECT_EQ(remove_outgrown(), 1u);
  EXPECT_NE(find(1), no_slot) << "owner 1 has the largest k, but owner 2 holds more neighbours";
  EXPECT_EQ(find(4), no_slot);
}

TEST_F(QueryTableTest, AnEveryObjectQueryCountsForEachObjectInItsOwnersQuota) {
  const auto put_by = [&](std::uint64_t id, std::uint32_t k, const Anchor& anchor) {
    return table_->put(first_stream, query(id, k, anchor), {.owner = 7, .neighbors_max = 20},
                       *objects_, half_);
  };
  EXPECT_EQ(put_by(1, 21, every_object()), QueryStatus::beyond_neighbor_quota)
      << "it counts k without objects, too";
  add_objects(0, 4);
  EXPECT_EQ(put_by(1, 6, every_object()), QueryStatus::beyond_neighbor_quota) << "4 lists of 6";
  EXPECT_EQ(put_by(1, 4, every_object()), QueryStatus::accepted);
  EXPECT_EQ(put_by(2, 5, fixed_at(0)), QueryStatus::beyond_neighbor_quota);
  EXPECT_EQ(put_by(2, 4, fixed_at(0)), QueryStatus::accepted);
  EXPECT_EQ(put_by(1, 5, every_object()), QueryStatus::beyond_neighbor_quota);
  EXPECT_EQ(put_by(1, 3, every_object()), QueryStatus::accepted) << "it replaces 4 lists of 4";
}

TEST_F(QueryTableTest, AnOwnerBeyondItsQuotaLosesItsLargestEveryObjectQueriesAndNoOtherDoes) {
  const auto put_of = [&](std::uint64_t owner, std::uint64_t id, std::uint32_t k,
                          const Anchor& anchor) {
    QueryDefinition definition = query(id, k, anchor);
    definition.owner = owner;
    EXPECT_EQ(put(definition), QueryStatus::accepted);
  };
  put_of(1, 1, 4, fixed_at(0));
  for (const std::uint32_t k : {1u, 2u, 3u, 5u}) put_of(1, 1 + k, k, every_object());
  put_of(2, 10, 50, every_object());
  put_of(3, 11, 60, every_object());
  const NeighborQuotas quotas = [](std::uint64_t owner) -> std::optional<std::uint64_t> {
    if (owner == 3) return std::nullopt;
    return owner == 1 ? 35 : 1000;
  };
  EXPECT_EQ(remove_outgrown(quotas), 0u);
  add_objects(0, 10);
  EXPECT_EQ(remove_outgrown(quotas), 2u) << "4 + 10 * 11 is now 4 + 10 * 3";
  EXPECT_EQ(find(6), no_slot);
  EXPECT_EQ(find(4), no_slot);
  for (const std::uint64_t id : {1u, 2u, 3u, 10u, 11u}) EXPECT_NE(find(id), no_slot) << id;
  add_objects(10, 100);
  EXPECT_EQ(remove_outgrown(quotas), 3u);
  EXPECT_NE(find(1), no_slot) << "fixed queries stay";
  EXPECT_NE(find(11), no_slot) << "the owner has no quota";
}

TEST_F(QueryTableTest, SaysWhichQueriesItRemovedAndWhy) {
  add_objects(0, 2);
  QueryDefinition definition = query(1, 4, every_object());
  definition.owner = 7;
  put(definition);
  put(query(2, 3, every_object()));
  const auto removed =
      table_->remove_outgrown([](auto) { return std::optional(5); }, 1, *objects_, half_);
  ASSERT_THAT(removed, SizeIs(1)) << "one slice";
  EXPECT_EQ(removed[0].stream, first_stream);
  EXPECT_EQ(removed[0].id, QueryId{2}) << "the first owner";
  EXPECT_EQ(removed[0].owner, 0u);
  EXPECT_EQ(removed[0].k, 3u);
  EXPECT_EQ(removed[0].limit, OutgrownQuery::Limit::of_owner);
  table_->set_list_bytes_max(0);
  const auto for_memory = table_->remove_outgrown({}, 9, *objects_, half_);
  ASSERT_THAT(for_memory, SizeIs(1));
  EXPECT_EQ(for_memory[0].owner, 7u);
  EXPECT_EQ(for_memory[0].limit, OutgrownQuery::Limit::memory);
}

TEST_F(QueryTableTest, ListsThatDoNotFitInMemoryAreRefusedAndRemoved) {
  add_objects(0, 10);
  put(query(1, 5, every_object()));
  const std::uint64_t bytes = table_->list_bytes(*objects_);
  EXPECT_GT(bytes, 50 * 3 * sizeof(Neighbor)) << "the engine has three copies";
  table_->set_list_bytes_max(bytes);
  EXPECT_EQ(put(query(1, 6, every_object())), QueryStatus::too_many_list_bytes);
  EXPECT_EQ(put(query(2, 1, fixed_at(0))), QueryStatus::too_many_list_bytes);
  EXPECT_EQ(put(query(1, 5, every_object())), QueryStatus::accepted) << "it takes no more";
  EXPECT_EQ(remove_outgrown(), 0u);
  table_->set_list_bytes_max(bytes / 2);
  EXPECT_EQ(put(query(1, 4, every_object())), QueryStatus::accepted) << "it takes less";
  EXPECT_EQ(remove_outgrown(), 1u);
}

TEST_F(QueryTableTest, MoreNeighborsThanCanBeCountedAreTooMany) {
  start({.queries_max = std::uint64_t{1} << 40});
  for (std::uint64_t id = 0; id < 3000; ++id) put(query(id, k_max, every_object()));
  add_objects(0, 1000);
  EXPECT_EQ(table_->neighbor_count(*objects_), 3'000'000 * std::uint64_t{k_max});
}

TEST_F(QueryTableTest, SlotsOfRemovedQueriesAreUsedAgain) {
  for (std::uint64_t id = 1; id <= 4; ++id) put(query(id, 1, fixed_at(0)));
  tick(0);
  for (std::uint64_t round = 0; round < 50; ++round) {
    const std::uint64_t old_id = 1 + 4 * round;
    for (std::uint64_t id = old_id; id < old_id + 4; ++id) remove(id);
    put(query(old_id, 1, fixed_at(1)));  // the query gets its old slot before the removal is
                                         // reported
    remove(old_id);
    tick(0);
    for (std::uint64_t id = old_id + 4; id < old_id + 8; ++id)
      EXPECT_EQ(put(query(id, 1, fixed_at(0))), QueryStatus::accepted);
    EXPECT_EQ(find(old_id), no_slot);
    EXPECT_EQ(table_->slot_end(), 4u);
  }
}

}  // namespace
}  // namespace starling
