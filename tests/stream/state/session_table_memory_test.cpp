// SPDX-License-Identifier: Apache-2.0
// Fails each allocation of SessionTable::open once. The table must stay as before, and keep
// working.
#include <new>

#include <gtest/gtest.h>

#include "starling/stream/state/session_table.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::stream {
namespace {

constexpr zmtp::PrincipalId owner{7};

TEST(SessionTableMemory, RunsOutWhileASessionIsOpenedAndTheTableIsAsBefore) {
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    std::uint64_t next_id = 100;
    SessionTable table({.sessions_max = 2, .gives_way_us = 200}, [&] { return ++next_id; });
    const auto first = table.open(1, 0, 1, 0);
    const auto second = table.open(2, 0, 1, 0);
    ASSERT_TRUE(first && second);
    const auto open = [&] { return table.open(3, 0, 1, 10, {.principal = owner}); };
    {
      const test::FailingAllocation allocation(number);
      try {
        EXPECT_EQ(open()->replaced->session, first->session);
      } catch (const std::bad_alloc&) {
      }
      has_failed = allocation.has_failed();
    }
    if (has_failed) {
      EXPECT_EQ(table.count(), 2u);
      EXPECT_TRUE(table.contains(first->session));
      EXPECT_EQ(table.count_of(owner), 0u);
      EXPECT_EQ(open()->replaced->session, first->session);
    }
    EXPECT_EQ(table.count_of(owner), 1u);
    // The unused sessions of all owners give way, the oldest first.
    EXPECT_EQ(table.open(4, 0, 1, 20)->replaced->session, second->session);
    for (std::int64_t now_us = 0; now_us <= 602'000'000; now_us += 1'000'000) table.expire(now_us);
    EXPECT_EQ(table.count(), 0u);
  }
}

}  // namespace
}  // namespace starling::stream
