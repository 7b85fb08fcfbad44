// The table of engines, and the suite made out of it.
#include "tests/conformance/engines.hpp"

#include <cstddef>

#include "cpu/cpu_engine.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/support/failing_new.hpp"
#ifdef STARLING_CUDA
#include "gpu/gpu_engine.hpp"
#endif

namespace starling::test {

namespace {

constexpr std::size_t memory_while_failing = std::size_t{1} << 20;

EngineChoice cpu_choice() {
  EngineChoice choice;
  choice.name = "cpu";
  choice.make = [](Space space, int threads) {
    return cpu::make_engine({.space = space, .threads = static_cast<unsigned>(threads)});
  };
  choice.fail_ticks = [] { return std::make_shared<FailingNew>(memory_while_failing); };
  return choice;
}

#ifdef STARLING_CUDA
EngineChoice cuda_choice() {
  using Stage = gpu::FaultInjection::Stage;
  const auto faults = std::make_shared<gpu::FaultInjection>();
  EngineChoice choice;
  choice.name = "cuda";
  choice.make = [faults](Space space, int /*threads*/) {
    return gpu::make_engine({.space = space, .faults = faults});
  };
  choice.fail_ticks = [faults, next = Stage::none]() mutable {
    next = next == Stage::after_search ? Stage::before_rows
                                       : static_cast<Stage>(static_cast<int>(next) + 1);
    faults->stage = next;
    return std::shared_ptr<void>(nullptr, [faults](void*) { faults->stage = Stage::none; });
  };
  if (!gpu::find_devices(choice.why_skipped).empty()) choice.why_skipped.clear();
  return choice;
}
#endif

}  // namespace

const std::vector<EngineChoice>& engines() {
  static const std::vector<EngineChoice> all{
      cpu_choice(),
#ifdef STARLING_CUDA
      cuda_choice(),
#endif
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::ValuesIn(engines()),
                         [](const auto& run) { return run.param.name; });

}  // namespace starling::test
