// The table of engines, and the suite made out of it.
#include "tests/conformance/engines.hpp"

#include "cpu/cpu_engine.hpp"
#include "tests/conformance/conformance.hpp"

namespace starling::test {

const std::vector<EngineChoice>& engines() {
  static const std::vector<EngineChoice> all{
      {"cpu",
       [](Space space, int threads) {
         cpu::EngineOptions options;
         options.space = space;
         options.threads = static_cast<unsigned>(threads);
         return cpu::make_engine(options);
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::ValuesIn(engines()),
                         [](const auto& run) { return run.param.name; });

}  // namespace starling::test
