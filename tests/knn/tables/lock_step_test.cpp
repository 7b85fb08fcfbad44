// SPDX-License-Identifier: Apache-2.0
// Tests that the reports of lock-step ticks own their memory. The engine of these tests reports one
// list in each tick.
#include "starling/knn/tables/lock_step.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace starling {
namespace {

/// An engine that finishes each tick at once. It reports one list, which has one neighbour and
/// belongs to query slot 0.
class OneListEngine final : public Engine {
 public:
  std::string_view name() const override { return "one list"; }
  SpaceOptions space() const override { return {}; }
  const EngineLimits& limits() const override { return limits_; }
  EngineBytes bytes_used() const override { return {}; }
  void set_result_handler(ResultHandler handler) override { handler_ = std::move(handler); }
  Staging& staging() override { return half_; }
  bool has_room() const override { return true; }
  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    struct Lists {
      std::vector<ReportedList> lists{{.query = 0, .count = 1}};
      std::vector<Neighbor> neighbors{{.key = RankKey{4}, .object = ObjectId{9}}};
    };
    half_.clear();
    const auto lists = std::make_shared<Lists>();
    auto result = std::make_unique<TickResult>();
    result->tick = tick;
    result->tau_us = tau_us;
    result->lists = lists->lists;
    result->neighbors = lists->neighbors;
    result->owner = lists;
    handler_(std::move(result));
    return true;
  }
  void search_finished(std::vector<OneShotQuery>, AnswersHandler) override {}
  void read_lists(std::vector<Slot>, AnswersHandler) override {}
  EngineState export_state() override { return {}; }
  void import_state(const EngineState&) override {}

 private:
  static constexpr EngineLimits limits_{
      .objects_max = 100, .queries_max = 100, .neighbors_max = 1000};
  ResultHandler handler_;
  Staging half_;
};

class LockStepTicks : public testing::Test {
 protected:
  LockStepTicks() {
    ProcessorOptions options;
    options.objects.objects_max = 100;
    options.queries.queries_max = 100;
    options.queries.neighbors_max = 1000;
    processor_.emplace(options, std::make_unique<OneListEngine>());
    clock_.emplace(*processor_);
    processor_->put_stream({.name = "stream"});
    const QueryDefinition query{.id = QueryId{7}};
    QueryStatus status{};
    processor_->put_queries(StreamId{0}, {&query, 1}, {&status, 1});
    EXPECT_EQ(status, QueryStatus::accepted);
  }

  static void expect_one_list(const TickReport& report) {
    ASSERT_EQ(report.streams.size(), 1u);
    ASSERT_EQ(report.streams[0].queries.size(), 1u);
    EXPECT_EQ(report.streams[0].queries[0].query, QueryId{7});
    ASSERT_EQ(report.streams[0].queries[0].neighbors.size(), 1u);
    EXPECT_EQ(report.streams[0].queries[0].neighbors[0].object, ObjectId{9});
  }

  std::optional<Processor> processor_;
  std::optional<LockStep> clock_;
};

TEST_F(LockStepTicks, UseTheMemoryOfADestroyedReportAgain) {
  const void* streams = nullptr;
  const void* queries = nullptr;
  for (std::int64_t tau_us = 0; tau_us < 5; ++tau_us) {
    const TickReport report = clock_->advance(tau_us);
    expect_one_list(report);
    if (tau_us > 0) {
      EXPECT_EQ(report.streams.data(), streams);
      EXPECT_EQ(report.streams[0].queries.data(), queries);
    }
    streams = report.streams.data();
    queries = report.streams[0].queries.data();
  }
}

TEST_F(LockStepTicks, LeaveAReportThatIsHeldAsItIs) {
  const TickReport held = clock_->advance(0);
  const TickReport later = clock_->advance(1);
  EXPECT_NE(later.streams.data(), held.streams.data());
  expect_one_list(held);
  expect_one_list(later);
}

TEST_F(LockStepTicks, MoveAReportWithItsMemory) {
  TickReport first = clock_->advance(0);
  TickReport moved = std::move(first);
  expect_one_list(moved);
  moved = clock_->advance(1);
  expect_one_list(moved);
}

TEST_F(LockStepTicks, MakeReportsThatMayOutliveTheProcessor) {
  const TickReport report = clock_->advance(0);
  clock_.reset();
  processor_.reset();
  expect_one_list(report);
}

}  // namespace
}  // namespace starling
