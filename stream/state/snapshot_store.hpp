// SPDX-License-Identifier: Apache-2.0
// Snapshots that sessions read page by page. A snapshot is a copy of a stream's lists at one tick.
// The store limits the number and the bytes of snapshots, the time for which it holds an idle
// snapshot, and the rate of new snapshots. If an owner takes more than its share, it loses its own
// oldest snapshot. SessionStores has the store. The caller passes the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/query_slot.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/state/awake_clock.hpp"
#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

struct SnapshotLimits {
  std::size_t snapshots_max = 64;         ///< snapshots held or being copied, of all sessions
  std::size_t session_snapshots_max = 4;  ///< snapshots held or being copied, of one session
  std::size_t owner_snapshots_max = 16;   ///< snapshots held or being copied, of one owner
  /// The most bytes of snapshots held or being copied, for all owners together and for one owner.
  std::uint64_t bytes_max = std::uint64_t{4} << 30;
  std::uint64_t owner_bytes_max = std::uint64_t{2} << 30;
  std::int64_t idle_us = 30'000'000;  ///< a snapshot is dropped if no page is read for this time
  std::int64_t interval_us = 50'000;  ///< average time between new snapshots of one session
  /// How many new snapshots one session may begin at once: at least 1.
  std::int64_t burst = 20;
};

/// Returns the most bytes of memory of a snapshot with `lists` lists and, in all lists together,
/// `neighbors` neighbours. `has_states`: the stream reports positions or tags.
std::uint64_t snapshot_bytes(std::uint64_t lists, std::uint64_t neighbors, bool has_states);

/// The lists of one stream at one tick, in pages. Each page fits in a chunk.
struct Snapshot {
  /// `queries` has the slot of each query in `copied` with the query's id, in any order. A page has
  /// at most `page_bytes_max` bytes, unless it has only one list. If `is_by_id`, the lists are
  /// ordered by query id, otherwise as in `copied`. With many lists, the constructor takes long.
  Snapshot(std::string stream_name, ReportWith report_with, std::uint64_t of_sequence,
           Answers copied, std::vector<QuerySlot> queries, bool is_by_id,
           std::size_t page_bytes_max = protocol::chunk_bytes_max);

  /// Returns about how many bytes of memory the snapshot holds.
  std::size_t bytes() const;
  std::size_t page_count() const { return page_starts.size() - 1; }
  std::span<const QueryReport> page(std::size_t index) const;

  std::string stream;
  ReportWith with;
  std::uint64_t sequence = 0;
  std::uint64_t place = 0;  ///< place of the log after all records that the lists depend on
  Answers answers;
  std::vector<QueryReport> reports;  ///< views of `answers`
  /// The index in `reports` of each page's first list; the last element is reports.size().
  std::vector<std::size_t> page_starts;
};

class SnapshotStore {
 public:
  explicit SnapshotStore(const SnapshotLimits& limits) : limits_(limits) {}

  /// The session, owner and bytes that one snapshot counts for.
  struct Place {
    std::uint64_t session = 0;
    RequestOwner owner{};
    std::uint64_t bytes = 0;
  };

  /// The result of reserve() and take_bytes().
  struct Reservation {
    bool granted = false;
    /// If refused: how long to wait before the next try; 0: the snapshot never fits the limit.
    std::int64_t retry_after_us = 0;
    std::string_view limit{};  ///< the limit that is reached; empty if granted
  };
  /// Reserves a place for one snapshot. Call reserve() before the engine copies the lists. Refuses,
  /// and drops nothing, if the session begins snapshots too fast. If the session or the owner
  /// already holds as many snapshots as it may, drops its oldest snapshot. End each granted
  /// reservation with pin() or cancel().
  Reservation reserve(const Place& place, std::int64_t now_us);
  /// Takes the bytes that the snapshot may have, before the engine copies the lists. If the bytes
  /// do not fit, drops the oldest snapshots of the same owner. Refuses, and drops nothing, if that
  /// would not be enough. If it refuses, call cancel().
  Reservation take_bytes(Place& place, std::uint64_t bytes);

  /// Stores the snapshot in its place, which now counts the bytes that the snapshot really has.
  /// `number` is from next_number(), and is a part of the number of each page.
  void pin(const Place& place, std::uint64_t number, std::shared_ptr<const Snapshot> snapshot,
           std::int64_t now_us, zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous);
  /// Returns the bytes of the principal's snapshots, without those that are being copied.
  std::uint64_t bytes_of(zmtp::PrincipalId principal) const;
  /// Returns a number for pin(). It is never 0.
  std::uint64_t next_number() { return next_number_++; }
  /// Ends a reservation without a snapshot.
  void cancel(const Place& place);

  /// Returns the snapshot and marks it as used at `now_us`. Returns nullptr if the session holds no
  /// snapshot of this number. A snapshot does not change, so other threads may encode it.
  std::shared_ptr<const Snapshot> find(std::uint64_t session, std::uint64_t number,
                                       std::int64_t now_us);
  void release(std::uint64_t number);

  void drop_session(std::uint64_t session);
  void expire(std::int64_t now_us);

  std::size_t count() const { return total_; }
  /// Returns the bytes of all snapshots, with the bytes taken for those that are being copied.
  std::uint64_t bytes() const { return bytes_; }
  /// Returns the most snapshots that any session holds or has reserved.
  std::size_t most_held() const;

 private:
  struct Pinned {
    Place place;
    zmtp::PrincipalId principal{};
    std::int64_t used_us = 0;  ///< time of awake_
    std::shared_ptr<const Snapshot> snapshot;
  };
  struct Account {
    std::size_t held = 0;     ///< snapshots that are pinned or reserved
    std::int64_t due_us = 0;  ///< time at which the next snapshot is due at the steady rate
  };

  /// The snapshots of one owner.
  struct Share {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t pinned_bytes = 0;  ///< bytes of snapshots that are held and not being copied
  };

  void cancel_pinned(const Place& place);
  template <class Belongs>
  bool release_oldest(Belongs belongs);
  bool release_oldest_of(const RequestOwner& owner);

  SnapshotLimits limits_;
  AwakeClock awake_;
  std::size_t total_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, Pinned> pinned_;
  std::unordered_map<std::uint64_t, Account> accounts_;
  std::map<RequestOwner, Share> shares_;  ///< owners that have a snapshot or a reservation
};

}  // namespace starling::stream
