// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench tick` on very small workloads. Checks the comparison with the peers' lists,
// the figures and the table, but no times.
#include "starling/bench/ticks/tick_bench.hpp"

#include <cmath>
#include <memory>
#include <span>
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

std::vector<NamedPeer> all_peers() {
  return {{"grid", [] { return make_grid_peer(2); }}, {"nanoflann", make_nanoflann_peer}};
}

TickFigures figures_of(const WorkloadOptions& workload, const std::vector<NamedPeer>& peers = {}) {
  return run_tick_bench({.workload = workload, .make_engine = make_engine, .peers = peers});
}

TEST(TickBench, ListsOfQueriesAtPlacesAreComparedWithEachPeer) {
  const TickFigures figures = figures_of(small_workload(50), all_peers());
  ASSERT_EQ(figures.peers.size(), 2u);
  for (const PeerFigures& peer : figures.peers) EXPECT_GT(peer.lists_compared, 0u) << peer.name;
}

TEST(TickBench, ListsOfEveryObjectAreComparedWithEachPeerToo) {
  for (const PeerFigures& peer : figures_of(small_workload(0), all_peers()).peers)
    EXPECT_GT(peer.lists_compared, 0u) << peer.name;
}

// A peer with wrong lists: it says that every neighbour is 1 km away.
class WrongPeer final : public Peer {
 public:
  double tick_ms(const std::vector<PeerPoint>& /*objects*/, const std::vector<PeerPoint>& queries,
                 std::uint32_t k) override {
    distances_sq_.assign(queries.size() * k, 1e6f);
    return 1;
  }
  std::span<const float> distances_sq() const override { return distances_sq_; }

 private:
  std::vector<float> distances_sq_;
};

TEST(TickBench, APeerThatDiffersEndsTheRunAndIsNamed) {
  try {
    figures_of(small_workload(50), {{"wrong", [] { return std::make_unique<WrongPeer>(); }}});
    FAIL() << "the difference was not seen";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("that of wrong is at"));
  }
}

TEST(TickBench, AWorkloadInWhichNothingMovesHasFiniteFigures) {
  WorkloadOptions still = small_workload(50);
  still.moving_share = 0;
  const TickFigures figures = figures_of(still);
  EXPECT_EQ(figures.stage_ns_per_update, 0);
  EXPECT_TRUE(std::isfinite(figures.total_ms));
}

TEST(TickBench, TheTotalHoldsLatticeStagingAndTheTick) {
  WorkloadOptions one_tick = small_workload(50);
  one_tick.ticks = 1;
  const TickFigures figures = figures_of(one_tick);
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
