// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench vector-ticks` on a very small workload. Checks the table and the JSON, but
// no times.
#include "starling/bench/vectors/vector_tick_bench.hpp"

#include <sstream>

#include <gmock/gmock.h>

#include "starling/cpu/backend.hpp"

namespace starling::bench {
namespace {

using ::testing::HasSubstr;

VectorTickOptions small() {
  VectorTickOptions options;
  options.make_engine = [](const SpaceOptions& space) {
    return cpu::make_engine({.space = space, .threads = 1});
  };
  options.engine_name = "engine cpu";
  options.objects = 300;
  options.dimension = 5;
  options.metric = Metric::cosine;
  options.moving = 0.1;
  options.queries = 7;
  options.ticks = 3;
  return options;
}

TEST(VectorTickBench, FiguresAreOfTicksThatRan) {
  const VectorTickFigures figures = run_vector_ticks(small());
  EXPECT_GT(figures.stage_ms, 0);
  EXPECT_GT(figures.tick_ms, 0);
  EXPECT_GE(figures.p99_ms, figures.tick_ms);
  EXPECT_GT(figures.bytes_per_object, 4 * 5 * sizeof(float)) << "table, engine and two halves";
}

TEST(VectorTickBench, TheTableAndTheJsonNameTheWorkload) {
  VectorTickOptions options = small();
  std::ostringstream table;
  write_vector_ticks(options, table);
  EXPECT_THAT(table.str(), HasSubstr("engine cpu\n"));
  EXPECT_THAT(table.str(), HasSubstr("cosine"));
  options.json = true;
  std::ostringstream json;
  write_vector_ticks(options, json);
  EXPECT_THAT(json.str(), HasSubstr("{\"objects\": 300, \"dimension\": 5, \"metric\": \"cosine\""));
}

}  // namespace
}  // namespace starling::bench
