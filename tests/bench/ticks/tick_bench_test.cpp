// SPDX-License-Identifier: Apache-2.0
// `starling bench tick` on very small workloads: the lists compared with the peer, the figures and
// their table. The tests judge no times.
#include "starling/bench/ticks/tick_bench.hpp"

#include <cmath>
#include <sstream>

#include <gmock/gmock.h>

#include "starling/bench/ticks/tick_table.hpp"
#include "starling/cpu/backend.hpp"

namespace starling::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Engine> make_engine(Space space) {
  return cpu::make_engine({.space = {.space = space}, .threads = 1});
}

WorkloadOptions small_workload(std::uint32_t queries) {
  return {.name = "small",
          .says = "for tests",
          .layout = Layout::clustered,
          .objects = 500,
          .queries = queries,
          .k = 8,
          .ticks = 5,
          .has_peer = true};
}

TickFigures figures_of(const WorkloadOptions& workload, bool with_peer) {
  return run_tick_bench(
      {.workload = workload, .make_engine = make_engine, .with_nanoflann = with_peer});
}

TEST(TickBench, ListsOfQueriesAtPlacesAreComparedWithThePeer) {
  EXPECT_GT(figures_of(small_workload(50), true).lists_compared, 0u);
}

TEST(TickBench, ListsOfEveryObjectAreComparedWithThePeerToo) {
  EXPECT_GT(figures_of(small_workload(0), true).lists_compared, 0u);
}

TEST(TickBench, AWorkloadInWhichNothingMovesHasFiniteFigures) {
  WorkloadOptions still = small_workload(50);
  still.moving_share = 0;
  const TickFigures figures = figures_of(still, false);
  EXPECT_EQ(figures.stage_ns_per_update, 0);
  EXPECT_TRUE(std::isfinite(figures.total_ms));
}

TEST(TickBench, TheTotalHoldsLatticeStagingAndTheTick) {
  WorkloadOptions one_tick = small_workload(50);
  one_tick.ticks = 1;
  const TickFigures figures = figures_of(one_tick, false);
  EXPECT_GE(figures.total_ms, figures.lattice_ms + figures.stage_ms + figures.build_ms +
                                  figures.search_ms + figures.diff_ms);
}

std::string table_of(int ticks) {
  std::ostringstream out;
  run_bench({.workloads = {"W3"}, .make_engine = make_engine, .engine_name = "cpu", .ticks = ticks},
            out);
  return out.str();
}

TEST(Bench, WithFewerThanAHundredTicksTheSlowestIsCalledMax) {
  EXPECT_THAT(table_of(1), HasSubstr(" max "));
}

TEST(Bench, WithAHundredTicksThePercentileIsCalledP99) {
  const std::string table = table_of(100);
  EXPECT_THAT(table, HasSubstr(" p99 "));
  EXPECT_THAT(table, Not(HasSubstr(" max ")));
}

}  // namespace
}  // namespace starling::bench
