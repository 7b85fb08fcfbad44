// SPDX-License-Identifier: Apache-2.0
// Tests the speed limit of traces: jumps are rejected, and a wrong first fix is replaced.
#include <gmock/gmock.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

/// Reads rows of one object, written as "time y,time y,...", with a limit of 10 m/s. Returns the y
/// of each row that is kept.
std::vector<double> kept(std::string_view lines, TraceCounts* counts = nullptr) {
  const TemporaryDirectory directory;
  std::string text = "id time y\n";
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find(','));
    text += "a " + std::string(line) + "\n";
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  const ReadTrace trace = read_trace({directory.write("jumps.txt", text)},
                                     {.columns = "id=id,time=time,x=y,y=y", .max_speed_mps = 10});
  if (counts) *counts = trace.counts;
  std::vector<double> ys;
  for (const TraceRow& row : trace.rows) ys.push_back(row.position[1]);
  return ys;
}

using Kept = std::vector<double>;

TEST(SpeedLimit, SkipsAndCountsAJumpAndTheJumpBackIsNone) {
  TraceCounts counts;
  EXPECT_EQ(kept("0 0,1 5,2 500,3 15,4 20", &counts), (Kept{0, 5, 15, 20}));
  EXPECT_EQ(counts[SkipReason::too_fast], 1u);
  EXPECT_EQ(counts.rows, 4u);
}

TEST(SpeedLimit, AllowsExactlyTheLimitInAStraightLine) {
  // x and y are equal. So a step of 7 is a distance of 9.9 m, and a step of 7.1 is one of 10.04 m.
  EXPECT_EQ(kept("0 0,1 7,2 14.1"), (Kept{0, 7}));
}

TEST(SpeedLimit, MeasuresRowsOutOfTimeOrderByTheTimeBetweenThem) {
  EXPECT_EQ(kept("100 0,99 5,50 300,0 600,49 1100"), (Kept{0, 5, 300, 600}));
}

TEST(SpeedLimit, TimesLessThanASecondApartCountAsOneSecond) {
  EXPECT_EQ(kept("0 0,0 5,0.1 10,0.2 100"), (Kept{0, 5, 10}));
}

TEST(SpeedLimit, ThreeRefusedRowsThatAgreeAreBelieved) {
  EXPECT_EQ(kept("0 5000,1 0,2 1,3 2,4 3"), (Kept{5000, 2, 3})) << "the first fix was wrong";
  EXPECT_EQ(kept("0 0,1 500,2 900,3 501,4 5"), (Kept{0, 5})) << "the rejected rows do not agree";
  EXPECT_EQ(kept("0 0,1 500,2 501,3 5,4 500,5 501,6 10"), (Kept{0, 5, 10}))
      << "a kept row in between ends the succession";
}

TEST(SpeedLimit, HoldsForEachObjectAcrossTheFilesOfATrace) {
  const TemporaryDirectory directory;
  const std::string a = directory.write("a.csv", "id,time_us,x,y\n1,0,0,0\n2,0,900,0\n");
  const std::string b =
      directory.write("b.csv", "id,time_us,x,y\n1,1000000,900,0\n2,1000000,900,1\n");
  const ReadTrace trace = read_trace({a, b}, {.max_speed_mps = 10});
  EXPECT_EQ(trace.rows.size(), 3u);
  EXPECT_EQ(trace.counts[SkipReason::too_fast], 1u);
}

TEST(SpeedLimit, StrictNamesTheJumpsPlace) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.csv", "id,time_us,x,y\n1,0,0,0\n1,1000000,900,0\n");
  EXPECT_EQ(trace_error({path}, {.strict = true, .max_speed_mps = 10}),
            path +
                ":3:11: the position is farther from the object's last than --max-speed-mps "
                "allows (--strict stops here)");
}

}  // namespace
}  // namespace starling::sim
