// SPDX-License-Identifier: Apache-2.0
// Tests a running server whose wall clock is set forward and back. The clock is a virtual clock
// that the test passes to the server. tau must never go back. Leases must not end early, and the
// limit on event times must follow tau.
#include <atomic>

#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t hour_us = 3'600'000'000;

class WallClock : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options = manual_options();
    options.tick_period_us = 1000;
    options.wall_now_us = [this] { return now_us.load(); };
    return options;
  }

  /// Returns tau of the second tick from now, because the first tick may already be under way.
  std::int64_t tau_of_a_new_tick() {
    const auto ask = [&] { return client.get_neighbors({{nearest_to(0, 1, 0, 0)}}).value(); };
    const std::uint64_t first = to_number(ask().tick);
    std::int64_t tau_us = 0;
    EXPECT_TRUE(happens([&] {
      const auto answers = ask();
      tau_us = answers.tau_us;
      return to_number(answers.tick) >= first + 2;
    }));
    return tau_us;
  }

  const std::int64_t start_us = wall_now_us();
  std::atomic<std::int64_t> now_us{start_us};
  RunningServer server{options()};
  protocol::Client client = server.client();
};

TEST_F(WallClock, SteppingBackAndForthNeverTakesTauBackAndListsStayExact) {
  Witness witness(server, Witness::Ticks::by_the_clock);
  test::Random random(1);
  std::int64_t latest_us = tau_of_a_new_tick();
  ASSERT_EQ(latest_us, start_us);
  for (const std::int64_t step_us :
       {hour_us, -hour_us, -24 * hour_us, 26 * hour_us, std::int64_t{1}, std::int64_t{-1},
        -1000 * hour_us, 1000 * hour_us}) {
    now_us += step_us;
    latest_us = std::max(latest_us, now_us.load());
    EXPECT_EQ(tau_of_a_new_tick(), latest_us);
    witness.move_and_expect_exact(random);
  }
}

TEST_F(WallClock, SetBackItStillTakesRowsThatAreNotFromTausFuture) {
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  now_us -= hour_us;
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  Fixes fixes;
  fixes.add(1, start_us, 0, 0);
  fixes.add(2, start_us + 10'000'001, 0, 0);
  const auto reply = client.update(fixes.batch()).value();
  EXPECT_EQ(reply.accepted, 1u);
  EXPECT_EQ(reply.rejected, 1u);
}

TEST_F(WallClock, SetBackItEndsNoLeaseBeforeItsTime) {
  ASSERT_EQ(tau_of_a_new_tick(), start_us);
  now_us -= hour_us;
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}));
  protocol::QuerySpec query = nearest_to(1, 1, 0, 0);
  query.lease_ms = 1000;
  ASSERT_TRUE(client.put_queries({"s", {query}}));
  tau_of_a_new_tick();
  EXPECT_EQ(server.stat("starling_queries"), 1);
  now_us = start_us + 1'000'001;
  tau_of_a_new_tick();
  EXPECT_EQ(server.stat("starling_queries"), 0) << "the lease is over";
}

}  // namespace
}  // namespace starling::stream
