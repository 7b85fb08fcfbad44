// SPDX-License-Identifier: Apache-2.0
// Tests a running server whose wall clock is set forward and back. The clocks are virtual clocks
// that the test passes to the server. Objects and leases must end when they would have ended
// without the step, tau must never go back, and the limit on event times must follow tau.
#include <atomic>

#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t minute_us = 60 * second_us;
constexpr std::int64_t hour_us = 60 * minute_us;

class WallClock : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options = manual_options();
    options.tick_period_us = 1000;
    options.processor.objects.object_ttl_us = minute_us;
    options.clock_step_wait_us = minute_us;
    options.boot_now_us = [this] { return passed_us.load(); };
    options.wall_now_us = [this] { return start_us + passed_us + set_us; };
    return options;
  }

  /// Waits for the second tick from now, because the first tick may already be under way.
  protocol::NeighborAnswers answers_of_a_new_tick() {
    const auto ask = [&] { return client.get_neighbors({{nearest_to(0, 9, 0, 0)}}).value(); };
    const std::uint64_t first = to_number(ask().tick);
    protocol::NeighborAnswers answers;
    EXPECT_TRUE(happens([&] {
      answers = ask();
      return to_number(answers.tick) >= first + 2;
    }));
    return answers;
  }
  std::int64_t tau_of_a_new_tick() { return answers_of_a_new_tick().tau_us; }
  std::size_t alive_in_a_new_tick() { return answers_of_a_new_tick().lists[0].neighbors.size(); }

  protocol::BatchReply put_object(std::uint64_t id, std::int64_t time_us) {
    Fixes fixes;
    fixes.add(id, time_us, 0, 0);
    return client.update(fixes.batch()).value();
  }
  void put_leased_query(std::int64_t lease_us) {
    ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}));
    protocol::QuerySpec query = nearest_to(1, 1, 0, 0);
    query.lease_ms = static_cast<std::uint64_t>(lease_us / 1000);
    ASSERT_TRUE(client.put_queries({"s", {query}}));
  }

  const std::int64_t start_us = wall_now_us();
  std::atomic<std::int64_t> passed_us{0};
  std::atomic<std::int64_t> set_us{0};  ///< how far the wall clock was set, altogether
  RunningServer server{options()};
  protocol::Client client = server.client();
};

TEST_F(WallClock, SteppingBackAndForthNeverTakesTauBackAndListsStayExact) {
  Witness witness(server, Witness::Ticks::by_the_clock);
  test::Random random(1);
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  for (const std::int64_t each_us :
       {hour_us, -hour_us, -24 * hour_us, 26 * hour_us, std::int64_t{1}, std::int64_t{-1},
        -1000 * hour_us, 1000 * hour_us}) {
    set_us = each_us;
    passed_us += 1000;
    EXPECT_NEAR(static_cast<double>(tau_of_a_new_tick() - start_us), static_cast<double>(passed_us),
                200);
    witness.move_and_expect_exact(random);
  }
  EXPECT_NEAR(server.stat("starling_clock_offset_seconds"), 1000 * 3600, 0.001);
  EXPECT_EQ(server.stat("starling_clock_steps_total"), 7);
}

TEST_F(WallClock, SetAnHourForwardAndBackNoObjectLeaves) {
  ASSERT_EQ(put_object(1, start_us).accepted, 1u);
  ASSERT_EQ(alive_in_a_new_tick(), 1u);
  set_us = hour_us;
  ASSERT_EQ(alive_in_a_new_tick(), 1u);
  ASSERT_EQ(put_object(2, start_us).accepted, 1u);
  EXPECT_EQ(alive_in_a_new_tick(), 2u);
  set_us = 0;
  ASSERT_EQ(put_object(3, start_us).accepted, 1u);
  EXPECT_EQ(alive_in_a_new_tick(), 3u);
  EXPECT_EQ(server.stat("starling_clock_offset_seconds"), 0);
  EXPECT_EQ(server.stat("starling_clock_steps_total"), 2);
  passed_us += minute_us + 1;
  EXPECT_EQ(alive_in_a_new_tick(), 0u) << "objects still expire when they should";
}

TEST_F(WallClock, SetForwardItTakesNoRowFromTheWallClocksFuture) {
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  set_us = hour_us;
  tau_of_a_new_tick();
  EXPECT_EQ(put_object(1, start_us + hour_us).rejected, 1u);
  EXPECT_EQ(put_object(1, start_us).accepted, 1u);
}

TEST_F(WallClock, SetBackItStillTakesRowsThatAreNotFromTausFuture) {
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  set_us = -hour_us;
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  EXPECT_EQ(put_object(1, start_us).accepted, 1u);
  EXPECT_EQ(put_object(2, start_us + 10'000'001).rejected, 1u);
}

TEST_F(WallClock, SetBackOrForwardALeaseEndsAtItsTime) {
  for (const std::int64_t step_us : {-hour_us, hour_us}) {
    set_us = step_us;
    put_leased_query(10 * second_us);
    passed_us += 9 * second_us;
    tau_of_a_new_tick();
    EXPECT_EQ(server.stat("starling_queries"), 1);
    passed_us += second_us + 1000;
    tau_of_a_new_tick();
    EXPECT_EQ(server.stat("starling_queries"), 0) << "the lease is over";
    set_us = 0;
    tau_of_a_new_tick();
  }
}

TEST_F(WallClock, AStepThatStaysIsFollowedAndLeasesKeepTheTimeThatIsLeft) {
  put_leased_query(100 * second_us);
  set_us = hour_us;
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  passed_us += 50 * second_us;
  ASSERT_EQ(tau_of_a_new_tick(), start_us + passed_us);
  passed_us += 10 * second_us;
  EXPECT_EQ(tau_of_a_new_tick(), start_us + passed_us + hour_us);
  EXPECT_EQ(put_object(1, start_us + passed_us + hour_us).accepted, 1u);
  EXPECT_EQ(alive_in_a_new_tick(), 1u);
  passed_us += 39 * second_us;
  tau_of_a_new_tick();
  EXPECT_EQ(server.stat("starling_queries"), 1);
  passed_us += 2 * second_us;
  tau_of_a_new_tick();
  EXPECT_EQ(server.stat("starling_queries"), 0) << "100 s have passed since the query was put";
}

}  // namespace
}  // namespace starling::stream
