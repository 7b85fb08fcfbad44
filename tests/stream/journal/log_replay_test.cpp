// SPDX-License-Identifier: Apache-2.0
// Tests that records which several threads apply together leave the same state as records that are
// applied one by one.
#include "starling/stream/recovery/log_replay.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/recovery/replayed_tables.hpp"
#include "starling/stream/recovery/state_codec.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t objects = 20'000;

/// Updates of 1 to 3,000 rows each, some of them late, and now and then removals or a tick.
class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}

  std::vector<JournalRecord> draw(int requests) {
    std::vector<JournalRecord> records{SessionOpenedRecord{.session = 1}};
    for (int i = 0; i < requests; ++i) {
      if (random_.below(8) == 0) {
        ++tick_;
        records.push_back(TickBegunRecord{.tick = Tick{tick_}, .tau_us = now_us()});
        records.push_back(TickFinishedRecord{.tick = Tick{tick_}, .error = {}});
      } else if (random_.below(8) == 0) {
        records.push_back(request(removals()));
      } else {
        records.push_back(request(updates()));
      }
    }
    return records;
  }

 private:
  std::int64_t now_us() const { return static_cast<std::int64_t>(1000 + sequence_ + tick_); }
  std::int64_t any_time_us() { return now_us() - static_cast<std::int64_t>(random_.below(20)); }
  ObjectId any_object() { return ObjectId{random_.below(objects)}; }
  std::int32_t place() { return static_cast<std::int32_t>(random_.below(1'000'000)); }

  RequestRecord request(Change change) {
    return {.session = 1, .sequence = ++sequence_, .reply = {}, .change = std::move(change)};
  }
  Change updates() {
    ObjectsChange change;
    for (std::uint64_t left = 1 + random_.below(3000); left > 0; --left)
      change.rows.push_back({.id = any_object(),
                             .time_us = any_time_us(),
                             .position = {place(), place(), 0},
                             .tags = static_cast<std::uint32_t>(random_.below(4)),
                             .has_tags = random_.below(2) == 0});
    return change;
  }
  Change removals() {
    RemovalsChange change;
    for (std::uint64_t left = random_.below(200); left > 0; --left)
      change.rows.push_back({.id = any_object(), .time_us = any_time_us()});
    return change;
  }

  test::Random random_;
  std::uint64_t sequence_ = 0;
  std::uint64_t tick_ = 0;
};

/// Applies `at_once` records together, and returns the bytes of the state that they leave.
std::vector<std::byte> state_after(std::span<const JournalRecord> records, std::size_t at_once,
                                   unsigned threads) {
  const KeptOptions kept{.space = {},
                         .object_ttl_us = ObjectTableOptions::never_us,
                         .tombstone_ttl_us = 10,
                         .neighbors_max = 1000};
  ReplayedTables tables(to_text(kept), engine_for, SessionLimits{});
  tables.processor().set_threads(threads);
  while (!records.empty()) {
    const auto some = records.first(std::min(at_once, records.size()));
    tables.replay().apply(some);
    records = records.subspan(some.size());
  }
  std::vector<std::byte> bytes;
  encode_state(tables.export_state(), [&](log::RecordType, std::span<const std::byte> payload) {
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  });
  return bytes;
}

class RecordsAppliedTogether : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RecordsAppliedTogether, LeaveTheStateThatTheyLeaveOneByOne) {
  const std::vector<JournalRecord> records = RandomRecords(GetParam()).draw(60);
  const std::vector<std::byte> expected = state_after(records, 1, 1);
  EXPECT_GT(expected.size(), objects * 20);
  for (const std::size_t at_once : {std::size_t{2}, std::size_t{7}, records.size()})
    for (const unsigned threads : {1u, 2u, 4u})
      EXPECT_TRUE(state_after(records, at_once, threads) == expected)
          << at_once << " records at once, " << threads << " threads";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecordsAppliedTogether, testing::Values(1, 2, 3));

}  // namespace
}  // namespace starling::stream
