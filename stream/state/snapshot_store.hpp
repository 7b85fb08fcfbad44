// SPDX-License-Identifier: Apache-2.0
// Snapshots being paged out: lists copied from one tick and pinned for a session, few at a time,
// not for long, and not asked for too often. Sans-IO; RequestHandler is its user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::stream {

struct SnapshotLimits {
  std::size_t snapshots_max = 64;         ///< pinned or being copied, all sessions together
  std::size_t session_snapshots_max = 4;  ///< of one session
  std::int64_t idle_us = 30'000'000;      ///< dropped when no page was asked for longer
  std::int64_t interval_us = 50'000;      ///< between two first pages for one session, on average
  std::int64_t burst = 20;                ///< first pages that may come at once
};

/// Lists of one stream from one tick, cut into pages that fit a chunk each.
struct Snapshot {
  /// `queries` names the slots that were asked for.
  Snapshot(std::string stream_name, ReportWith report_with, std::uint64_t of_sequence,
           Answers copied, const std::unordered_map<Slot, QueryId>& queries);

  std::size_t page_count() const { return page_starts.size() - 1; }
  std::span<const QueryReport> page(std::size_t index) const;

  std::string stream;
  ReportWith with;
  std::uint64_t sequence = 0;
  Answers answers;
  std::vector<QueryReport> reports;      ///< views of `answers`
  std::vector<std::size_t> page_starts;  ///< and one past the last
};

class SnapshotStore {
 public:
  explicit SnapshotStore(const SnapshotLimits& limits) : limits_(limits) {}

  /// Makes room for a copy that is to be asked of the engine; a session that holds its most loses
  /// its oldest. On a refusal `retry_after_us` says when to ask again.
  struct Reservation {
    bool granted = false;
    std::int64_t retry_after_us = 0;
    std::string_view limit{};  ///< the name of the limit that was in the way
  };
  Reservation reserve(std::uint64_t session, std::int64_t now_us);

  /// The copy has come, or (nullptr) is not wanted any more. The number is part of its pages'
  /// names; it is never 0.
  std::uint64_t pin(std::uint64_t session, std::unique_ptr<Snapshot> snapshot, std::int64_t now_us);
  void cancel(std::uint64_t session);

  const Snapshot* find(std::uint64_t session, std::uint64_t number, std::int64_t now_us);
  void release(std::uint64_t number);

  void drop_session(std::uint64_t session);
  void expire(std::int64_t now_us);

  std::size_t count() const { return total_; }
  /// The most that any session holds.
  std::size_t most_held() const;

 private:
  struct Pinned {
    std::uint64_t session = 0;
    std::int64_t used_us = 0;
    std::unique_ptr<Snapshot> snapshot;
  };
  struct Account {
    std::size_t held = 0;     ///< pinned and reserved
    std::int64_t due_us = 0;  ///< when the next first page would be on time at the steady rate
  };

  void release_oldest(std::uint64_t session);

  SnapshotLimits limits_;
  std::size_t total_ = 0;
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, Pinned> pinned_;
  std::unordered_map<std::uint64_t, Account> accounts_;
};

}  // namespace starling::stream
