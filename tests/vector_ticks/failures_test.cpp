// SPDX-License-Identifier: Apache-2.0
// Tests that a tick fails when the store fails, that the old lists then stay, and that the next
// tick continues as if nothing had happened.
#include <gmock/gmock.h>

#include "tests/vector_ticks/line.hpp"
#include "tests/vector_ticks/script.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"

namespace starling::test {
namespace {

using At = StoreFaults::At;
using ::testing::HasSubstr;

constexpr std::uint64_t objects = 200;

/// A Line with objects in a row.
class Row : public Line {
 public:
  Row(const EngineChoice& engine, StoreFaults& faults,
      std::int64_t tombstone_ttl_us = OracleOptions{}.tombstone_ttl_us)
      : Line(engine, Metric::l2, tombstone_ttl_us), faults_(faults) {
    put_stream(stream("all", ReportOn::distance));
    put_query(0, at_place(1, 3, 0));
    put_query(0, query(2, 3, follow(ObjectId{5})));
    for (std::uint64_t id = 0; id < objects; ++id) move(id, static_cast<float>(id));
    next_tick();
  }
  void fail(At at) {
    faults_.at = at;
    fail_tick(time_us());
    faults_.at = At::none;
  }

 private:
  StoreFaults& faults_;
};

TEST_P(VectorTicks, WhatFailedTicksTookIsInTheNextThatFinishes) {
  for (const At at : {At::before_apply, At::amid_apply, At::after_apply, At::near_applied}) {
    Row row(engine(), faults());
    row.move(150, -1);
    row.fail(at);
    row.remove(2);
    row.remove_query(0, QueryId{1});
    row.label(3, 2.5, 7);
    row.value(6, 2.5, 0.7);
    row.fail(At::after_apply);
    row.put_query(0, Line::voting(Line::regressing(Line::at_place(3, 3, 0))));
    row.next_tick();
    row.move(5, 100);
    row.next_tick();
    row.compare_current_lists();
  }
}

TEST_P(VectorTicks, ASearchThatFailsIsMadeAgain) {
  Row row(engine(), faults());
  row.put_query(0, query(4, 2, every_object()));
  row.fail(At::nearest);
  row.next_tick();
  for (std::uint64_t id = 0; id < objects; ++id) row.move(id, 3);
  row.fail(At::near_any);
  row.next_tick();
  row.compare_current_lists();
}

TEST_P(VectorTicks, ASubjectForgottenInFailedTicksThatComesBackElsewhereIsReportedOnce) {
  Row row(engine(), faults(), 1);
  row.put_query(0, query(4, 2, every_object()));
  row.next_tick();
  const Slot slot = row.processor().find_object(ObjectId{6});
  row.remove(5);
  row.remove(6);
  row.fail(At::after_apply);
  row.move(7, 7);
  row.fail(At::after_apply);
  ASSERT_EQ(row.processor().find_object(ObjectId{6}), no_slot) << "forgotten";
  row.move(objects, 1000);
  row.move(5, -100);
  row.move(6, 6);
  ASSERT_NE(row.processor().find_object(ObjectId{6}), slot) << "others have the free slots";
  const OracleTick reported = row.next_tick();
  EXPECT_EQ(reported.reports.at({0, QueryId{4}, ObjectId{5}}).event, ListEvent::updated);
  row.compare_current_lists();
}

TEST_P(VectorTicks, AfterAFailedTickQuestionsAreToldToComeBackAndTheOldListsStand) {
  Row row(engine(), faults());
  const Slot slot = row.processor().queries().find(StreamId{0}, QueryId{1});
  row.move(0, 77);
  row.fail(At::near_applied);
  Engine& failed = row.processor().engine();
  OneShotQuery question;
  question.components = {0};
  EXPECT_THAT(ask(failed, {question}).error, HasSubstr("ask again"));
  const Answers old = read_lists(failed, {slot});
  EXPECT_EQ(old.error, "");
  EXPECT_EQ(old.tick, Tick{1});
  EXPECT_EQ(old.neighbors, row.list(0, 1));
  row.next_tick();
  row.compare_answer(3, {}, {}, {0.0f});
}

Transcript transcript_of(const EngineChoice& engine, StoreFaults& faults, At at, bool is_moved) {
  Row row(engine, faults);
  row.put_query(0, Line::voting(Line::regressing(query(3, 2, every_object()))));
  row.label(1, 1, 3);
  row.value(1, 1, 0.3);
  row.value(3, 3, 0.4);
  row.next_tick();
  row.label(2, 2.25, 4);
  row.value(2, 2.25, 0.5);
  row.remove_query(0, QueryId{1});
  if (at != At::none) row.fail(at);
  if (is_moved) row.move_to_new_engine(1);
  row.label(1, 1, 4);
  row.next_tick();
  row.move(9, 2);
  row.next_tick();
  return row.transcript();
}

TEST_P(VectorTicks, AnExportedStateContinuesWithTheSameBytes) {
  for (const At at : {At::none, At::before_apply, At::after_apply, At::near_applied})
    EXPECT_EQ(transcript_of(engine(), faults(), at, true),
              transcript_of(engine(), faults(), at, false));
}

}  // namespace
}  // namespace starling::test
