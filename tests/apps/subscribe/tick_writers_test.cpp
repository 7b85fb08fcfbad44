// SPDX-License-Identifier: Apache-2.0
// Tests the CSV and the NDJSON that `starling subscribe` writes.
#include "starling/apps/subscribe/tick_writers.hpp"

#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

protocol::TickHeader header_of(const ReportWith& with) {
  protocol::TickHeader header;
  header.tick = Tick{3};
  header.tau_us = 2'000'000;
  header.with = with;
  return header;
}

class NdjsonWriter : public testing::Test {
 protected:
  std::string written(const ShownTick& tick) {
    make_ndjson_writer(out_, names_)->write(tick);
    return out_.str();
  }
  sim::NameTable names_;
  std::ostringstream out_;
};

TEST_F(NdjsonWriter, WritesALineAListWithIdsAsStrings) {
  const protocol::HeldList list{
      .neighbors = {{ObjectId{~std::uint64_t{0}}, 1.25}, {ObjectId{2}, 3}}, .states = {}};
  EXPECT_EQ(written({header_of({}), false, {{{.query = QueryId{9}}, ListEvent::updated, &list}}}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"9\",\"neighbors\":["
            "{\"object\":\"18446744073709551615\",\"distance_m\":1.25},"
            "{\"object\":\"2\",\"distance_m\":3}]}\n");
}

TEST_F(NdjsonWriter, SaysRemovalsAndEmptyLists) {
  const protocol::HeldList empty;
  const protocol::ListKey subject{QueryId{1}, true, ObjectId{5}};
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{{.query = QueryId{1}}, ListEvent::removed, nullptr},
                      {subject, ListEvent::updated, &empty}}}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"removed\",\"query\":\"1\"}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"1\","
            "\"subject\":\"5\",\"neighbors\":[]}\n");
}

TEST_F(NdjsonWriter, CarriesWhatTheStreamCarries) {
  const protocol::HeldList list{.neighbors = {{ObjectId{2}, 0}}, .states = {{{1.5, -2, 0}, 6}}};
  const ReportWith with{.distance = false, .position = true, .tags = true};
  EXPECT_EQ(written({header_of(with), false, {{{.query = QueryId{9}}, ListEvent::updated, &list}}}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"9\",\"neighbors\":["
            "{\"object\":\"2\",\"position\":[1.5,-2,0],\"tags\":6}]}\n");
}

TEST_F(NdjsonWriter, AddsNamesToIdsWhereTheyAreKnown) {
  names_.put(5, "tram \"7\"\\\n");
  names_.put(9, "stra\u00dfe");
  const protocol::HeldList list{.neighbors = {{ObjectId{9}, 1.5}, {ObjectId{2}, 3}}, .states = {}};
  const protocol::ListKey subject{QueryId{1}, true, ObjectId{5}};
  EXPECT_EQ(written({header_of({}), false, {{subject, ListEvent::updated, &list}}}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"1\","
            "\"subject\":\"5\",\"subject_name\":\"tram \\\"7\\\"\\\\\\u000a\",\"neighbors\":["
            "{\"object\":\"9\",\"name\":\"stra\u00dfe\",\"distance_m\":1.5},"
            "{\"object\":\"2\",\"distance_m\":3}]}\n");
}

TEST_F(NdjsonWriter, SaysVotesWhereAStreamHasAny) {
  const protocol::HeldList none{.neighbors = {}, .states = {}};
  const protocol::HeldList seven{.neighbors = {}, .states = {}, .vote = -7};
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{{.query = QueryId{1}}, ListEvent::updated, &seven},
                      {{.query = QueryId{2}}, ListEvent::updated, &none},
                      {{.query = QueryId{3}}, ListEvent::removed, nullptr}},
                     true}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"1\",\"vote\":\"-7\","
            "\"neighbors\":[]}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"2\",\"vote\":null,"
            "\"neighbors\":[]}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"removed\",\"query\":\"3\"}\n");
}

TEST_F(NdjsonWriter, SaysMeansAsNumbersWhereAStreamHasAny) {
  const protocol::HeldList none{.neighbors = {}, .states = {}};
  const protocol::HeldList third{.neighbors = {}, .states = {}, .vote = 2, .mean = 1.0 / 3};
  const protocol::HeldList infinite{
      .neighbors = {}, .states = {}, .mean = std::numeric_limits<double>::infinity()};
  ShownTick tick{header_of({}),
                 false,
                 {{{.query = QueryId{1}}, ListEvent::updated, &third},
                  {{.query = QueryId{2}}, ListEvent::updated, &none},
                  {{.query = QueryId{3}}, ListEvent::updated, &infinite},
                  {{.query = QueryId{4}}, ListEvent::removed, nullptr}}};
  tick.has_means = true;
  EXPECT_EQ(written(tick),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"1\","
            "\"value\":0.3333333333333333,\"neighbors\":[]}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"2\",\"value\":null,"
            "\"neighbors\":[]}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"updated\",\"query\":\"3\",\"value\":null,"
            "\"neighbors\":[]}\n"
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"removed\",\"query\":\"4\"}\n");
}

TEST(ShownIds, AreThoseOfQueriesSubjectsAndNeighbours) {
  const protocol::HeldList list{.neighbors = {{ObjectId{9}, 1.5}, {ObjectId{2}, 3}}, .states = {}};
  EXPECT_EQ(ids_in({{{QueryId{1}, true, ObjectId{5}}, ListEvent::updated, &list},
                    {{.query = QueryId{4}}, ListEvent::removed, nullptr}}),
            (std::vector<std::uint64_t>{1, 5, 9, 2, 4}));
}

TEST_F(NdjsonWriter, BeginsAWholeTickWithALineThatSaysSo) {
  EXPECT_EQ(written({header_of({}), true, {}}),
            "{\"tick\":3,\"time_us\":2000000,\"event\":\"whole\",\"lists\":0}\n");
}

TEST_F(NdjsonWriter, ThrowsWhenTheOutputIsGone) {
  out_.setstate(std::ios::badbit);
  EXPECT_THROW(make_ndjson_writer(out_, names_)->write({header_of({}), true, {}}),
               std::runtime_error);
}

class VectorCsv : public testing::Test {
 protected:
  ShownTick tick(bool has_votes) {
    protocol::TickHeader header = header_of({});
    header.space = Space::vector;
    return {header, false, {{{.query = QueryId{9}}, ListEvent::updated, &list_}}, has_votes};
  }
  sim::NameTable names_;
  protocol::HeldList list_{
      .neighbors = {{ObjectId{2}, 0.1}, {ObjectId{3}, -1.5e300}}, .states = {}, .vote = no_label};
};

TEST_F(VectorCsv, WritesDistancesAsTheShortestTextAndNoVoteWhereNobodyVotes) {
  testing::internal::CaptureStdout();
  make_csv_writer(names_)->write(tick(false));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "3,2000000,9,1,2,0.1\n3,2000000,9,2,3,-1.5e+300\n");
}

TEST_F(VectorCsv, AddsAColumnWhereAStreamVotes) {
  const auto writer = make_csv_writer(names_);
  testing::internal::CaptureStdout();
  writer->write(tick(true));
  list_.vote = 12;
  list_.neighbors.pop_back();
  writer->write(tick(true));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "tick,time_us,query_id,rank,object_id,distance_m,vote\n"
            "3,2000000,9,1,2,0.1,\n3,2000000,9,2,3,-1.5e+300,\n3,2000000,9,1,2,0.1,12\n");
}

TEST(CsvWithFurtherColumns, AListThatIsGoneHasOneRowForEachObjectThatLeft) {
  const sim::NameTable names;
  const protocol::HeldList two{.neighbors = {{ObjectId{2}, 1}, {ObjectId{3}, 2}},
                               .states = {{{1.5, -2, 0}, 6}, {{3, 4, 0}, 0}}};
  const protocol::HeldList one{.neighbors = {{ObjectId{3}, 2}}, .states = {{{3, 4.25, 0}, 0}}};
  const auto writer = make_csv_writer(names, {"change", "time", "position"});
  const protocol::TickHeader header = header_of({.distance = true, .position = true});
  const protocol::ListKey key{.query = QueryId{9}};
  testing::internal::CaptureStdout();
  writer->write({header, true, {{key, ListEvent::updated, &two}}});
  writer->write({header, false, {{key, ListEvent::updated, &one}}});
  writer->write({header, false, {{key, ListEvent::removed, nullptr}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "tick,time_us,query_id,rank,object_id,distance_m,time,x,y,change\n"
            "3,2000000,9,1,2,1.000,1970-01-01T00:00:02Z,1.5,-2,entered\n"
            "3,2000000,9,2,3,2.000,1970-01-01T00:00:02Z,3,4,entered\n"
            "3,2000000,9,1,3,2.000,1970-01-01T00:00:02Z,3,4.25,stayed\n"
            "3,2000000,9,,2,,1970-01-01T00:00:02Z,,,left\n"
            "3,2000000,9,,,,1970-01-01T00:00:02Z,,,\n"
            "3,2000000,9,,3,,1970-01-01T00:00:02Z,,,left\n");
}

TEST(CsvWithFurtherColumns, AStreamWithoutPositionsIsRefused) {
  const sim::NameTable names;
  const protocol::HeldList empty;
  const auto writer = make_csv_writer(names, {"position"});
  EXPECT_THAT(
      [&] {
        writer->write(
            {header_of({}), false, {{{.query = QueryId{9}}, ListEvent::updated, &empty}}});
      },
      testing::ThrowsMessage<std::runtime_error>(
          testing::HasSubstr("this stream carries no positions")));
}

TEST_F(VectorCsv, AddsAColumnOfValuesWhereAStreamHasMeans) {
  const auto writer = make_csv_writer(names_);
  testing::internal::CaptureStdout();
  ShownTick shown = tick(true);
  shown.has_means = true;
  writer->write(shown);
  list_.vote = 12;
  list_.mean = 0.1;
  list_.neighbors.pop_back();
  writer->write(shown);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "tick,time_us,query_id,rank,object_id,distance_m,vote,value\n"
            "3,2000000,9,1,2,0.1,,\n3,2000000,9,2,3,-1.5e+300,,\n3,2000000,9,1,2,0.1,12,0.1\n");
}

TEST_F(VectorCsv, EndsWhereAMeanComesTooLateForAColumn) {
  const auto writer = make_csv_writer(names_);
  testing::internal::CaptureStdout();
  ShownTick shown = tick(true);
  writer->write(shown);
  shown.has_means = true;
  EXPECT_THROW(writer->write(shown), std::runtime_error);
  testing::internal::GetCapturedStdout();
}

TEST_F(VectorCsv, WaitsForTheFirstListsBeforeItSaysItsColumns) {
  const auto writer = make_csv_writer(names_);
  testing::internal::CaptureStdout();
  ShownTick empty = tick(false);
  empty.lists.clear();
  writer->write(empty);
  writer->write(tick(true));
  EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with(
      "tick,time_us,query_id,rank,object_id,distance_m,vote\n"));
}

TEST_F(VectorCsv, EndsWhereAVoteComesTooLateForAColumn) {
  const auto writer = make_csv_writer(names_);
  testing::internal::CaptureStdout();
  writer->write(tick(false));
  EXPECT_THROW(writer->write(tick(true)), std::runtime_error);
  testing::internal::GetCapturedStdout();
}

class CsvWriter : public testing::Test {
 protected:
  std::string written(const ShownTick& tick) {
    testing::internal::CaptureStdout();
    writer_->write(tick);
    return testing::internal::GetCapturedStdout();
  }
  static protocol::ListKey subject(std::uint64_t query, std::uint64_t object) {
    return {QueryId{query}, true, ObjectId{object}};
  }

  const std::string head_ = "tick,time_us,query_id,rank,object_id,distance_m";
  const protocol::HeldList full_{.neighbors = {{ObjectId{2}, 1}}, .states = {}};
  const protocol::HeldList empty_;
  sim::NameTable names_;
  std::unique_ptr<TickWriter> writer_ = make_csv_writer(names_);
};

TEST_F(CsvWriter, TellsTheSubjectsOfOneQueryFromThoseOfAnotherAndFromQueries) {
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{{.query = QueryId{1}}, ListEvent::updated, &full_},
                      {subject(3, 1), ListEvent::updated, &full_},
                      {subject(4, 1), ListEvent::updated, &full_}}}),
            head_ +
                ",subject\n3,2000000,1,1,2,1.000,\n3,2000000,3,1,2,1.000,1\n"
                "3,2000000,4,1,2,1.000,1\n");
}

TEST_F(CsvWriter, WithoutSubjectsIsAReplays) {
  EXPECT_EQ(written({header_of({}), false, {{{.query = QueryId{1}}, ListEvent::updated, &full_}}}),
            head_ + "\n3,2000000,1,1,2,1.000\n");
}

TEST_F(CsvWriter, AnEmptyListHasOneRowOfRankZeroAndARemovedOneARowWithoutARank) {
  const protocol::ListKey one{.query = QueryId{1}};
  const protocol::ListKey two{.query = QueryId{2}};
  const protocol::ListKey never{.query = QueryId{5}};
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{one, ListEvent::updated, &full_},
                      {two, ListEvent::updated, &full_},
                      {never, ListEvent::updated, &empty_}}}),
            head_ + "\n3,2000000,1,1,2,1.000\n3,2000000,2,1,2,1.000\n3,2000000,5,0,,\n");
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{one, ListEvent::updated, &empty_},
                      {two, ListEvent::removed, nullptr},
                      {never, ListEvent::removed, nullptr}}}),
            "3,2000000,1,0,,\n3,2000000,2,,,\n3,2000000,5,,,\n");
  EXPECT_EQ(written({header_of({}), false, {{one, ListEvent::updated, &full_}}}),
            "3,2000000,1,1,2,1.000\n");
}

TEST_F(CsvWriter, AQueryThatGoesRemovesTheListsOfAllItsSubjects) {
  written({header_of({}),
           false,
           {{subject(3, 1), ListEvent::updated, &full_},
            {subject(3, 2), ListEvent::updated, &full_},
            {subject(4, 1), ListEvent::updated, &full_}}});
  EXPECT_EQ(written({header_of({}), false, {{{.query = QueryId{3}}, ListEvent::removed, nullptr}}}),
            "3,2000000,3,,,,1\n3,2000000,3,,,,2\n");
}

TEST_F(CsvWriter, AQueryThatGoesAndComesAsAnotherKindLeavesNoListBehind) {
  const protocol::ListKey query{.query = QueryId{3}};
  written({header_of({}), false, {{subject(3, 1), ListEvent::updated, &full_}}});
  EXPECT_EQ(written({header_of({}),
                     false,
                     {{query, ListEvent::removed, &full_}, {query, ListEvent::updated, &full_}}}),
            "3,2000000,3,1,2,1.000,\n3,2000000,3,,,,1\n");
}

TEST_F(CsvWriter, WhatASnapshotNoLongerHoldsIsRemoved) {
  const protocol::ListKey one{.query = QueryId{1}};
  const protocol::ListKey two{.query = QueryId{2}};
  written({header_of({}),
           true,
           {{one, ListEvent::updated, &full_}, {two, ListEvent::updated, &full_}}});
  EXPECT_EQ(written({header_of({}), true, {{two, ListEvent::updated, &full_}}}),
            "3,2000000,1,,,\n3,2000000,2,1,2,1.000\n");
}

TEST_F(CsvWriter, EndsWhereASubjectComesTooLateForAColumn) {
  written({header_of({}), false, {{{.query = QueryId{1}}, ListEvent::updated, &full_}}});
  EXPECT_THROW(writer_->write({header_of({}), false, {{subject(3, 1), {}, &full_}}}),
               std::runtime_error);
}

TEST_F(CsvWriter, HasItsFirstLineWhereNothingEverCame) {
  EXPECT_EQ(written({header_of({}), true, {}}), "");
  testing::internal::CaptureStdout();
  writer_->end();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), head_ + "\n");
}

TEST_F(CsvWriter, RefusesAStreamWithoutDistances) {
  EXPECT_THROW(writer_->write({header_of({.distance = false}), true, {}}), std::runtime_error);
}

}  // namespace
}  // namespace starling::apps
