// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench pipeline` on very small workloads. Checks the table, the JSON and the
// computation of shares, but no times.
#include "starling/bench/ticks/pipeline_bench.hpp"

#include <sstream>

#include <gmock/gmock.h>

#include "starling/bench/ticks/pipeline_table.hpp"
#include "starling/cpu/backend.hpp"

namespace starling::bench {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int ticks = 8;

std::unique_ptr<Engine> make_engine(Space space) {
  return cpu::make_engine({.space = {.space = space}, .threads = 1});
}

std::string output_of(const std::string& workload, bool json) {
  std::ostringstream out;
  write_pipeline_table({.workloads = {workload},
                        .make_engine = make_engine,
                        .engine_name = "cpu",
                        .json = json,
                        .ticks = ticks},
                       out);
  return out.str();
}

TEST(PipelineBench, ItsTableHasARowAWorkload) {
  const std::string table = output_of("10k-100", false);
  EXPECT_THAT(table, AllOf(StartsWith("engine cpu; "), HasSubstr("\nworkload "),
                           HasSubstr("\n10k-100 "), EndsWith("\n")));
}

TEST(PipelineBench, ItsJsonHasTheNamedFields) {
  const std::string json = output_of("10k-100", true);
  EXPECT_THAT(json, AllOf(StartsWith("["), EndsWith("]\n")));
  const std::vector<std::string> fields{
      "ticks",         "latency_p50_us",   "latency_p99_us",    "period_us",
      "copy_in_us",    "device_us",        "copy_out_us",       "bytes_in",
      "bytes_out",     "copy_in_gb_per_s", "copy_out_gb_per_s", "period_ratio",
      "latency_ratio", "hidden_share"};
  for (const std::string& field : fields) EXPECT_THAT(json, HasSubstr("\"" + field + "\":"));
}

TEST(PipelineBench, AnUnknownWorkloadIsNamed) {
  EXPECT_THROW(output_of("nonsense", false), std::invalid_argument);
}

TEST(PipelineBench, EveryObjectMovesAndListsAreReported) {
  const WorkloadOptions small{
      .name = "small", .says = "for tests", .objects = 500, .queries = 50, .k = 8, .ticks = ticks};
  const PipelineFigures figures =
      run_pipeline_bench({.workload = small, .make_engine = make_engine});
  EXPECT_EQ(figures.ticks, ticks);
  EXPECT_EQ(figures.bytes_in, 500 * sizeof(ObjectRow));
  EXPECT_GT(figures.bytes_out, 0);
  EXPECT_GT(figures.latency_p50_us, 0);
  EXPECT_GE(figures.latency_p99_us, figures.latency_p50_us);
  EXPECT_GT(figures.period_us, 0);
}

TEST(PipelineFigures, AllIsHiddenWhereThePeriodIsTheLongestStage) {
  PipelineFigures figures{.period_us = 10, .copy_in_us = 4, .device_us = 10, .copy_out_us = 6};
  EXPECT_EQ(figures.hidden_share(), 1);
  figures.period_us = 15;
  EXPECT_EQ(figures.hidden_share(), 0.5);
  figures.period_us = 25;
  EXPECT_EQ(figures.hidden_share(), 0);
  figures = {.period_us = 12, .copy_in_us = 4, .device_us = 4, .copy_out_us = 10};
  EXPECT_EQ(figures.hidden_share(), 0.75);
}

TEST(ThereAndBack, EachIsBesideTheOneBefore) {
  const std::vector<std::size_t> expected{0, 1, 2, 1, 0, 1};
  for (std::size_t number = 0; number < expected.size(); ++number)
    EXPECT_EQ(there_and_back(number, 3), expected[number]);
  EXPECT_EQ(there_and_back(7, 1), 0u);
}

}  // namespace
}  // namespace starling::bench
