// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench server` at its smallest size. Every workload runs against the real program.
// The tests check that its rows have the figures that users and scripts read. They check no times.
#include "starling/bench/server/server_bench.hpp"

#include <sstream>

#include <gmock/gmock.h>

#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ServerBenchOptions smallest(const std::string& workload, bool json) {
  return {.workloads = {workload},
          .program = {.path = STARLING_PROGRAM},
          .serve_flags = {"--threads", "1"},
          .duration_s = 0.3,
          .scale = 0.01,
          .json = json};
}

std::string output_of(const ServerBenchOptions& options) {
  std::ostringstream out;
  run_server_bench(options, out);
  return out.str();
}

struct Expected {
  std::string workload;
  std::vector<std::string> fields;
};

class ServerBench : public testing::TestWithParam<Expected> {};

TEST_P(ServerBench, ItsJsonHasTheNamedFields) {
  std::vector<std::string> fields = GetParam().fields;
  fields.insert(fields.end(),
                {"server_cpu_cores", "client_cpu_cores", "server_rss_mib", "server_hwm_mib"});
  const std::string json = output_of(smallest(GetParam().workload, true));
  EXPECT_THAT(json, AllOf(StartsWith("["), EndsWith("]\n")));
  EXPECT_THAT(json, HasSubstr("\"workload\":\"" + GetParam().workload));
  for (const std::string& field : fields) EXPECT_THAT(json, HasSubstr("\"" + field + "\":"));
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, ServerBench,
    testing::Values(
        Expected{"updates", {"updates_per_s"}}, Expected{"updates-wgs84", {"updates_per_s"}},
        Expected{"tick", {"latency_median_ms", "latency_p99_ms", "engine_median_ms", "first_ms"}},
        Expected{"questions",
                 {"latency_p50_us", "latency_p99_us", "latency_p999_us", "updates_per_s",
                  "echo_p50_us"}},
        Expected{"standing", {"latency_median_ms", "first_ms", "lists_per_tick"}},
        Expected{"subscribers", {"latency_median_ms", "latency_p99_ms", "lost", "ticks"}},
        Expected{"vectors",
                 {"rate_hz", "latency_median_ms", "latency_p99_ms", "overruns", "engine_median_ms",
                  "lists_per_tick", "lists_checked"}},
        Expected{
            "million",
            {"ticks_per_s", "overruns", "lost", "updates_per_s", "latency_p50_ms", "latency_p99_ms",
             "tick_p50_ms", "decode_ms", "apply_ms", "build_ms", "report_ms", "encode_ms",
             "publish_ms", "transport_ms", "lists_per_tick", "mb_per_tick", "bare_zmq_p50_ms"}},
        Expected{"views",
                 {"rate_hz", "updates_per_s", "ticks_per_s", "frames_per_s", "interval_max_ms",
                  "age_p50_ms", "mb_per_s", "in_view"}},
        Expected{"soak", {"latency_p99_us", "updates_per_s", "minute"}}),
    [](const auto& expected) {
      std::string name = expected.param.workload;
      std::erase(name, '-');
      return name;
    });

TEST(ServerBenchTable, ARowBeginsWithItsWorkloadAndEndsWithTheServersMemory) {
  const std::string table = output_of(smallest("tick", false));
  EXPECT_THAT(table, AllOf(StartsWith("tick "), HasSubstr("server_hwm_mib ")));
}

TEST(ServerBenchTable, AnUnknownWorkloadIsNamed) {
  EXPECT_THROW(output_of(smallest("nonsense", false)), std::invalid_argument);
}

TEST(ServerBenchTable, AServerThatDoesNotStartIsAnErrorAndNoHang) {
  ServerBenchOptions options = smallest("updates", false);
  options.serve_flags = {"--no-such-flag"};
  EXPECT_THROW(output_of(options), std::runtime_error);
}

TEST(Quantile, IsTheSmallestValueThatTheShareDoesNotExceed) {
  EXPECT_EQ(percentile({3, 1, 2, 4}, 0.5), 2);
  EXPECT_EQ(percentile({3, 1, 2, 4}, 0.51), 3);
  EXPECT_EQ(percentile({3, 1, 2, 4}, 1), 4);
  EXPECT_EQ(percentile({3, 1, 2, 4}, 0), 1);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace starling::bench
