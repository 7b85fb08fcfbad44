// SPDX-License-Identifier: Apache-2.0
// Makes the list of engines under test, and instantiates the suite for each of them.
#include "tests/conformance/engines.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "starling/cpu/backend.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/support/failing_new.hpp"
#ifdef STARLING_CUDA
#include <gtest/gtest.h>

#include "starling/gpu/backend.hpp"
#include "starling/gpu/points/engine.hpp"
#endif

namespace starling::test {

namespace {

constexpr std::size_t memory_while_failing = std::size_t{1} << 20;

EngineChoice cpu_choice(std::string_view simd) {
  EngineChoice choice;
  choice.name = "cpu";
  choice.label = "cpu_" + std::string(simd);
  choice.make = [simd](const SpaceOptions& space, int threads) {
    cpu::use_simd_target(simd);
    return cpu::make_engine({.space = space, .threads = static_cast<unsigned>(threads)});
  };
  choice.fail_ticks = [] { return std::make_shared<FailingNew>(memory_while_failing); };
  return choice;
}

#ifdef STARLING_CUDA
EngineChoice cuda_choice(const std::string& label, const gpu::SmallWork& small) {
  using Stage = gpu::FaultInjection::Stage;
  const auto faults = std::make_shared<gpu::FaultInjection>();
  EngineChoice choice;
  choice.name = "cuda";
  choice.label = label;
  choice.make = [faults, small](const SpaceOptions& space, int /*threads*/) {
    return gpu::make_point_engine({.space = space.space, .small = small}, faults);
  };
  // The first stage to fail depends on the length of the test's name, so that tests begin with
  // different stages. A counter of tests would always begin anew, because ctest runs each test in
  // its own process.
  choice.fail_ticks = [faults, calls = std::size_t{0}]() mutable {
    constexpr Stage stages[] = {Stage::before_rows, Stage::after_rows, Stage::after_search};
    const std::string_view test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    faults->stage = stages[(test.size() + calls++) % std::size(stages)];
    return std::shared_ptr<void>(nullptr, [faults](void*) { faults->stage = Stage::none; });
  };
  if (!gpu::find_devices(choice.why_skipped).empty()) choice.why_skipped.clear();
  return choice;
}
#endif

}  // namespace

const std::vector<EngineChoice>& engines() {
  static const std::vector<EngineChoice> all = [] {
    std::vector<EngineChoice> choices;
    for (const std::string_view simd : cpu::simd_targets()) choices.push_back(cpu_choice(simd));
#ifdef STARLING_CUDA
    choices.push_back(cuda_choice("cuda", {}));
    choices.push_back(cuda_choice("cuda_where_no_work_is_small",
                                  {.objects_max = 0, .searches_max = 0, .part_rows_min = 1}));
#endif
    return choices;
  }();
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::ValuesIn(engines()),
                         [](const auto& run) { return run.param.label; });

}  // namespace starling::test
