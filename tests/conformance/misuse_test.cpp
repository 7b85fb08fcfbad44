// SPDX-License-Identifier: Apache-2.0
// Tests on every engine that wrong calls are refused with a sentence: calls with an engine for
// another space, with unknown ids, or with arguments that do not fit together.
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "tests/conformance/conformance.hpp"

namespace starling::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SpaceOptions space_of(Space space) {
  return {.space = space};
}

SpaceOptions vectors(std::uint32_t dimension, Metric metric) {
  return {.space = Space::vector, .dimension = dimension, .metric = metric};
}

ProcessorOptions options_of(const SpaceOptions& space) {
  ProcessorOptions options;
  options.space = space;
  return options;
}

/// Returns the sentence that refuses the call, or "" if the call is accepted.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_P(Conformance, AProcessorRefusesAnEngineOfAnotherSpace) {
  const std::vector<SpaceOptions> spaces{space_of(Space::planar2), space_of(Space::planar3),
                                         space_of(Space::wgs84)};
  for (const SpaceOptions& made_for : spaces)
    for (const SpaceOptions& space : spaces) {
      const std::string said =
          refusal([&] { Processor(options_of(space), GetParam().make(made_for, 1)); });
      if (made_for == space) {
        EXPECT_EQ(said, "");
        continue;
      }
      EXPECT_THAT(said, AllOf(HasSubstr("the engine was made for " +
                                        std::string(to_string(made_for.space))),
                              HasSubstr("space is " + std::string(to_string(space.space))),
                              HasSubstr("make the engine for the same space")));
    }
  EXPECT_THAT(
      refusal([&] { Processor(options_of(vectors(2, Metric::l2)), GetParam().make({}, 1)); }),
      HasSubstr("space is vectors of 2 components by l2"));
}

TEST(VectorEngines, AreRefusedByAProcessorOfAnotherDimensionMetricOrSpace) {
  const auto engine = [] { return cpu::make_engine({.space = vectors(3, Metric::l1)}); };
  EXPECT_EQ(refusal([&] { Processor(options_of(vectors(3, Metric::l1)), engine()); }), "");
  for (const SpaceOptions& other :
       {vectors(4, Metric::l1), vectors(3, Metric::l2), space_of(Space::planar3)})
    EXPECT_THAT(refusal([&] { Processor(options_of(other), engine()); }),
                HasSubstr("the engine was made for vectors of 3 components by l1"));
}

TEST(Processors, RefuseToBeWithoutAnEngine) {
  EXPECT_THAT(refusal([] { Processor({}, nullptr); }), HasSubstr("the engine is null"));
}

/// A processor with one object, and a stream with one query.
class Misuse : public testing::TestWithParam<EngineChoice> {
 protected:
  void SetUp() override {
    if (!GetParam().why_skipped.empty()) GTEST_SKIP() << GetParam().why_skipped;
    processor_ = std::make_unique<Processor>(ProcessorOptions{}, GetParam().make({}, 1));
    ticks_ = std::make_unique<LockStep>(*processor_);
    processor_->put_stream({.name = "near"});
    near_ = *processor_->queries().find_stream("near");
    put(near_);
    const ObjectUpdate row{.id = ObjectId{9}, .time_us = 1};
    UpdateStatus status{};
    processor_->update({&row, 1}, 1, {&status, 1});
  }

  void put(StreamId stream) {
    const QueryDefinition query{.id = QueryId{1}};
    QueryStatus status{};
    processor_->put_queries(stream, {&query, 1}, {&status, 1});
  }

  void remove(StreamId stream) {
    const QueryId query{1};
    QueryStatus status{};
    processor_->remove_queries(stream, {&query, 1}, {&status, 1});
  }

  /// Checks that the next tick reports the one list. So no refused call has changed anything.
  void expect_all_as_it_was() {
    const TickReport report = ticks_->advance(5);
    ASSERT_EQ(report.streams.size(), 1u);
    ASSERT_EQ(report.streams[0].queries.size(), 1u);
    ASSERT_EQ(report.streams[0].queries[0].neighbors.size(), 1u);
    EXPECT_EQ(report.streams[0].queries[0].neighbors[0].object, ObjectId{9});
  }

  std::unique_ptr<Processor> processor_;
  std::unique_ptr<LockStep> ticks_;
  StreamId near_{};
};

TEST_P(Misuse, AnUnknownStreamIsRefusedByEveryFunctionThatTakesOne) {
  for (const StreamId unknown : {StreamId{1}, StreamId{7}, StreamId{~0u}}) {
    const std::string sentence =
        "no stream has the number " + std::to_string(static_cast<std::uint32_t>(unknown));
    EXPECT_THAT(refusal([&] { put(unknown); }), HasSubstr("put_queries: " + sentence));
    EXPECT_THAT(refusal([&] { remove(unknown); }), HasSubstr("remove_queries: " + sentence));
    EXPECT_THAT(refusal([&] { processor_->remove_stream(unknown); }),
                HasSubstr("remove_stream: " + sentence));
    EXPECT_THAT(refusal([&] { processor_->remove_some(unknown, 1); }), HasSubstr(sentence));
    const QueryTable& queries = processor_->queries();
    EXPECT_THAT(refusal([&] { queries.stream(unknown); }), HasSubstr(sentence));
    EXPECT_THAT(refusal([&] { queries.members_of(unknown); }), HasSubstr(sentence));
    EXPECT_THAT(refusal([&] { queries.query_count(unknown); }), HasSubstr(sentence));
    EXPECT_THAT(refusal([&] { queries.foreign_query_count(unknown); }), HasSubstr(sentence));
    EXPECT_FALSE(queries.is_live(unknown));
    EXPECT_FALSE(queries.is_reported(unknown));
    EXPECT_EQ(queries.find(unknown, QueryId{1}), no_slot);
  }
  expect_all_as_it_was();
}

TEST_P(Misuse, ARemovedStreamIsRefusedBeforeAndAfterItsLastReport) {
  processor_->put_stream({.name = "gone"});
  const StreamId gone = *processor_->queries().find_stream("gone");
  processor_->remove_stream(gone);
  for (std::int64_t tau_us = 1; tau_us <= 3; ++tau_us) {
    EXPECT_THAT(refusal([&] { put(gone); }), HasSubstr("nothing after remove_stream"));
    EXPECT_THAT(refusal([&] { remove(gone); }), HasSubstr("nothing after remove_stream"));
    EXPECT_THAT(refusal([&] { processor_->remove_stream(gone); }), HasSubstr("remove_stream"));
    ticks_->advance(tau_us);
  }
}

TEST_P(Misuse, AnUnknownSlotIsRefused) {
  for (const Slot slot : {Slot{1}, Slot{1000}, no_slot}) {
    const QueryTable& queries = processor_->queries();
    EXPECT_THAT(refusal([&] { queries.stream_of(slot); }), HasSubstr("no query has the slot"));
    EXPECT_THAT(refusal([&] { queries.id_of(slot); }), HasSubstr("no query has the slot"));
    EXPECT_THAT(refusal([&] { queries.definition_of(slot); }), HasSubstr("no query has the slot"));
    EXPECT_FALSE(queries.is_live(slot));
    const ObjectTable& objects = processor_->objects();
    EXPECT_THAT(refusal([&] { objects.object_at(slot); }), HasSubstr("no object has the slot"));
    EXPECT_THAT(refusal([&] { objects.id_at(slot); }), HasSubstr("no object has the slot"));
    EXPECT_FALSE(objects.is_alive(slot));
  }
  expect_all_as_it_was();
}

TEST_P(Misuse, ArgumentsThatDoNotFitTogetherAreRefused) {
  const std::vector<ObjectUpdate> rows(2, {.id = ObjectId{3}});
  const std::vector<QueryDefinition> queries(2);
  std::vector<UpdateStatus> one_status(1);
  std::vector<QueryStatus> one_query_status(1);
  std::vector<PositionError> errors(2);
  std::vector<ObjectUpdate> placed(2);
  EXPECT_THAT(refusal([&] { processor_->update(rows, 1, one_status); }),
              HasSubstr("there are 2 rows and 1 statuses"));
  EXPECT_THAT(refusal([&] { processor_->put_queries(near_, queries, one_query_status); }),
              HasSubstr("there are 2 queries and 1 statuses"));
  EXPECT_THAT(refusal([&] { processor_->update_vectors({}, {}, 1, {}); }),
              HasSubstr("the space has positions; pass them to update"));
  EXPECT_THAT(refusal([&] { processor_->to_lattice(std::vector<double>(3), 2, placed, errors); }),
              HasSubstr("need 4 coordinates and 2 errors; there are 3 and 2"));
  EXPECT_THAT(refusal([&] { processor_->to_lattice({}, 7, placed, errors); }), HasSubstr("not 7"));
  EXPECT_THAT(refusal([&] { processor_->set_threads(0); }), HasSubstr("at least one thread"));
  expect_all_as_it_was();
}

TEST_P(Misuse, TicksOutOfOrderAreRefused) {
  EXPECT_THAT(refusal([&] { ticks_->finish(); }), HasSubstr("no tick is under way"));
  EXPECT_THAT(refusal([&] { processor_->finish_tick(nullptr); }), HasSubstr("the result is null"));
  EXPECT_THAT(refusal([&] { processor_->finish_tick(std::make_unique<TickResult>()); }),
              HasSubstr("no tick is under way"));
  EXPECT_THAT(refusal([&] { processor_->sort_some(); }), HasSubstr("begin_finish_tick first"));
  EXPECT_THAT(refusal([&] { processor_->end_finish_tick(); }), HasSubstr("begin_finish_tick"));
  ticks_->begin(4);
  EXPECT_THAT(refusal([&] { ticks_->advance(5); }), HasSubstr("a tick is under way"));
  EXPECT_THAT(refusal([&] { processor_->export_state(); }), HasSubstr("a tick is under way"));
  ticks_->finish();
  EXPECT_THAT(refusal([&] { ticks_->advance(3); }),
              HasSubstr("tau_us is 3, but that of the last tick is 4"));
  EXPECT_THAT(refusal([&] { ticks_->advance(std::numeric_limits<std::int64_t>::max()); }),
              HasSubstr("within 2^61"));
  EXPECT_THAT(refusal([&] { processor_->import_state(processor_->export_state()); }),
              HasSubstr("import into a new one"));
  EXPECT_THAT(refusal([&] { processor_->engine().import_state(EngineState()); }),
              HasSubstr("the engine has ticked; import into a new one"));
  EXPECT_EQ(ticks_->advance(4).error, "");
}

TEST_P(Misuse, ALockStepWhoseResultsGoToAnotherIsRefusedAndDoesNotWait) {
  LockStep other(*processor_);
  EXPECT_THAT(refusal([&] { ticks_->advance(1); }), HasSubstr("make one LockStep"));
  EXPECT_EQ(other.advance(1).error, "");
}

TEST_P(Misuse, QuestionsThatNoListAnswersAreRefused) {
  const auto refused = [&](const std::function<void(OneShotQuery&)>& change) {
    OneShotQuery query;
    change(query);
    return refusal([&] {
      processor_->engine().search_finished({query}, [](const Answers&) { FAIL() << "answered"; });
    });
  };
  EXPECT_THAT(refused([](auto& query) { query.k = 0; }), HasSubstr("has k = 0; k is 1 to 1024"));
  EXPECT_THAT(refused([](auto& query) { query.k = 1025; }), HasSubstr("has k = 1025"));
  EXPECT_THAT(refused([](auto& query) { query.anchor = AnchorKind::every_object; }),
              HasSubstr("every object"));
  EXPECT_THAT(refused([](auto& query) {
                query.components = {1, 2};
              }),
              HasSubstr("has 2 components; the space has 0"));
  EXPECT_THAT(refused([](auto& query) { query.vote = true; }),
              HasSubstr("which only vector spaces have"));
}

TEST(VectorEngines, RefuseAStateOnceTheyHaveTicked) {
  Processor processor(options_of(vectors(3, Metric::l2)),
                      cpu::make_engine({.space = vectors(3, Metric::l2)}));
  LockStep(processor).advance(1);
  EXPECT_THAT(refusal([&] { processor.engine().import_state(EngineState()); }),
              HasSubstr("the engine has ticked; import into a new one"));
}

TEST(VectorEngines, RefuseQuestionsOfAnotherDimensionAndWeightsThatMayBeNegative) {
  const auto engine = cpu::make_engine({.space = vectors(3, Metric::inner_product)});
  OneShotQuery query;
  query.components = {1, 2};
  EXPECT_THAT(refusal([&] { engine->search_finished({query}, {}); }),
              HasSubstr("has 2 components; the space has 3"));
  query.components = {1, 2, 3};
  query.regress = RegressionWeights::distance;
  EXPECT_THAT(refusal([&] { engine->search_finished({query}, {}); }),
              HasSubstr("choose uniform weights"));
}

TEST_P(Misuse, NoSentenceNamesASourceFile) {
  for (const std::string& said :
       {refusal([&] { put(StreamId{7}); }), refusal([&] { processor_->set_threads(0); }),
        refusal([&] { ticks_->finish(); })})
    EXPECT_THAT(said, AllOf(Not(HasSubstr(".cpp")), Not(HasSubstr("invariant")), Not("")));
}

INSTANTIATE_TEST_SUITE_P(Engines, Misuse, ::testing::ValuesIn(engines()),
                         [](const auto& run) { return run.param.label; });

}  // namespace
}  // namespace starling::test
