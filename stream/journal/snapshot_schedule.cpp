// SPDX-License-Identifier: Apache-2.0
// Compares the tail of a log with its limits: see snapshot_schedule.hpp.
#include "starling/stream/journal/snapshot_schedule.hpp"

#include <algorithm>

namespace starling::stream {

bool SnapshotSchedule::is_due(std::int64_t now_us) const {
  if (!make_ || bytes_of_snapshot_) return false;
  if (failed_us_) return now_us - *failed_us_ > options_.retry_us;
  return tail_.bytes > std::max(options_.tail_bytes_max, snapshot_bytes_) ||
         (tail_.bytes > 0 && now_us - tail_.since_us > options_.tail_age_max_us);
}

void SnapshotSchedule::ended(const std::optional<log::SnapshotInfo>& snapshot,
                             std::int64_t now_us) {
  const std::uint64_t bytes = bytes_of_snapshot_.value_or(0);
  bytes_of_snapshot_.reset();
  failed_us_.reset();
  if (!snapshot) {
    failed_us_ = now_us;
    ++failed_;
    return;
  }
  ++made_;
  snapshot_bytes_ = snapshot->bytes;
  tail_.bytes -= bytes;
  tail_.since_us = now_us;
}

}  // namespace starling::stream
