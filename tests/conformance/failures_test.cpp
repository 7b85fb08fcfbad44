// SPDX-License-Identifier: Apache-2.0
// Tests that a tick fails when memory runs out, that the old lists then stay, and that the next
// tick continues as if nothing had happened. Also tests the limit on neighbours, which keeps memory
// from running out.
#include <new>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/failing_new.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::uint64_t graph_objects = 1000;
constexpr std::uint32_t graph_k = 128;  // the lists of all objects take 2 MB

OneShotQuery question(std::uint32_t k, std::int32_t x) {
  OneShotQuery one_shot;
  one_shot.k = k;
  one_shot.position = {x, 0, 0};
  return one_shot;
}

/// A Twin with objects in a row. put_graph() puts an every-object query, whose lists need more
/// memory than a tick gets while ticks fail.
class Row : public Twin {
 public:
  explicit Row(const EngineChoice& engine, std::uint64_t objects = graph_objects,
               const TwinOptions& options = {})
      : Twin(engine, options), engine_(engine), objects_(objects) {
    put_stream(stream("all", ReportOn::distance));
    move(0);
  }

  void move(std::int64_t time_us) {
    for (std::uint64_t i = 0; i < objects_; ++i)
      update(fix(ObjectId{i}, time_us, static_cast<std::int32_t>(i * 7 % objects_),
                 static_cast<std::int32_t>(time_us)));
  }
  void put_graph() { put_query(0, query(99, graph_k, every_object())); }
  void fail(std::int64_t tau_us) {
    const std::shared_ptr<void> failing = engine_.fail_ticks();
    fail_tick(tau_us);
  }

 private:
  const EngineChoice& engine_;
  std::uint64_t objects_;
};

TEST_P(Conformance, WhatFailedTicksTookIsInTheNextThatFinishes) {
  Row row(engine());
  row.put_query(0, query(1, 3, fixed_at(0)));
  row.put_query(0, query(2, 3, follow(ObjectId{5})));
  row.tick(0);
  row.put_graph();
  row.move(1);
  row.fail(1);
  row.remove(ObjectId{5}, 2);
  row.remove_query(0, QueryId{1});
  row.fail(2);
  row.update(fix(ObjectId{5}, 3, 1));
  row.put_query(0, query(3, 3, fixed_at(0)));
  row.tick(3);
  row.move(4);
  row.tick(4);
  row.compare_current_lists();
}

TEST_P(Conformance, RowsThatCouldNotEvenBeAppliedAreKeptTheNewestOfEach) {
  constexpr std::uint64_t objects = 100'000;  // their positions take 1.2 MB
  Row row(engine(), objects);
  row.put_query(0, query(1, 8, fixed_at(0)));
  row.put_query(0, query(2, 8, follow(ObjectId{7})));
  row.fail(0);
  for (std::uint64_t i = 0; i < objects; i += 2)
    row.update(fix(ObjectId{i}, 1, static_cast<std::int32_t>(i), -5));
  row.remove(ObjectId{1}, 1);
  row.remove_query(0, QueryId{1});
  row.fail(1);
  row.put_query(0, query(1, 4, fixed_at(3)));
  row.update(fix(ObjectId{7}, 2, 1));
  row.tick(2);
  row.compare_current_lists();
}

TEST_P(Conformance, AQueryRemovedInAFailedTickAndPutAgainIsReportedOnce) {
  Row row(engine());
  row.put_query(0, query(1, 3, fixed_at(0)));
  row.tick(0);
  const Slot slot = row.processor().queries().find(StreamId{0}, QueryId{1});
  row.put_graph();
  row.remove_query(0, QueryId{1});
  row.fail(1);
  row.put_query(0, query(2, 3, fixed_at(5)));
  EXPECT_NE(row.processor().queries().find(StreamId{0}, QueryId{2}), slot)
      << "its removal is not reported yet";
  row.put_query(0, query(1, 2, fixed_at(9)));
  row.tick(2);
  EXPECT_EQ(row.list(0, 1).size(), 2u);
}

TEST_P(Conformance, ASubjectForgottenInFailedTicksThatComesBackElsewhereIsReportedOnce) {
  TwinOptions options;
  options.oracle.tombstone_ttl_us = 1;
  Row row(engine(), graph_objects, options);
  row.put_query(0, query(1, 3, every_object()));
  row.tick(0);
  const Slot slot = row.processor().find_object(ObjectId{6});
  row.put_graph();
  row.remove(ObjectId{5}, 1);
  row.remove(ObjectId{6}, 1);
  row.fail(1);
  row.fail(2);
  ASSERT_EQ(row.processor().find_object(ObjectId{6}), no_slot) << "forgotten";
  row.update(fix(ObjectId{2000}, 3, 5000));
  row.update(fix(ObjectId{5}, 3, -100));
  row.update(fix(ObjectId{6}, 3, 42));
  ASSERT_NE(row.processor().find_object(ObjectId{6}), slot) << "others have the free slots";
  const OracleTick reported = row.tick(3);
  EXPECT_EQ(reported.reports.at({0, QueryId{1}, ObjectId{5}}).event, ListEvent::updated);
  EXPECT_FALSE(reported.reports.contains({0, QueryId{1}, ObjectId{6}})) << "it has the same list";
  row.compare_current_lists();
}

Transcript transcript_of(const EngineChoice& engine, bool is_moved) {
  Row row(engine);
  QueryDefinition no_subjects = query(2, 3, every_object());
  no_subjects.subject = {1, 0};
  row.put_query(0, query(1, 3, fixed_at(0)));
  row.put_query(0, no_subjects);
  row.put_query(0, query(3, 3, follow(ObjectId{3})));
  row.tick(0);
  row.put_graph();
  row.put_query(0, query(4, 3, fixed_at(4)));
  row.remove_query(0, QueryId{1});
  row.move(1);
  row.fail(1);
  if (is_moved) row.move_to_new_engine(1);
  row.remove_query(0, QueryId{2});
  row.remove_query(0, QueryId{4});
  row.tick(2);
  row.move(3);
  row.tick(3);
  return row.transcript();
}

TEST_P(Conformance, AStateExportedAfterAFailedTickContinuesWithTheSameBytes) {
  EXPECT_EQ(transcript_of(engine(), true), transcript_of(engine(), false));
}

TEST_P(Conformance, AStateHoldsRowsThatAFailedTickCouldNotApply) {
  Row row(engine(), 100'000);
  row.fail(0);
  row.move_to_new_engine(2);
  row.put_query(0, query(1, 8, fixed_at(0)));
  row.tick(1);
}

TEST_P(Conformance, AfterAFailedTickQuestionsAreToldToComeBack) {
  Row row(engine());
  row.put_query(0, query(1, 3, fixed_at(0)));
  row.put_stream(stream("states", ReportOn::order, {.position = true}));
  row.put_query(1, query(1, 3, fixed_at(0)));
  row.tick(0);
  const Slot plain = row.processor().queries().find(StreamId{0}, QueryId{1});
  const Slot with_states = row.processor().queries().find(StreamId{1}, QueryId{1});
  row.put_graph();
  row.move(1);
  row.fail(1);
  Engine& failed = row.processor().engine();
  EXPECT_THAT(ask(failed, {question(3, 0)}).error, HasSubstr("ask again"));
  EXPECT_THAT(read_lists(failed, {with_states}).error, HasSubstr("ask again"))
      << "the positions are newer than the list";
  const Answers old = read_lists(failed, {plain});
  EXPECT_EQ(old.error, "") << "the old lists stay";
  EXPECT_EQ(old.tick, Tick{1});
  EXPECT_EQ(old.neighbors, row.list(0, 1));
  row.tick(2);
  row.compare_answer(3, fixed_at(0), {});
  row.compare_current_lists();
}

TEST_P(Conformance, AnAnswerThatDoesNotFitInMemoryIsAnErrorAndTheEngineGoesOn) {
  Row row(engine());
  row.put_graph();
  row.tick(0);
  Engine& answering = row.processor().engine();
  {
    const FailingNew failing(mebibyte);
    const std::vector<OneShotQuery> questions(1000, question(graph_k, 0));
    EXPECT_THAT(ask(answering, questions).error, HasSubstr("out of memory; ask in smaller parts"));
    std::vector<OneShotQuery> filtered = questions;
    filtered[0].filter = with_tags(0, 1);
    EXPECT_THAT(ask(answering, filtered).error, HasSubstr("out of memory; ask in smaller parts"));
    const Slot graph = row.processor().queries().find(StreamId{0}, QueryId{99});
    EXPECT_THAT(read_lists(answering, {graph}).error, HasSubstr("out of memory"));
    EXPECT_THROW(answering.export_state(), std::bad_alloc);
  }
  row.compare_answer(3, fixed_at(0), {});
  row.compare_current_lists();
  row.tick(1);
}

/// Sets up a Processor whose lists together may have at most 100 neighbours. An every-object query
/// outgrows this limit when too many objects come after it was put.
class Outgrown : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    ProcessorOptions options;
    options.queries.neighbors_max = 100;
    processor_ = std::make_unique<Processor>(options, engine().make({}, 2));
    clock_ = std::make_unique<LockStep>(*processor_);
    processor_->put_stream(stream("s"));
  }

  QueryStatus put(const QueryDefinition& definition) {
    QueryStatus status{};
    processor_->put_queries(StreamId{0}, std::span(&definition, 1), std::span(&status, 1));
    return status;
  }
  void add_objects(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) {
      const ObjectUpdate row = fix(ObjectId{i}, 0, static_cast<std::int32_t>(i));
      UpdateStatus status{};
      processor_->update(std::span(&row, 1), Oracle::no_time_limit, std::span(&status, 1));
      EXPECT_EQ(status, UpdateStatus::accepted);
    }
  }

  std::unique_ptr<Processor> processor_;
  std::unique_ptr<LockStep> clock_;
};

TEST_P(Outgrown, AnEveryObjectQueryLeavesAndItsStreamAndTheReportSaySo) {
  EXPECT_EQ(put(query(1, 8, every_object())), QueryStatus::accepted);
  EXPECT_EQ(put(query(2, 1, every_object())), QueryStatus::accepted);
  EXPECT_EQ(put(query(3, 10, fixed_at(0))), QueryStatus::accepted);
  add_objects(0, 10);
  TickReport fits = clock_->advance(0);
  EXPECT_EQ(fits.warning, "");
  EXPECT_EQ(fits.streams[0].queries.size(), 21u);
  add_objects(10, 11);
  const TickReport outgrown = clock_->advance(1);
  EXPECT_EQ(outgrown.error, "");
  EXPECT_THAT(outgrown.warning, HasSubstr("1 every-object queries were removed: with 11 objects"));
  EXPECT_THAT(outgrown.warning, HasSubstr("neighbors_max (100)"));
  const QueryReport& first = outgrown.streams[0].queries.front();
  EXPECT_EQ(first.query, QueryId{1}) << "the one with the largest k";
  EXPECT_EQ(first.event, ListEvent::removed);
  EXPECT_EQ(processor_->queries().query_count(), 2u);
  EXPECT_EQ(clock_->advance(2).warning, "");
  EXPECT_EQ(put(query(1, 8, every_object())), QueryStatus::too_many_neighbors);
}

TEST_P(Outgrown, ALimitBeyondTheEnginesIsRefused) {
  ProcessorOptions options;
  std::unique_ptr<Engine> limited = engine().make({}, 1);
  options.queries.neighbors_max = limited->limits().neighbors_max + 1;
  EXPECT_THROW(Processor(options, std::move(limited)), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Engines, Outgrown, ::testing::ValuesIn(engines()),
                         [](const auto& run) { return run.param.label; });

}  // namespace
}  // namespace starling::test
