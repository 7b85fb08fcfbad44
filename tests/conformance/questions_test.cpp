// SPDX-License-Identifier: Apache-2.0
// Tests what an engine does besides ticks. It answers one-shot queries, reads current lists,
// exports its state, and refuses a second tick while one is under way.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <gmock/gmock.h>

#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ObjectId ann{1};
constexpr ObjectId bob{2};

/// A Processor with ticks in two steps: begin() begins a tick, and finish() waits for its result
/// and finishes it.
class OpenClock {
 public:
  explicit OpenClock(std::unique_ptr<Engine> engine)
      : processor_(ProcessorOptions{}, std::move(engine)) {
    processor_.engine().set_result_handler([this](std::unique_ptr<TickResult> result) {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
      arrived_.notify_one();
    });
  }

  Processor& processor() { return processor_; }
  bool begin(std::int64_t tau_us) { return processor_.begin_tick(tau_us); }
  bool result_is_there() const {
    const std::lock_guard lock(mutex_);
    return !results_.empty();
  }
  TickReport finish() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        arrived_.wait_for(lock, std::chrono::seconds(120), [this] { return !results_.empty(); }));
    std::unique_ptr<TickResult> result = std::move(results_.front());
    results_.pop_front();
    lock.unlock();
    return processor_.finish_tick(std::move(result));
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::unique_ptr<TickResult>> results_;  ///< not yet finished
  Processor processor_;
};

OneShotQuery question(std::uint32_t k, const LatticePoint& position, const Filter& filter = {}) {
  OneShotQuery one_shot;
  one_shot.k = k;
  one_shot.position = position;
  one_shot.filter = filter;
  return one_shot;
}

void update(Processor& processor, Oracle& oracle, const ObjectUpdate& row) {
  UpdateStatus status{};
  processor.update(std::span(&row, 1), Oracle::no_time_limit, std::span(&status, 1));
  EXPECT_EQ(status, oracle.update(row));
}

void put_graph(Processor& processor, std::uint32_t k) {
  EXPECT_EQ(processor.put_stream(stream("graph")), StreamStatus::accepted);
  const QueryDefinition graph = query(1, k, every_object());
  QueryStatus status{};
  processor.put_queries(StreamId{0}, std::span(&graph, 1), std::span(&status, 1));
  EXPECT_EQ(status, QueryStatus::accepted);
}

/// An engine may decline to answer at once. If it answers, the answer must equal the one of
/// search_finished.
void expect_same_at_once(Engine& engine, const OneShotQuery& question, const Answers& expected) {
  const std::optional<Answers> answers = engine.answer_at_once(std::span(&question, 1));
  if (!answers) return;
  EXPECT_EQ(answers->tick, expected.tick);
  EXPECT_EQ(answers->tau_us, expected.tau_us);
  EXPECT_EQ(answers->neighbors, expected.neighbors);
}

TEST_P(Conformance, BeforeTheFirstTickEveryAnswerIsEmpty) {
  const std::unique_ptr<Engine> fresh = engine().make({}, 2);
  const Answers answers = ask(*fresh, {question(3, {}), question(5, {})});
  ASSERT_EQ(answers.lists.size(), 2u);
  EXPECT_EQ(answers.lists[1].query, 1u);
  EXPECT_EQ(answers.lists[1].count, 0u);
  EXPECT_THAT(answers.neighbors, IsEmpty());
}

TEST_P(Conformance, ASecondTickIsTakenWhileOneIsUnderWayOnlyByAnEngineThatHasRoomForTwo) {
  const bool has_room_for_two = engine().name == "cuda";
  OpenClock clock(engine().make({}, 2));
  // The first tick has so much to do that it is still under way when the second one comes.
  Oracle unused;
  Random random(1);
  PointSource points(Space::planar2, Shape::uniform, random);
  for (std::uint64_t i = 0; i < 10'000; ++i)
    update(clock.processor(), unused, fix(ObjectId{i}, 0, points.next()));
  put_graph(clock.processor(), 16);
  ASSERT_TRUE(clock.begin(10));
  EXPECT_EQ(clock.begin(20), has_room_for_two);
  EXPECT_EQ(clock.finish().tau_us, 10);
  if (!has_room_for_two) {
    EXPECT_TRUE(clock.begin(20));
  }
  EXPECT_EQ(clock.finish().tau_us, 20);
}

TEST_P(Conformance, QuestionsAreAnsweredFromTheLastFinishedTickWhileAnotherIsUnderWay) {
  OpenClock clock(engine().make({}, 2));
  Oracle before;
  Random random(1);
  PointSource points(Space::planar2, Shape::uniform, random);
  for (std::uint64_t i = 0; i < 20'000; ++i)
    update(clock.processor(), before, fix(ObjectId{i}, 0, points.next()));
  before.tick(0);
  ASSERT_TRUE(clock.begin(0));
  clock.finish();

  Oracle after = before;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    update(clock.processor(), after, fix(ObjectId{i}, 1, points.next()));
  after.tick(1);
  put_graph(clock.processor(), 256);
  ASSERT_TRUE(clock.begin(1));
  const LatticePoint here = points.next();
  const Answers unfiltered = ask(clock.processor().engine(), {question(10, here)});
  EXPECT_FALSE(clock.result_is_there()) << "the question waited for the tick";
  EXPECT_EQ(unfiltered.tick, Tick{1});
  EXPECT_EQ(unfiltered.neighbors, before.answer(10, fixed_at(here), {}));
  expect_same_at_once(clock.processor().engine(), question(10, here), unfiltered);

  const Filter filter = within(1'000'000'000);
  const Answers filtered = ask(clock.processor().engine(), {question(10, here, filter)});
  const Oracle& then = filtered.tick == Tick{1} ? before : after;
  EXPECT_EQ(filtered.neighbors, then.answer(10, fixed_at(here), filter));
  clock.finish();
  const Answers now = ask(clock.processor().engine(), {question(10, here)});
  EXPECT_EQ(now.tick, Tick{2});
  EXPECT_EQ(now.neighbors, after.answer(10, fixed_at(here), {}));
  expect_same_at_once(clock.processor().engine(), question(10, here), now);
}

TEST_P(Conformance, ABatchThatTicksOvertakeIsAnsweredFromOneTick) {
  OpenClock clock(engine().make({}, 2));
  Random random(2);
  PointSource points(Space::planar2, Shape::uniform, random);
  std::vector<Oracle> ticks(1);
  const auto tick = [&] {
    Oracle next = ticks.back();
    const auto tau_us = static_cast<std::int64_t>(ticks.size());
    for (std::uint64_t i = 0; i < 300; ++i)
      update(clock.processor(), next, fix(ObjectId{i}, tau_us, points.next()));
    next.tick(tau_us);
    ticks.push_back(std::move(next));
    ASSERT_TRUE(clock.begin(tau_us));
    clock.finish();
  };
  tick();
  std::vector<OneShotQuery> questions(20'000);
  for (OneShotQuery& one : questions) one = question(20, points.next());
  const auto promise = std::make_shared<std::promise<Answers>>();
  std::future<Answers> future = promise->get_future();
  clock.processor().engine().search_finished(
      questions, [promise](Answers answers) { promise->set_value(std::move(answers)); });
  while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) tick();
  const Answers answers = future.get();
  EXPECT_EQ(answers.error, "");
  ASSERT_EQ(answers.lists.size(), questions.size());
  const Oracle& then = ticks.at(to_number(answers.tick));
  for (std::size_t i = 0; i < questions.size(); i += 97) {
    const Answers::List& list = answers.lists[i];
    const auto neighbors = std::span(answers.neighbors).subspan(list.first, list.count);
    EXPECT_THAT(neighbors,
                ::testing::ElementsAreArray(then.answer(20, fixed_at(questions[i].position), {})));
  }
}

// In each tick other objects take the places of those that went, and all questions are of the kinds
// that read more of an object than its position.
TEST_P(Conformance, ALongBatchWithFiltersIsAnsweredFromOneTickWhileObjectsComeAndGo) {
  constexpr std::uint64_t count = 300;
  OpenClock clock(engine().make({}, 2));
  Random random(3);
  PointSource points(Space::planar2, Shape::uniform, random);
  std::vector<Oracle> ticks(1);
  const auto id_in = [](std::uint64_t tick, std::uint64_t i) { return ObjectId{1000 * tick + i}; };
  const auto tick = [&] {
    const std::uint64_t number = ticks.size();
    const auto tau_us = static_cast<std::int64_t>(number);
    Oracle next = ticks.back();
    for (std::uint64_t i = 0; i < count; ++i) {
      const ObjectRemoval removal{id_in(number - 1, i), tau_us};
      UpdateStatus status{};
      if (number > 1) clock.processor().remove_objects({&removal, 1}, tau_us, {&status, 1});
      if (number > 1) next.remove(removal);
      update(clock.processor(), next, tagged(fix(id_in(number, i), tau_us, points.next()), i % 4));
    }
    next.tick(tau_us);
    ticks.push_back(std::move(next));
    ASSERT_TRUE(clock.begin(tau_us));
    clock.finish();
  };
  tick();
  Filter filter;
  filter.tags.required = 1;
  std::vector<OneShotQuery> questions(20'000);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i] = question(20, points.next(), filter);
    if (i % 2 == 0) continue;
    questions[i].anchor = AnchorKind::follow;
    questions[i].object = clock.processor().find_object(id_in(1, i % count));
  }
  const auto promise = std::make_shared<std::promise<Answers>>();
  std::future<Answers> future = promise->get_future();
  clock.processor().engine().search_finished(
      questions, [promise](Answers answers) { promise->set_value(std::move(answers)); });
  while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) tick();
  if (engine().name.starts_with("cpu")) {
    EXPECT_GT(ticks.size(), 4u) << "ticks waited for the batch";
  }
  const Answers answers = future.get();
  EXPECT_EQ(answers.error, "");
  EXPECT_EQ(answers.tick, Tick{1});
  ASSERT_EQ(answers.lists.size(), questions.size());
  for (std::size_t i = 0; i < questions.size(); i += 97) {
    const Answers::List& list = answers.lists[i];
    const auto neighbors = std::span(answers.neighbors).subspan(list.first, list.count);
    const auto anchor = i % 2 == 0 ? fixed_at(questions[i].position) : follow(id_in(1, i % count));
    EXPECT_THAT(neighbors, ::testing::ElementsAreArray(ticks[1].answer(20, anchor, filter)));
  }
}

TEST_P(Conformance, StagedRowsAreNotPartOfAnAnswer) {
  Twin twin(engine(), {});
  twin.update(fix(ann, 0, 1));
  twin.tick(0);
  twin.update(fix(ann, 1, 5));
  twin.update(fix(bob, 1, 2));
  twin.compare_answer(3, fixed_at(0), {});
  twin.compare_answer(3, follow(ann), {});
  twin.compare_answer(3, follow(bob), {});
  twin.compare_answer(3, follow(ObjectId{99}), {});
}

TEST_P(Conformance, AnUnknownObjectIsToldFromAnEmptyListByTheTickOfTheAnswer) {
  TwinOptions options;
  options.oracle.object_ttl_us = 100;
  Twin twin(engine(), options);
  constexpr ObjectId never{99};
  const auto expect_known = [&](bool knows_ann, bool knows_bob) {
    OneShotQuery of_ann = question(2, {}, within(1));
    of_ann.anchor = AnchorKind::follow;
    OneShotQuery of_bob = of_ann;
    OneShotQuery of_nobody = of_ann;
    of_ann.object = twin.processor().find_object(ann);
    of_bob.object = twin.processor().find_object(bob);
    of_nobody.object = twin.processor().find_object(never);
    const Answers answers =
        ask(twin.processor().engine(), {of_nobody, of_ann, question(2, {}, within(1)), of_bob});
    ASSERT_EQ(answers.lists.size(), 4u);
    EXPECT_TRUE(answers.lists[0].is_unknown);
    EXPECT_EQ(answers.lists[1].is_unknown, !knows_ann);
    EXPECT_FALSE(answers.lists[2].is_unknown) << "a place is always known";
    EXPECT_EQ(answers.lists[3].is_unknown, !knows_bob);
    for (const ObjectId object : {ann, bob, never})
      twin.compare_answer(2, follow(object), within(1));
  };
  expect_known(false, false);
  twin.update(fix(ann, 0, 1));
  expect_known(false, false);  // the row waits for a tick
  twin.tick(0);
  expect_known(true, false);
  twin.update(fix(bob, 60, 2'000'000));
  twin.remove(ann, 50);
  expect_known(true, false);  // the removal waits too
  twin.tick(60);
  expect_known(false, true);
  twin.tick(160);
  expect_known(false, true);
  twin.tick(161);
  expect_known(false, false);  // bob has expired
  twin.update(fix(ann, 162, 1));
  twin.tick(162);
  expect_known(true, false);
}

TEST_P(Conformance, CurrentListsAreReadWhetherReportedOrNot) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s", ReportOn::membership, {.tags = true}));
  twin.put_query(0, query(1, 2, fixed_at(0)));
  twin.put_query(0, query(2, 2, follow(ann)));
  twin.put_query(0, query(3, 2, every_object()));
  twin.update(fix(ann, 0, 1));
  twin.update(tagged(fix(bob, 0, 2), 0b11));
  twin.tick(0);
  twin.compare_current_lists();
  twin.update(fix(ann, 0, 3));
  EXPECT_THAT(twin.tick(1).reports, IsEmpty());
  twin.compare_current_lists();
}

TEST_P(Conformance, AStateImportedIntoANewEngineContinuesWithTheSameBytes) {
  TwinOptions options;
  options.oracle.object_ttl_us = 100;
  Twin twin(engine(), options);
  twin.put_stream(stream("s", ReportOn::distance));
  twin.put_query(0, query(1, 2, fixed_at(0)));
  twin.put_query(0, query(2, 2, follow(bob)));
  twin.put_query(0, query(3, 2, every_object()));
  twin.update(fix(ann, 0, 1));
  twin.update(fix(bob, 60, 2));
  twin.tick(60);
  twin.update_tags({ann, 60, 0b1, 0});
  twin.remove_query(0, QueryId{1});
  twin.move_to_new_engine(1);
  EXPECT_EQ(twin.processor().last_tick(), Tick{1});
  EXPECT_EQ(twin.update(fix(bob, 50, 9)), UpdateStatus::late);
  twin.compare_answer(2, fixed_at(0), {});
  twin.tick(100);
  EXPECT_THAT(twin.list(0, 2), ElementsAre(at(ann, 1)));
  twin.move_to_new_engine(3);
  twin.tick(101);
  EXPECT_THAT(twin.list(0, 2), IsEmpty()) << "ann has expired";
}

}  // namespace
}  // namespace starling::test
