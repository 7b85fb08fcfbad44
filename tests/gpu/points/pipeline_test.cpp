// SPDX-License-Identifier: Apache-2.0
// Begins ticks while earlier ticks are in flight: their rows are being copied, their lists
// searched, or their reports copied. The reports must equal those of an engine that waits for each
// tick's result.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/gpu/device/devices.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/engine.hpp"
#include "starling/gpu/points/fault_injection.hpp"
#include "tests/conformance/twin.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

using test::Random;
using ::testing::HasSubstr;

// A copy of at least bytes_beside_min bytes runs while another tick is computed. With these
// numbers, the rows are that large if all objects move, and the reports are that large if all lists
// change.
constexpr std::uint32_t object_count = 20'000;
constexpr std::uint32_t query_count = 4'000;
static_assert(object_count * sizeof(ObjectRow) > bytes_beside_min);
static_assert(query_count * (sizeof(ReportedList) + 8 * sizeof(Neighbor)) > bytes_beside_min);
constexpr std::int32_t coordinate_max = 100'000;

struct Sizes {
  Space space = Space::planar2;
  std::uint32_t objects = object_count;
  std::uint32_t queries = query_count;
};

void PrintTo(const Sizes& sizes, std::ostream* out) {
  *out << sizes.objects << " objects in "
       << (sizes.space == Space::planar2 ? "planar2" : "planar3");
}

/// Returns sizes so small that the engine builds an index only in ticks in which a query changes.
constexpr Sizes few(Space space) {
  return {space, 300, 30};
}

/// Draws the rows of each tick: in some ticks many, in others few or none. Objects and queries
/// leave and come back.
class Script {
 public:
  explicit Script(std::uint64_t seed, const Sizes& sizes = {}) : sizes_(sizes), random_(seed) {
    for (Slot slot = 0; slot < sizes_.objects; ++slot)
      first_.births.push_back({slot, ObjectId{std::uint64_t{slot} * 7919 % sizes_.objects}});
    object_generations_.resize(sizes_.objects);
    query_generations_.resize(sizes_.queries);
    for (Slot slot = 0; slot < sizes_.objects; ++slot) first_.objects.push_back(draw_object(slot));
    for (Slot slot = 0; slot < sizes_.queries; ++slot) first_.queries.push_back(draw_query(slot));
    ticks_.push_back(std::move(first_));
  }

  void add(std::size_t ticks) {
    for (std::size_t i = 0; i < ticks; ++i) ticks_.push_back(draw_tick());
  }

  const std::vector<Staging>& ticks() const { return ticks_; }

 private:
  Staging draw_tick() {
    constexpr double moving[] = {0, 0.001, 0.02, 1};
    constexpr double putting[] = {0, 0, 0.01, 0.5};
    Staging rows;
    const double objects = moving[random_.below(4)];
    const double queries = putting[random_.below(4)];
    for (Slot slot = 0; slot < sizes_.objects; ++slot)
      if (random_.chance(objects)) rows.objects.push_back(draw_object(slot));
    for (Slot slot = 0; slot < sizes_.queries; ++slot)
      if (random_.chance(queries)) rows.queries.push_back(draw_query(slot));
    return rows;
  }

  ObjectRow draw_object(Slot slot) {
    std::uint32_t& generation = object_generations_[slot];
    if (!is_alive(generation) || random_.chance(0.01)) ++generation;
    ObjectRow row;
    row.slot = slot;
    row.generation = generation;
    row.tags = static_cast<std::uint32_t>(random_.below(4));
    row.position = draw_position();
    return row;
  }

  QueryRow draw_query(Slot slot) {
    std::uint32_t& generation = query_generations_[slot];
    if (!is_alive(generation) || random_.chance(0.3)) ++generation;
    QueryRow row;
    row.slot = slot;
    row.generation = generation;
    row.k = static_cast<std::uint32_t>(random_.chance(0.05) ? random_.between(17, 80)
                                                            : random_.between(1, 10));
    row.on = ReportOn::distance;
    row.with_state = slot % 3 == 0;
    row.position = draw_position();
    if (random_.chance(0.5)) {
      row.anchor = AnchorKind::follow;
      row.object = static_cast<Slot>(random_.below(sizes_.objects));
    }
    if (random_.chance(0.1)) row.filter.tags = {1, 0};
    return row;
  }

  LatticePoint draw_position() {
    return {static_cast<std::int32_t>(random_.between(0, coordinate_max)),
            static_cast<std::int32_t>(random_.between(0, coordinate_max)),
            sizes_.space == Space::planar2
                ? 0
                : static_cast<std::int32_t>(random_.between(0, coordinate_max))};
  }

  Sizes sizes_;
  Random random_;
  Staging first_;
  std::vector<std::uint32_t> object_generations_;
  std::vector<std::uint32_t> query_generations_;
  std::vector<Staging> ticks_;
};

/// A tick's result as a sequence of numbers. If two sequences are equal, the results have the same
/// bytes.
struct Heard {
  Tick tick{};
  std::string error;
  std::vector<std::uint64_t> words;

  bool operator==(const Heard&) const = default;
};

using Lists = std::map<Slot, std::vector<Neighbor>>;

/// Drives an engine and keeps all results that the engine has delivered.
class Driven {
 public:
  explicit Driven(const PointEngineOptions& options = {},
                  std::shared_ptr<const FaultInjection> faults = nullptr)
      : engine_(make_point_engine(options, std::move(faults))) {
    engine_->set_result_handler([this](std::unique_ptr<TickResult> result) { hear(*result); });
  }

  Engine& engine() { return *engine_; }

  /// Begins a tick with these rows. Waits until the engine accepts the tick, but does not wait for
  /// a result. The engine may take the object rows in two parts.
  void begin(const Staging& rows) {
    Staging& half = engine_->staging();
    half.births.assign(rows.births.begin(), rows.births.end());
    const auto middle = rows.objects.begin() + static_cast<std::ptrdiff_t>(rows.objects.size() / 2);
    half.objects.assign(rows.objects.begin(), middle);
    engine_->take_ahead();
    half.objects.insert(half.objects.end(), middle, rows.objects.end());
    half.queries.assign(rows.queries.begin(), rows.queries.end());
    ++begun_;
    while (!engine_->begin_tick(Tick{begun_}, static_cast<std::int64_t>(begun_)))
      std::this_thread::yield();
    most_in_flight_ = std::max(most_in_flight_, begun_ - heard_count());
  }

  /// Waits for the results of all ticks that have begun.
  void wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return heard_.size() == begun_; });
  }

  /// Asks for some current lists, as a server does for a snapshot.
  void read_some_lists() {
    engine_->read_lists({1, 2, 3}, [this](const Answers& answers) {
      EXPECT_EQ(answers.error, "");
      EXPECT_LE(to_number(answers.tick), heard_count()) << "the answer came before the result";
    });
  }

  void destroy() { engine_.reset(); }

  std::uint64_t most_in_flight() const { return most_in_flight_; }
  std::uint64_t begun() const { return begun_; }
  std::size_t heard_count() const {
    const std::lock_guard lock(mutex_);
    return heard_.size();
  }
  /// heard() and lists_heard_of() may be called only while no tick is in flight.
  const std::vector<Heard>& heard() const { return heard_; }
  const Lists& lists_heard_of() const { return lists_; }

  Lists current_lists() {
    std::vector<Slot> slots;
    for (Slot slot = 0; slot < query_count; ++slot) slots.push_back(slot);
    const Answers answers = test::read_lists(*engine_, slots);
    EXPECT_EQ(answers.error, "");
    Lists lists;
    for (const Answers::List& list : answers.lists) {
      const auto from = answers.neighbors.begin() + static_cast<std::ptrdiff_t>(list.first);
      lists[list.query].assign(from, from + list.count);
    }
    return lists;
  }

 private:
  void hear(const TickResult& result) {
    Heard heard{result.tick, result.error, {}};
    const auto add = [&](std::uint64_t word) { heard.words.push_back(word); };
    add(result.objects);
    const std::lock_guard lock(mutex_);
    for (const ReportedList& list : result.lists) {
      const auto neighbors = result.neighbors.subspan(list.first, list.count);
      add(list.query);
      add(static_cast<std::uint64_t>(list.event));
      add(list.count);
      add(list.first_state);
      for (const Neighbor& neighbor : neighbors) {
        add(to_number(neighbor.key));
        add(to_number(neighbor.object));
      }
      if (list.event == ListEvent::removed)
        lists_.erase(list.query);
      else
        lists_[list.query].assign(neighbors.begin(), neighbors.end());
    }
    for (const NeighborState& state : result.states) {
      add(static_cast<std::uint32_t>(state.position.x));
      add(static_cast<std::uint32_t>(state.position.y));
      add(state.tags);
    }
    heard_.push_back(std::move(heard));
    arrived_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Heard> heard_;
  Lists lists_;
  std::uint64_t begun_ = 0;
  std::uint64_t most_in_flight_ = 0;
  std::unique_ptr<Engine> engine_;  ///< destroyed first, because its destructor delivers results
};

void expect_in_order(const Driven& driven) {
  ASSERT_EQ(driven.heard().size(), driven.begun());
  for (std::size_t i = 0; i < driven.heard().size(); ++i)
    EXPECT_EQ(to_number(driven.heard()[i].tick), i + 1);
}

class Pipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }
};

class PipelineOfSizes : public Pipeline, public ::testing::WithParamInterface<Sizes> {};

INSTANTIATE_TEST_SUITE_P(Many, PipelineOfSizes,
                         ::testing::Values(Sizes{.space = Space::planar2},
                                           Sizes{.space = Space::planar3}));
INSTANTIATE_TEST_SUITE_P(Few, PipelineOfSizes,
                         ::testing::Values(few(Space::planar2), few(Space::planar3)));

TEST_P(PipelineOfSizes, TicksInFlightTogetherSayInOrderWhatTheySayOneByOne) {
  std::uint64_t most_in_flight = 0;
  for (const std::uint64_t seed : test::seeds(10)) {
    SCOPED_TRACE(test::replay_hint(seed));
    Script script(seed, GetParam());
    script.add(16);
    Driven one_by_one({.space = GetParam().space});
    Driven together({.space = GetParam().space, .small = {.part_rows_min = object_count / 4}});
    for (const Staging& rows : script.ticks()) {
      one_by_one.begin(rows);
      one_by_one.wait();
    }
    for (const Staging& rows : script.ticks()) {
      together.begin(rows);
      together.read_some_lists();
    }
    together.wait();
    expect_in_order(together);
    EXPECT_EQ(together.heard(), one_by_one.heard());
    EXPECT_EQ(together.current_lists(), together.lists_heard_of());
    most_in_flight = std::max(most_in_flight, together.most_in_flight());
  }
  if (GetParam().objects == object_count) {
    EXPECT_GT(most_in_flight, 1u);
  }
}

TEST_P(PipelineOfSizes, TicksThatFailWhileOthersAreInFlightLoseNothing) {
  using Stage = FaultInjection::Stage;
  const bool are_many = GetParam().objects == object_count;  // fewer rows are not copied beside a
                                                             // tick
  const SmallWork in_parts{.part_rows_min = object_count / 4};
  for (const Stage stage : {Stage::copying_ahead, Stage::copying, Stage::before_rows,
                            Stage::after_rows, Stage::after_search}) {
    std::ptrdiff_t failed = 0;
    for (const std::uint64_t seed : test::seeds(5)) {
      SCOPED_TRACE(test::replay_hint(seed) + ", stage " + std::to_string(static_cast<int>(stage)));
      Script script(seed, GetParam());
      script.add(12);
      const auto faults = std::make_shared<FaultInjection>();
      Driven failing({.space = GetParam().space, .small = in_parts}, faults);
      Driven whole({.space = GetParam().space});
      Random random(seed);
      for (const Staging& rows : script.ticks()) {
        faults->stage = random.chance(0.4) ? stage : Stage::none;
        failing.begin(rows);
        whole.begin(rows);
      }
      faults->stage = Stage::none;
      for (Driven* const driven : {&failing, &whole}) {
        driven->begin(Staging());
        driven->wait();
        expect_in_order(*driven);
      }
      EXPECT_EQ(failing.heard().back().error, "");
      EXPECT_EQ(failing.current_lists(), whole.current_lists());
      EXPECT_EQ(failing.lists_heard_of(), whole.current_lists());
      failed +=
          std::ranges::count_if(failing.heard(), [](const Heard& at) { return !at.error.empty(); });
    }
    if (are_many || stage >= Stage::before_rows) {
      EXPECT_GT(failed, 0) << "stage " << static_cast<int>(stage);
    }
  }
}

TEST_P(PipelineOfSizes, QuestionsWithoutEndAreAnsweredEachFromOneTickAndHoldUpNone) {
  Script script(3, GetParam());
  script.add(12);
  Driven driven({.space = GetParam().space});
  std::vector<OneShotQuery> questions(2'000);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i].k = i % 2 == 0 ? 20 : 200;  // the kernels of the two k differ in shared memory
    questions[i].position = {static_cast<std::int32_t>(i) * 50, 0, 0};
  }
  std::atomic<bool> is_over{false};
  std::promise<void> last_answered;
  std::uint64_t last_tick = 0;  // only the thread that delivers answers uses it
  std::function<void(Answers)> ask_again = [&](const Answers& answers) {
    EXPECT_EQ(answers.error, "");
    EXPECT_GE(to_number(answers.tick), last_tick);
    last_tick = to_number(answers.tick);
    if (is_over) return last_answered.set_value();
    driven.engine().search_finished(questions, ask_again);
  };
  driven.engine().search_finished(questions, ask_again);
  for (const Staging& rows : script.ticks()) driven.begin(rows);
  driven.wait();
  is_over = true;
  last_answered.get_future().wait();
  expect_in_order(driven);
  for (const Heard& heard : driven.heard()) EXPECT_EQ(heard.error, "");
}

TEST_F(Pipeline, ADeviceLostWhileTicksAreInFlightIsSaidInOrder) {
  Script script(1);
  script.add(8);
  const auto faults = std::make_shared<FaultInjection>();
  Driven driven({}, faults);
  for (const Staging& rows : script.ticks()) {
    if (driven.begun() == 4) faults->stage = FaultInjection::Stage::device_lost;
    driven.begin(rows);
  }
  driven.wait();
  expect_in_order(driven);
  EXPECT_THAT(driven.heard().back().error, HasSubstr("cudaErrorECCUncorrectable"));
}

TEST_F(Pipeline, RowsThatTheLimitOnMemoryKeepsOutFailTheirTickInOrder) {
  Driven driven({.memory_bytes_max = std::uint64_t{3} << 20});
  Script script(1);
  Staging few;
  few.births.push_back({0, ObjectId{0}});
  few.objects.push_back({0, 1, 0, {}, 0});
  QueryRow query;
  query.slot = 0;
  query.generation = 1;
  query.k = 1;
  few.queries.push_back(query);
  driven.begin(few);
  driven.begin(Staging());
  Staging many = script.ticks().front();
  // These rows exceed the memory limit. Their count makes the engine copy them while another tick
  // is computed.
  const std::size_t copies = 5;
  for (Slot slot = object_count; slot < copies * object_count; ++slot) {
    many.births.push_back({slot, ObjectId{slot}});
    many.objects.push_back({slot, 1, 0, {}, 0});
  }
  driven.begin(many);
  driven.begin(Staging());
  driven.wait();
  expect_in_order(driven);
  EXPECT_EQ(driven.heard()[1].error, "");
  EXPECT_THAT(driven.heard()[2].error, HasSubstr("memory is full"));
  EXPECT_THAT(driven.heard()[3].error, HasSubstr("memory is full")) << "its rows are kept";
  EXPECT_EQ(driven.current_lists(), driven.lists_heard_of()) << "the old lists stand";
}

TEST_P(PipelineOfSizes, AnExportedStateHoldsEveryTickBegun) {
  Script script(2, GetParam());
  script.add(6);
  Driven driven({.space = GetParam().space});
  for (std::size_t i = 0; i < 4; ++i) driven.begin(script.ticks()[i]);
  const EngineState state = driven.engine().export_state();
  EXPECT_EQ(state.tick, Tick{4});
  Driven heir({.space = GetParam().space});
  heir.engine().import_state(state);
  EXPECT_EQ(heir.current_lists(), driven.current_lists());
}

TEST_F(Pipeline, AnEngineDestroyedWithTicksInFlightDeliversThemFirst) {
  for (std::size_t ticks = 1; ticks <= 5; ++ticks) {
    Script script(ticks);
    script.add(ticks);
    Driven driven;
    for (const Staging& rows : script.ticks()) {
      driven.begin(rows);
      driven.read_some_lists();
    }
    driven.destroy();
    expect_in_order(driven);
    for (const Heard& heard : driven.heard()) EXPECT_EQ(heard.error, "");
  }
}

}  // namespace
}  // namespace starling::gpu
