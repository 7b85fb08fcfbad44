// SPDX-License-Identifier: Apache-2.0
// Tests the promises of ticks in vector spaces, one in each test. Every tick is also compared with
// the oracle.
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tests/vector_ticks/line.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint64_t> ids(const List& list) {
  std::vector<std::uint64_t> numbers;
  for (const Neighbor& neighbor : list) numbers.push_back(to_number(neighbor.object));
  return numbers;
}

TEST_P(VectorTicks, EachStreamHearsOfItsKindOfChangeAndOfNothingElse) {
  Line line(engine());
  line.put_stream(stream("membership", ReportOn::membership));
  line.put_stream(stream("order", ReportOn::order));
  line.put_stream(stream("distance", ReportOn::distance));
  for (std::uint32_t i = 0; i < 3; ++i) line.put_query(i, Line::at_place(1, 2, 0));
  line.move(10, 1);
  line.move(11, 2);
  line.move(12, 3);
  EXPECT_EQ(line.next_tick().reports.size(), 3u) << "first lists";
  EXPECT_THAT(line.next_tick().reports, IsEmpty());
  line.move(12, 4);
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "beyond k";
  line.move(11, 1.5);
  EXPECT_EQ(line.next_tick().reports.size(), 1u) << "another distance";
  line.move(11, 0.5);
  EXPECT_EQ(line.next_tick().reports.size(), 2u) << "another order";
  line.move(12, 0);
  EXPECT_EQ(line.next_tick().reports.size(), 3u) << "another member";
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(12, 11));
}

TEST_P(VectorTicks, EqualScoresAreInOrderOfIdWhateverTheSlots) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::at_place(1, 3, 0));
  for (std::uint64_t id = 500; id > 0; --id) line.move(id, id % 2 == 0 ? 1.0f : -1.0f);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 2, 3))
      << "the object with the smallest id was put last";
  EXPECT_EQ(faults().near_any_queries, 1u);
  line.move(2, 7);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 3, 4));
  line.move(2, 1);
  line.move(600, 1);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 2, 3));
  EXPECT_EQ(faults().near_any_queries, 1u) << "known from then on";
}

TEST_P(VectorTicks, WhatMovesIsScoredAndTheRestIsLeftAlone) {
  Line line(engine());
  line.put_stream(stream("s"));
  for (std::uint64_t id = 0; id < 1000; ++id) line.move(id, static_cast<float>(id));
  for (std::uint64_t id = 0; id < 20; ++id)
    line.put_query(0, Line::at_place(id, 5, static_cast<float>(id * 50)));
  line.next_tick();
  EXPECT_EQ(faults().nearest_queries, 20u);
  for (int tick = 0; tick < 10; ++tick) {
    for (std::uint64_t i = 0; i < 5; ++i)
      line.move((static_cast<std::uint64_t>(tick) * 5 + i) * 17 % 1000, static_cast<float>(i * 90));
    line.next_tick();
  }
  EXPECT_EQ(faults().nearest_queries, 20u) << "no list lost all of its spare entries";
  EXPECT_EQ(faults().near_applied_queries, 200u);
}

TEST_P(VectorTicks, AListThatLosesItsSpareObjectsIsSearchedForAnew) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::at_place(1, 4, 0));
  for (std::uint64_t id = 0; id < 300; ++id) line.move(id, static_cast<float>(id));
  for (std::uint64_t id = 0; id < 300; ++id) {
    line.next_tick();
    EXPECT_EQ(line.list(0, 1).size(), std::min<std::size_t>(4, 300 - id));
    line.remove(id);
  }
  line.next_tick();
  EXPECT_THAT(line.list(0, 1), IsEmpty());
  EXPECT_LT(faults().nearest_queries, 30u);
}

TEST_P(VectorTicks, AFollowedObjectHasNeighboursWhileItIsThereAndIsNoneOfThem) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, query(1, 2, follow(ObjectId{7})));
  line.move(1, 1);
  line.move(2, 2);
  line.move(3, 9);
  line.next_tick();
  EXPECT_THAT(line.list(0, 1), IsEmpty());
  line.move(7, 1.4f);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 2));
  line.move(7, 9.0f);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(3, 2));
  line.remove(7);
  line.next_tick();
  EXPECT_THAT(line.list(0, 1), IsEmpty());
}

TEST_P(VectorTicks, AgeTakesObjectsOutThatNothingWasHeardOf) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::at_place(1, 2, 0, no_older_than(10)));
  line.move(1, 1);
  line.move(2, 2);
  line.tick(5);
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 2));
  line.tick(11);
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1, 2));
  line.tick(12);
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(2));
  line.tick(13);
  EXPECT_THAT(line.list(0, 1), IsEmpty());
}

TEST_P(VectorTicks, TheFarthestDistanceAllowedIsInclusiveAndMayBeNegativeForProducts) {
  Line line(engine(), Metric::inner_product);
  line.put_stream(stream("s", ReportOn::distance));
  const RankKey farthest = line.processor().to_key_max(-4.0);
  line.put_query(0, Line::at_place(1, 8, 2, within(to_number(farthest))));
  line.move(1, 1);
  line.move(2, 2);
  line.move(3, 3);
  line.move(4, std::nextafter(2.0f, 0.0f));
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(3, 2));
  EXPECT_EQ(line.processor().to_distance(line.list(0, 1)[0].key), -6.0);
}

TEST_P(VectorTicks, AVoteIsReportedWheneverItChangesEvenIfTheListIsTheSame) {
  Line line(engine());
  line.put_stream(stream("s", ReportOn::membership));
  line.put_query(0, Line::voting(Line::at_place(1, 3, 0)));
  line.put_query(0, Line::at_place(2, 3, 0));
  const ListKey key{0, QueryId{1}, std::nullopt};
  EXPECT_EQ(line.next_tick().reports.at(key).vote, no_label) << "the list is empty";
  line.move(1, 1);
  EXPECT_EQ(line.next_tick().reports.at(key).vote, no_label) << "no object has a label";
  line.label(1, 1, 5);
  OracleTick tick = line.next_tick();
  EXPECT_EQ(tick.reports.size(), 1u) << "the other query has the same list and asks for no vote";
  EXPECT_EQ(tick.reports.at(key).vote, 5);
  line.label(2, 2, 4);
  EXPECT_EQ(line.next_tick().reports.at(key).vote, 5) << "the nearer label wins a tie";
  line.label(3, -1, 4);
  EXPECT_EQ(line.next_tick().reports.at(key).vote, 4) << "two of three objects have it";
  line.label(2, 2, no_label);
  EXPECT_THAT(line.next_tick().reports, IsEmpty());
  EXPECT_EQ(line.oracle().votes().at(key), 4) << "4 and 5 are both at distance 1; the smaller wins";
  line.move(1, 1);
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "an update without a label";
  line.put_query(0, Line::at_place(1, 3, 0));
  EXPECT_EQ(line.next_tick().reports.at(key).vote, std::nullopt)
      << "the query does not ask for a vote any more";
  EXPECT_THAT(line.next_tick().reports, IsEmpty());
  line.compare_current_lists();
}

TEST_P(VectorTicks, AMeanIsReportedWheneverItsBitsChangeEvenIfTheListIsTheSame) {
  Line line(engine());
  line.put_stream(stream("s", ReportOn::membership));
  line.put_query(0, Line::regressing(Line::at_place(1, 3, 0)));
  line.put_query(0, Line::at_place(2, 3, 0));
  const ListKey key{0, QueryId{1}, std::nullopt};
  const auto mean = [&] { return line.next_tick().reports.at(key).mean.value(); };
  EXPECT_TRUE(std::isnan(mean())) << "the list is empty";
  line.move(1, 1);
  EXPECT_TRUE(std::isnan(mean())) << "no object has a value";
  line.value(1, 1, 0.0);
  OracleTick tick = line.next_tick();
  EXPECT_EQ(tick.reports.size(), 1u) << "the other query has the same list and asks for no mean";
  EXPECT_EQ(tick.reports.at(key).mean, 0.0);
  line.value(1, 1, -0.0);
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "a sum begins at +0, so it is +0";
  line.move(2, 2);
  EXPECT_EQ(mean(), 0) << "an object without a value does not count";
  line.value(2, 2, 5);
  EXPECT_EQ(mean(), 2.5);
  line.move(2, 2);
  line.label(1, 1, 7);
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "updates without a value";
  line.value(1, 1, std::nextafter(0.0, 1.0));
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "the change is lost in the sum";
  line.value(1, 1, 5);
  EXPECT_EQ(mean(), 5);
  line.value(2, 2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(line.next_tick().reports, IsEmpty()) << "one value is left, with the same mean";
  line.remove(1);
  EXPECT_TRUE(std::isnan(mean()));
  line.move(1, 1);
  EXPECT_TRUE(std::isnan(mean())) << "the removal took the value away";
  line.put_query(0, Line::at_place(1, 3, 0));
  EXPECT_EQ(line.next_tick().reports.at(key).mean, std::nullopt)
      << "the query does not ask for a mean any more";
  EXPECT_THAT(line.next_tick().reports, IsEmpty());
  line.compare_current_lists();
}

TEST_P(VectorTicks, WeightsAreOneByDistanceAndObjectsAtDistanceZeroCountAlone) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(
      0, Line::voting(Line::regressing(Line::at_place(1, 3, 0), RegressionWeights::distance)));
  const ListKey key{0, QueryId{1}, std::nullopt};
  line.value(1, 1, 10);
  line.value(2, -2, 40);
  OracleTick tick = line.next_tick();
  EXPECT_EQ(tick.reports.at(key).mean, 20) << "(10 / 1 + 40 / 2) / (1 + 1 / 2)";
  EXPECT_EQ(tick.reports.at(key).vote, no_label) << "a query may ask for both";
  line.move(3, 0);
  EXPECT_EQ(line.next_tick().reports.at(key).mean, 20) << "at distance 0, but without a value";
  line.value(3, 0, 7);
  EXPECT_EQ(line.next_tick().reports.at(key).mean, 7);
}

TEST_P(VectorTicks, ASumBeyondFloat64GivesAnInfiniteMeanOrNoneAndIsNotReportedAgain) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::regressing(Line::at_place(1, 4, 0)));
  line.put_query(0, Line::regressing(Line::at_place(2, 4, 0), RegressionWeights::distance));
  const ListKey uniform{0, QueryId{1}, std::nullopt};
  const ListKey by_distance{0, QueryId{2}, std::nullopt};
  constexpr double most = std::numeric_limits<double>::max();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  line.value(1, 0.5, most);
  OracleTick tick = line.next_tick();
  EXPECT_EQ(tick.reports.at(uniform).mean, most);
  EXPECT_EQ(tick.reports.at(by_distance).mean, infinity) << "the weight is 2";
  line.value(2, -0.5, -most);
  tick = line.next_tick();
  EXPECT_EQ(tick.reports.at(uniform).mean, 0);
  EXPECT_TRUE(std::isnan(tick.reports.at(by_distance).mean.value())) << "infinity - infinity";
  line.move(1, 0.5);
  EXPECT_THAT(line.next_tick().reports, IsEmpty());
}

TEST_P(VectorTicks, AnInfiniteValueRejectsItsUpdate) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::regressing(Line::at_place(1, 3, 0)));
  EXPECT_EQ(line.value(1, 1, 3), UpdateStatus::accepted);
  EXPECT_EQ(line.value(1, 2, infinity), UpdateStatus::value_infinite);
  EXPECT_EQ(line.value(2, 2, -infinity), UpdateStatus::value_infinite);
  line.next_tick();
  EXPECT_THAT(ids(line.list(0, 1)), ElementsAre(1));
  EXPECT_EQ(line.oracle().means().at({0, QueryId{1}, std::nullopt}), 3);
}

TEST_P(VectorTicks, AQueryThatIsPutAgainUnchangedIsNotSearchedForAnew) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.put_query(0, Line::at_place(1, 3, 0));
  for (std::uint64_t id = 0; id < 100; ++id) line.move(id, static_cast<float>(id));
  line.next_tick();
  line.put_query(0, Line::voting(Line::at_place(1, 3, 0)));
  line.next_tick();
  line.put_query(0, Line::regressing(Line::at_place(1, 3, 0)));
  line.next_tick();
  EXPECT_EQ(faults().nearest_queries, 1u);
  line.put_query(0, Line::at_place(1, 3, 50));
  line.next_tick();
  EXPECT_EQ(faults().nearest_queries, 2u);
}

TEST_P(VectorTicks, QueriesOfTheWrongShapeAreRefused) {
  Line line(engine());
  Processor& processor = line.processor();
  processor.put_stream(stream("s"));
  const auto put = [&](const QueryDefinition& definition) {
    QueryStatus status{};
    processor.put_queries(StreamId{0}, {&definition, 1}, {&status, 1});
    return status;
  };
  QueryDefinition two = Line::at_place(1, 1, 0);
  two.components.push_back(0);
  EXPECT_EQ(put(two), QueryStatus::wrong_dimension);
  EXPECT_EQ(put(query(1, 1, {})), QueryStatus::wrong_dimension);
  EXPECT_EQ(put(Line::at_place(1, 1, 0)), QueryStatus::accepted);
}

TEST_P(VectorTicks, AMeanIsNotWeightedByInnerProducts) {
  Line line(engine(), Metric::inner_product);
  Processor& processor = line.processor();
  processor.put_stream(stream("s"));
  const auto put = [&](RegressionWeights weights) {
    const QueryDefinition definition = Line::regressing(Line::at_place(1, 1, 0), weights);
    QueryStatus status{};
    processor.put_queries(StreamId{0}, {&definition, 1}, {&status, 1});
    return status;
  };
  EXPECT_EQ(put(RegressionWeights::distance), QueryStatus::no_weights);
  EXPECT_EQ(put(RegressionWeights::uniform), QueryStatus::accepted);
}

TEST_P(VectorTicks, QuestionsAreAnsweredWithTheirVoteAndTheirMean) {
  Line line(engine());
  line.put_stream(stream("s"));
  line.compare_answer(3, {}, {}, {0.0f});
  line.label(1, 1, 8);
  line.value(1, 1, 0.1);
  line.value(4, 4, 1e300);
  line.tag(2, 2, 1);
  line.label(3, 3, 9);
  line.next_tick();
  line.compare_answer(3, {}, {}, {2.5f});
  line.compare_answer(3, {}, with_tags(1, 0), {2.5f});
  line.compare_answer(3, follow(ObjectId{1}), no_older_than(1));
  line.compare_answer(3, follow(ObjectId{99}), {});
}

}  // namespace
}  // namespace starling::test
