// SPDX-License-Identifier: Apache-2.0
// Tests what only the CUDA engine has: its memory limit, failures after which it is lost, and
// machines without a GPU.
#include "starling/gpu/points/engine.hpp"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/gpu/backend.hpp"
#include "starling/gpu/points/fault_injection.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/conformance/twin.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling::gpu {
namespace {

using test::every_object;
using test::fix;
using test::fixed_at;
using test::query;
using test::stream;
using test::tagged;
using ::testing::HasSubstr;

TEST(Devices, WhereThereIsNoneTheSentenceSaysWhatHelps) {
  std::string why_none;
  if (!find_devices(why_none).empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(why_none, HasSubstr("NVIDIA"));
  EXPECT_THROW(make_engine({}), std::runtime_error);
}

TEST(Devices, TheBuildKnowsWhatItIsFor) {
  EXPECT_GE(oldest_architecture(), 800) << "the kernels reduce across lanes in hardware";
  EXPECT_EQ(oldest_architecture() % 10, 0);
}

test::EngineChoice limited_to(std::uint64_t memory_bytes_max) {
  test::EngineChoice choice;
  choice.name = "cuda";
  choice.make = [memory_bytes_max](const SpaceOptions& space, int /*threads*/) {
    return make_engine({.space = space, .memory_bytes_max = memory_bytes_max});
  };
  return choice;
}

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }
};

TEST_F(OnDevice, ATickBeyondTheMemoryLimitFailsTheOldListsStandAndTheNextGoesOn) {
  constexpr std::uint64_t objects = 2000;
  test::Twin twin(limited_to(std::uint64_t{16} << 20), {});
  twin.put_stream(stream("all", ReportOn::distance));
  for (std::uint64_t i = 0; i < objects; ++i)
    twin.update(fix(ObjectId{i}, 0, static_cast<std::int32_t>(i * 7 % objects)));
  twin.put_query(0, query(1, 8, fixed_at(0)));
  twin.tick(0);
  twin.put_query(0, query(2, 1000, every_object()));  // its lists take 32 MB
  twin.fail_tick(1);
  twin.update(fix(ObjectId{1}, 2, 5));
  twin.remove_query(0, QueryId{2});
  twin.tick(2);
  twin.compare_current_lists();
}

TEST_F(OnDevice, FiltersWhoseLayersDoNotFitInMemoryAreExact) {
  constexpr std::uint64_t objects = 20'000;
  constexpr std::uint64_t queries = 3'000;
  constexpr std::uint64_t filters = 1'000;
  test::Twin twin(limited_to(std::uint64_t{10} << 20), {});  // all layers would take about 12 MB
  twin.put_stream(stream("all", ReportOn::distance));
  test::Random random(18);
  const auto anywhere = [&] { return static_cast<std::int32_t>(random.below(100'000)); };
  for (std::uint64_t i = 0; i < objects; ++i)
    twin.update(tagged(fix(ObjectId{i}, 0, anywhere(), anywhere()),
                       static_cast<std::uint32_t>(random.below(128))));
  for (std::uint64_t i = 0; i < queries; ++i) {
    QueryDefinition definition = query(i, 8, fixed_at(anywhere(), anywhere()));
    const auto unlike = static_cast<std::uint32_t>(i % filters);  // filters differ in tags that no
                                                                  // object has
    definition.filter.tags = {.required = 127, .forbidden = unlike << 8};
    twin.put_query(0, definition);
  }
  for (const std::int64_t now_us : {0, 1}) twin.tick(now_us);
}

TEST_F(OnDevice, AFailureThatTheDeviceDoesNotRecoverFromIsSaidToBeFinal) {
  const auto faults = std::make_shared<FaultInjection>();
  ProcessorOptions options;
  Processor processor(options, make_point_engine({}, faults));
  LockStep clock(processor);
  EXPECT_FALSE(clock.advance(0).result->is_engine_lost);
  faults->stage = FaultInjection::Stage::before_rows;
  EXPECT_FALSE(clock.advance(1).result->is_engine_lost);
  faults->stage = FaultInjection::Stage::device_lost;
  const TickReport lost = clock.advance(2);
  EXPECT_TRUE(lost.result->is_engine_lost);
  EXPECT_THAT(lost.error, HasSubstr("cudaErrorECCUncorrectable"));
}

TEST_F(OnDevice, AnEngineThatCannotTellItsHostWhatRowsChangedIsLost) {
  const auto faults = std::make_shared<FaultInjection>();
  ProcessorOptions options;
  Processor processor(options, make_point_engine({}, faults));
  LockStep clock(processor);
  faults->stage = FaultInjection::Stage::telling_host;
  const TickReport lost = clock.advance(0);
  EXPECT_TRUE(lost.result->is_engine_lost);
  EXPECT_THAT(lost.error, HasSubstr("the GPU was made to fail"));
}

}  // namespace
}  // namespace starling::gpu
