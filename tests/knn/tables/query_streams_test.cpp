// SPDX-License-Identifier: Apache-2.0
// Tests the streams of QueryTable: numbers, names, owners, changes, and how they leave.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

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
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(QueryTableTest, NumbersStreamsInTheOrderOfTheirFirstPut) {
  EXPECT_EQ(table_->put_stream(stream("t", ReportOn::distance)), StreamStatus::accepted);
  EXPECT_EQ(table_->put_stream(stream("s", ReportOn::membership)), StreamStatus::accepted);
  EXPECT_EQ(table_->stream_count(), 2u);
  EXPECT_EQ(table_->find_stream("s"), StreamId{0});
  EXPECT_EQ(table_->find_stream("t"), StreamId{1});
  EXPECT_EQ(table_->find_stream("u"), std::nullopt);
  EXPECT_EQ(table_->stream(StreamId{0}).on, ReportOn::membership);
}

TEST_F(QueryTableTest, ARemovedStreamTakesItsQueriesWithIt) {
  add_objects(7, 8);
  put(query(1, 3, fixed_at(0)));
  put(query(2, 3, follow(ObjectId{7})));
  put(query(3, 2, every_object()));
  tick(0);
  table_->remove_stream(first_stream, *objects_, half_);
  EXPECT_EQ(table_->find_stream("s"), std::nullopt);
  EXPECT_EQ(table_->stream_count(), 0u);
  EXPECT_EQ(table_->query_count(), 0u);
  EXPECT_EQ(table_->neighbor_count(*objects_), 0u);
  EXPECT_THAT(half_.queries, SizeIs(3));
  for (const QueryRow& row : half_.queries) EXPECT_FALSE(is_alive(row.generation));
}

TEST_F(QueryTableTest, ANumberOfAStreamIsFreeWhenATickHasReportedTheRemoval) {
  table_->put_stream(stream("t"));
  table_->remove_stream(first_stream, *objects_, half_);
  EXPECT_TRUE(table_->is_reported(first_stream));
  EXPECT_EQ(table_->stream(first_stream).name, "s");
  table_->put_stream(stream("u"));
  EXPECT_EQ(table_->find_stream("u"), StreamId{2});
  tick(0);
  EXPECT_FALSE(table_->is_reported(first_stream));
  table_->put_stream(stream("v"));
  EXPECT_EQ(table_->find_stream("v"), first_stream);
  EXPECT_EQ(table_->stream_count(), 3u);
  EXPECT_EQ(table_->stream_id_end(), 3u);
}

TEST_F(QueryTableTest, AStreamThatIsPutAgainBeforeTheTickKeepsItsNumber) {
  put(query(1, 3, fixed_at(0)));
  tick(0);
  table_->remove_stream(first_stream, *objects_, half_);
  EXPECT_EQ(table_->put_stream(stream("s", ReportOn::distance)), StreamStatus::accepted);
  EXPECT_EQ(table_->find_stream("s"), first_stream);
  tick(1);
  EXPECT_EQ(table_->find_stream("s"), first_stream);
  EXPECT_EQ(table_->query_count(first_stream), 0u);
  EXPECT_EQ(table_->stream(first_stream).on, ReportOn::distance);
}

TEST_F(QueryTableTest, AFailedTickLeavesTheRemovalOfAStreamToTheNext) {
  table_->remove_stream(first_stream, *objects_, half_);
  table_->tick_begun();
  EXPECT_THAT(table_->leaving_streams(), ElementsAre(first_stream));
  table_->tick_failed();
  EXPECT_TRUE(table_->is_reported(first_stream));
  table_->tick_begun();
  EXPECT_THAT(table_->leaving_streams(), ElementsAre(first_stream));
  table_->tick_finished();
  EXPECT_FALSE(table_->is_reported(first_stream));
}

TEST_F(QueryTableTest, RemovedStreamsThatNoTickHasReportedTakeABoundedNumberOfPlaces) {
  start({.streams_max = 2});
  std::size_t accepted = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string name = "round " + std::to_string(round);
    if (table_->put_stream(stream(name)) != StreamStatus::accepted) continue;
    ++accepted;
    table_->remove_stream(*table_->find_stream(name), *objects_, half_);
  }
  EXPECT_EQ(accepted, 3u);
  EXPECT_EQ(table_->stream_id_end(), 4u);
  tick(0);
  EXPECT_EQ(table_->put_stream(stream("after")), StreamStatus::accepted);
}

TEST_F(QueryTableTest, AnImportedTableKnowsWhichStreamsAreGone) {
  table_->put_stream(stream("t"));
  table_->put_stream(stream("u"));
  table_->remove_stream(*table_->find_stream("t"), *objects_, half_);
  tick(0);
  table_->remove_stream(*table_->find_stream("u"), *objects_, half_);
  QueryTable other{QueryTableOptions{}};
  Staging half;
  other.import_state(table_->export_state(), half);
  EXPECT_EQ(other.stream_count(), 1u);
  EXPECT_EQ(other.find_stream("s"), StreamId{0});
  EXPECT_FALSE(other.is_reported(StreamId{1}));
  EXPECT_TRUE(other.is_reported(StreamId{2}));
  EXPECT_EQ(other.find_stream("u"), std::nullopt);
}

TEST_F(QueryTableTest, PuttingAStreamAgainKeepsItsOwner) {
  table_->put_stream({.name = "t", .owner = 5});
  table_->put_stream({.name = "t", .owner = 6});
  EXPECT_EQ(table_->stream(StreamId{1}).owner, 5u);
}

TEST_F(QueryTableTest, RefusesNamesThatATopicCannotCarry) {
  const auto put_named = [&](std::string name) {
    return table_->put_stream(stream(std::move(name)));
  };
  EXPECT_EQ(put_named(""), StreamStatus::bad_name);
  EXPECT_EQ(put_named(std::string("a\0b", 3)), StreamStatus::bad_name);
  EXPECT_EQ(put_named(std::string(stream_name_bytes_max + 1, 'x')), StreamStatus::bad_name);
  EXPECT_EQ(put_named(std::string(stream_name_bytes_max, 'x')), StreamStatus::accepted);
}

TEST_F(QueryTableTest, StagesEveryQueryAnewWhenItsStreamChanges) {
  put(query(7, 1, fixed_at(5)));
  put(query(8, 1, fixed_at(5)));
  tick(0);
  table_->put_stream(stream("s", ReportOn::membership));
  const Staging taken = tick(1);
  ASSERT_THAT(taken.queries, SizeIs(2));
  EXPECT_EQ(taken.queries[0].on, ReportOn::membership);
}

TEST_F(QueryTableTest, AChangedStreamIsStagedAsAWholeWithTheNextTick) {
  for (std::uint64_t id = 1; id <= 7; ++id) put(query(id, 1, fixed_at(0)));
  tick(0);
  table_->put_stream(stream("s", ReportOn::distance));
  table_->put_stream(stream("s", ReportOn::membership));
  put(query(3, 2, fixed_at(0)));
  EXPECT_THAT(half_.queries, SizeIs(1)) << "putting a stream itself stages nothing";
  const Staging taken = tick(1);
  ASSERT_THAT(taken.queries, SizeIs(7));
  for (const QueryRow& row : taken.queries) EXPECT_EQ(row.on, ReportOn::membership);
  table_->put_stream(stream("s", ReportOn::membership, {.distance = true}));
  EXPECT_THAT(tick(2).queries, IsEmpty()) << "the engine's rows are the same";
}

TEST_F(QueryTableTest, AStreamIsRemovedInSlices) {
  for (std::uint64_t id = 1; id <= 5; ++id) put(query(id, 1, fixed_at(0)));
  tick(0);
  table_->begin_remove_stream(first_stream);
  EXPECT_EQ(table_->find_stream("s"), std::nullopt);
  EXPECT_FALSE(table_->remove_some(first_stream, 2, *objects_, half_));
  EXPECT_EQ(table_->query_count(), 3u);
  EXPECT_FALSE(table_->remove_some(first_stream, 2, *objects_, half_));
  EXPECT_TRUE(table_->remove_some(first_stream, 2, *objects_, half_));
  EXPECT_EQ(table_->query_count(), 0u);
  EXPECT_THAT(half_.queries, SizeIs(5));
}

}  // namespace
}  // namespace starling
