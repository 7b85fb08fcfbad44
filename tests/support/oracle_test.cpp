// SPDX-License-Identifier: Apache-2.0
// Compares the oracle with cases computed by hand. There is a case for each rule that the oracle
// models.
#include "tests/support/oracle.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/words.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ObjectId ann{1};
constexpr ObjectId bob{2};
constexpr ObjectId cat{3};

ListKey key(std::uint64_t id) {
  return {0, QueryId{id}, std::nullopt};
}

ListKey key(std::uint64_t id, ObjectId subject) {
  return {0, QueryId{id}, subject};
}

std::uint32_t tags_of(const Oracle& oracle, ObjectId id) {
  return oracle.states_of({at(id, 0)})[0].tags;
}

List two_nearest(const Oracle& oracle) {
  return oracle.answer(2, fixed_at(0), {});
}

TEST(OracleLists, AreSortedByDistanceThenId) {
  Oracle oracle;
  oracle.update(fix(cat, 0, 3, 4));
  oracle.update(fix(bob, 0, 5));
  oracle.update(fix(ann, 0, 6));
  oracle.tick(0);
  EXPECT_THAT(oracle.answer(5, fixed_at(0), {}),
              ElementsAre(at(bob, 25), at(cat, 25), at(ann, 36)));
  EXPECT_THAT(oracle.answer(1, fixed_at(0), {}), ElementsAre(at(bob, 25)));
}

TEST(OracleLists, CompareIdsAsUnsignedNumbers) {
  Oracle oracle;
  oracle.update(fix(ObjectId{~0ull}, 0, 1));
  oracle.update(fix(ObjectId{0}, 0, 1));
  oracle.tick(0);
  EXPECT_THAT(two_nearest(oracle), ElementsAre(at(ObjectId{0}, 1), at(ObjectId{~0ull}, 1)));
}

TEST(OracleLists, AreExactAcrossTheWholeLattice) {
  constexpr std::int32_t high = (1 << 30) - 1;
  constexpr std::int32_t low = -(1 << 30);
  Oracle oracle;
  oracle.update(fix(ann, 0, {high, high, high}));
  oracle.update(fix(bob, 0, {high, high, high - 1}));
  oracle.tick(0);
  const Anchor corner = fixed_at(LatticePoint{low, low, low});
  // The squared distance of bob is 2 (2^31 - 1)^2 + (2^31 - 2)^2.
  // The squared distance of ann is 3 (2^31 - 1)^2.
  EXPECT_THAT(oracle.answer(2, corner, {}),
              ElementsAre(at(bob, 13835058038102294534u), at(ann, 13835058042397261827u)));
}

TEST(OracleFilter, ActsBeforeTheLimit) {
  Oracle oracle;
  oracle.update(tagged(fix(ann, 10, 0), 0b01));
  oracle.update(fix(bob, 10, 2));
  oracle.update_tags({bob, 10, 0b10, 0});
  oracle.update(fix(cat, 4, 3));
  oracle.tick(10);
  EXPECT_THAT(oracle.answer(1, fixed_at(0), with_tags(0b10, 0)), ElementsAre(at(bob, 4)));
  EXPECT_THAT(oracle.answer(1, fixed_at(0), with_tags(0, 0b11)), ElementsAre(at(cat, 9)));
  EXPECT_THAT(oracle.answer(3, fixed_at(0), within(4)), ElementsAre(at(ann, 0), at(bob, 4)));
  EXPECT_THAT(oracle.answer(3, fixed_at(0), no_older_than(6)).size(), 3);
  EXPECT_THAT(oracle.answer(3, fixed_at(0), no_older_than(5)).size(), 2);
}

TEST(OracleTime, AnOlderFixIsLateAndAnEqualOneWins) {
  Oracle oracle;
  EXPECT_EQ(oracle.update(fix(ann, 5, 1)), UpdateStatus::accepted);
  EXPECT_EQ(oracle.update(fix(ann, 4, 2)), UpdateStatus::late);
  EXPECT_EQ(oracle.update(fix(ann, 5, 3)), UpdateStatus::accepted);
  EXPECT_EQ(oracle.update(fix(ann, 9, 4), 8), UpdateStatus::future);
  EXPECT_EQ(oracle.update(fix(ann, (std::int64_t{1} << 61) + 1, 4)),
            UpdateStatus::time_out_of_range);
  oracle.tick(5);
  EXPECT_THAT(two_nearest(oracle), ElementsAre(at(ann, 9)));
}

TEST(OracleTime, ARemovalHoldsBackOlderFixesUntilItIsForgotten) {
  Oracle oracle({.tombstone_ttl_us = 10});
  EXPECT_EQ(oracle.remove({ann, 5}), UpdateStatus::accepted);
  EXPECT_EQ(oracle.update(fix(ann, 4, 1)), UpdateStatus::late);
  EXPECT_EQ(oracle.remove({ann, 4}), UpdateStatus::late);
  oracle.tick(20);
  oracle.tick(29);
  EXPECT_EQ(oracle.update(fix(ann, 4, 1)), UpdateStatus::late);
  oracle.tick(30);
  EXPECT_EQ(oracle.update(fix(ann, 4, 1)), UpdateStatus::accepted);
}

TEST(OracleTime, AnObjectExpiresWhenItsAgeExceedsItsTtl) {
  Oracle oracle({.object_ttl_us = 10});
  oracle.update(fix(ann, 5, 1));
  EXPECT_EQ(oracle.tick(15).objects, 1);
  EXPECT_EQ(oracle.tick(16).objects, 0);
  EXPECT_EQ(oracle.update(fix(ann, 4, 1)), UpdateStatus::late);
}

TEST(OracleTags, BelongToTagUpdatesOnceThoseSpokeOfThem) {
  Oracle oracle;
  EXPECT_EQ(oracle.update_tags({ann, 0, 1, 0}), UpdateStatus::unknown_object);
  oracle.update(tagged(fix(ann, 0, 0), 0b0101));
  oracle.update_tags({ann, 7, 0b0010, 0b0110});
  oracle.tick(10);
  EXPECT_EQ(tags_of(oracle, ann), 0b0011u);
  oracle.update(tagged(fix(ann, 9, 0), 0b1100));
  EXPECT_EQ(oracle.update_tags({ann, 6, 0b1111, 0}), UpdateStatus::late);
  oracle.tick(10);
  EXPECT_EQ(tags_of(oracle, ann), 0b1010u);
  oracle.update(fix(ann, 10, 1));
  oracle.tick(10);
  EXPECT_EQ(tags_of(oracle, ann), 0b1010u);
}

TEST(OracleTags, AreClearedByARemovalAndKeptByExpiry) {
  Oracle oracle({.object_ttl_us = 10});
  oracle.update(tagged(fix(ann, 0, 0), 0b01));
  oracle.update(tagged(fix(bob, 0, 0), 0b01));
  oracle.update_tags({ann, 1, 0b10, 0});
  oracle.update_tags({bob, 1, 0b10, 0});
  oracle.remove({bob, 5});
  oracle.tick(20);
  EXPECT_EQ(oracle.update_tags({bob, 4, 0b1000, 0}), UpdateStatus::late);
  EXPECT_EQ(oracle.update_tags({ann, 4, 0b1000, 0}), UpdateStatus::accepted);
  oracle.update(fix(ann, 20, 0));
  oracle.update(fix(bob, 20, 0));
  oracle.tick(20);
  EXPECT_EQ(tags_of(oracle, ann), 0b1011u);
  EXPECT_EQ(tags_of(oracle, bob), 0u);
}

TEST(OracleAnchors, FollowExcludesTheFollowedAndIsEmptyWithoutIt) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  oracle.put_query(0, query(1, 2, follow(ann)));
  oracle.update(fix(bob, 0, 5));
  EXPECT_THAT(oracle.tick(0).reports.at(key(1)).neighbors, IsEmpty());
  oracle.update(fix(ann, 0, 1));
  EXPECT_THAT(oracle.tick(0).reports.at(key(1)).neighbors, ElementsAre(at(bob, 16)));
  oracle.remove({ann, 1});
  EXPECT_THAT(oracle.tick(1).reports.at(key(1)).neighbors, IsEmpty());
}

TEST(OracleAnchors, EveryObjectKeepsOneListPerSubject) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  QueryDefinition riders = query(1, 1, every_object());
  riders.subject.required = 1;
  riders.filter.tags.forbidden = 1;
  oracle.put_query(0, riders);
  oracle.update(tagged(fix(ann, 0, 0), 1));
  oracle.update(tagged(fix(bob, 0, 0), 1));
  oracle.update(fix(cat, 0, 3));
  const OracleTick first = oracle.tick(0);
  EXPECT_EQ(first.reports.size(), 2);
  EXPECT_THAT(first.reports.at(key(1, ann)).neighbors, ElementsAre(at(cat, 9)));
  oracle.update_tags({bob, 0, 0, 1});
  const OracleTick second = oracle.tick(0);
  EXPECT_THAT(second.reports.at(key(1, ann)).neighbors, ElementsAre(at(bob, 0)));
  EXPECT_EQ(second.reports.at(key(1, bob)).event, ListEvent::removed);
}

TEST(OracleReports, AreWhatTheStreamAskedToHear) {
  Oracle oracle;
  oracle.put_stream(stream("membership", ReportOn::membership));
  oracle.put_stream(stream("order", ReportOn::order));
  oracle.put_stream(stream("distance", ReportOn::distance, {.tags = true}));
  for (std::uint32_t stream = 0; stream < 3; ++stream)
    oracle.put_query(stream, query(7, 2, fixed_at(0)));
  oracle.update(fix(ann, 0, 1));
  oracle.update(fix(bob, 0, 2));
  EXPECT_EQ(oracle.tick(0).reports.size(), 3);
  EXPECT_EQ(oracle.tick(0).reports.size(), 0);

  const auto streams_heard = [](const OracleTick& tick) {
    std::vector<std::uint32_t> streams;
    for (const auto& [list, report] : tick.reports) streams.push_back(list.stream);
    return streams;
  };
  oracle.update(fix(bob, 0, 3));
  const OracleTick moved = oracle.tick(0);
  EXPECT_THAT(streams_heard(moved), ElementsAre(2));
  EXPECT_EQ(moved.reports.begin()->second.states.size(), 2);
  oracle.update(fix(ann, 0, 4));
  EXPECT_THAT(streams_heard(oracle.tick(0)), ElementsAre(1, 2));
  oracle.update(fix(cat, 0, 2));
  EXPECT_THAT(streams_heard(oracle.tick(0)), ElementsAre(0, 1, 2));
}

TEST(OracleReports, IncludeAFirstEmptyListAndTheRemoval) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  EXPECT_EQ(oracle.put_query(0, query(7, 0, fixed_at(0))), QueryStatus::k_zero);
  EXPECT_EQ(oracle.put_query(0, query(7, 1025, fixed_at(0))), QueryStatus::k_too_large);
  oracle.put_query(0, query(7, 1, fixed_at(0)));
  EXPECT_THAT(oracle.tick(0).reports.at(key(7)).neighbors, IsEmpty());
  EXPECT_EQ(oracle.remove_query(0, QueryId{8}), QueryStatus::unknown_query);
  oracle.remove_query(0, QueryId{7});
  EXPECT_EQ(oracle.tick(0).reports.at(key(7)).event, ListEvent::removed);
  EXPECT_THAT(oracle.lists(), IsEmpty());
}

TEST(OracleReports, SayNothingOfAQueryThatCameAndWentBetweenTicks) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  oracle.put_query(0, query(7, 1, fixed_at(0)));
  oracle.remove_query(0, QueryId{7});
  EXPECT_THAT(oracle.tick(0).reports, IsEmpty());
}

TEST(OracleReports, TellChangesOfARedefinedQueryFromItsLastList) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  oracle.update(fix(ann, 0, 1));
  oracle.put_query(0, query(7, 1, fixed_at(0)));
  oracle.tick(0);
  oracle.put_query(0, query(7, 3, fixed_at(0)));
  EXPECT_THAT(oracle.tick(0).reports, IsEmpty());
  oracle.remove_query(0, QueryId{7});
  oracle.put_query(0, query(7, 3, fixed_at(0)));
  EXPECT_THAT(oracle.tick(0).reports.at(key(7)).neighbors, ElementsAre(at(ann, 1)));
}

TEST(OracleReports, EndALeaseAtTheFirstTickBeyondIt) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  QueryDefinition leased = query(7, 1, fixed_at(0));
  leased.lease_end_us = 10;
  oracle.put_query(0, leased);
  oracle.tick(10);
  EXPECT_EQ(oracle.lists().size(), 1);
  EXPECT_EQ(oracle.tick(11).reports.at(key(7)).event, ListEvent::removed);
}

class OracleMeans : public ::testing::Test {
 protected:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();

  void put(std::uint64_t id, float place, std::optional<double> value) {
    VectorUpdate row{.id = ObjectId{id}, .time_us = ++time_us_};
    row.has_value = value.has_value();
    row.value = value.value_or(0);
    EXPECT_EQ(oracle_.update_vector(row, {place}), UpdateStatus::accepted);
  }
  double mean(RegressionWeights weights) {
    oracle_.tick(++time_us_);
    return oracle_.mean_of(oracle_.answer(9, {}, {}, {0.0f}), weights);
  }

  Oracle oracle_{{.dimension = 1, .metric = Metric::l2}};
  std::int64_t time_us_ = 0;
};

TEST_F(OracleMeans, LeaveOutObjectsWithoutAValue) {
  EXPECT_TRUE(std::isnan(mean(RegressionWeights::uniform)));
  put(1, 1, 10);
  put(2, 2, 40);
  put(3, 3, std::nullopt);
  EXPECT_EQ(mean(RegressionWeights::uniform), 25);
  put(1, 1, std::nullopt);
  EXPECT_EQ(mean(RegressionWeights::uniform), 25) << "the value stays";
  put(1, 1, nan);
  EXPECT_EQ(mean(RegressionWeights::uniform), 40);
  oracle_.remove({ObjectId{2}, ++time_us_});
  put(2, 2, std::nullopt);
  EXPECT_TRUE(std::isnan(mean(RegressionWeights::uniform)));
}

TEST_F(OracleMeans, WeightByDistanceUnlessItIsZero) {
  put(1, 1, 10);
  put(2, 2, 40);
  EXPECT_EQ(mean(RegressionWeights::distance), 20);
  put(3, 0, std::nullopt);
  EXPECT_EQ(mean(RegressionWeights::distance), 20);
  put(3, 0, 7);
  EXPECT_EQ(mean(RegressionWeights::distance), 7);
  EXPECT_EQ(mean(RegressionWeights::uniform), 19);
}

TEST_F(OracleMeans, RefuseInfiniteValues) {
  VectorUpdate row{.id = ann, .time_us = 1};
  row.value = -std::numeric_limits<double>::infinity();
  row.has_value = true;
  EXPECT_EQ(oracle_.update_vector(row, {1.0f}), UpdateStatus::value_infinite);
  row.has_value = false;
  EXPECT_EQ(oracle_.update_vector(row, {1.0f}), UpdateStatus::accepted);
}

}  // namespace
}  // namespace starling::test
