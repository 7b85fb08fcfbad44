// SPDX-License-Identifier: Apache-2.0
// Tests that a processor refuses an engine of another space by a sentence, for every engine.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/conformance/conformance.hpp"

namespace starling::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

/// Returns the sentence with which the call is refused; "" if it is not.
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

}  // namespace
}  // namespace starling::test
