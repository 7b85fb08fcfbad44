// SPDX-License-Identifier: Apache-2.0
// SubscriptionState is the state of a subscriber. It applies ticks in order and says when a
// snapshot is needed. It detects lost ticks by the sequence number, and another history of the
// server by the epoch and by the runs of its log. Its lists are always the server's complete answer
// at the tick of held_at(). It is sans-IO: Subscriber feeds it from sockets, and tests feed it with
// ticks of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/tick_message.hpp"

namespace starling::protocol {

struct SubscriptionOptions {
  std::string stream{};
  std::vector<std::uint64_t> query_ids{};  ///< empty: all queries of the stream
  /// In queries with a list for every object, the objects whose lists are held; empty: all objects.
  std::vector<std::uint64_t> subject_ids{};
  /// The most bytes of ticks that wait while a snapshot is fetched. Beyond this limit, the oldest
  /// waiting ticks are dropped. Also the most bytes of one tick.
  std::size_t buffer_bytes_max = std::size_t{256} << 20;
  /// The most bytes of memory that the lists may take. Beyond this limit, the subscription holds no
  /// lists. 0: half of the machine's memory.
  std::size_t lists_bytes_max = 0;
};

/// A decoded tick, and the frames into which `tick` points.
struct ReceivedTick {
  DecodedTick tick{};
  std::vector<AlignedBytes> frames{};   ///< header and chunks
  std::shared_ptr<const void> owner{};  ///< owns the bytes to which `frames` point
  std::size_t bytes = 0;
};

ReceivedTick receive_tick(std::vector<AlignedBytes> frames, std::shared_ptr<const void> owner = {});

/// The tick whose lists a SubscriptionState holds.
struct HeldAt {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t sequence = 0;
  ReportWith with{};      ///< the columns that the lists have
  std::uint64_t run = 0;  ///< the run of the server that sent the lists; 0: it has no log
  bool operator==(const HeldAt&) const = default;
};

/// Applies a tick to `lists`: first its removals, then its updates. Skips each list if `is_wanted`
/// returns false for its key.
void apply_lists(const DecodedTick& tick, const std::function<bool(const ListKey&)>& is_wanted,
                 ListStore& lists);

/// Each handler is optional and must not call back into the subscription.
struct SubscriptionHandlers {
  std::function<void(const HeldAt&)> replaced{};      ///< a snapshot replaced all lists
  std::function<void(const DecodedTick&)> applied{};  ///< a tick was applied to lists()
  std::function<void(std::uint64_t ticks)> lost{};    ///< messages of `ticks` ticks were lost
  /// The server goes on with another history: it has restarted without its log, or with a log that
  /// was put back from a copy.
  std::function<void()> restarted{};
};

struct SubscriptionCounters {
  std::uint64_t ticks_applied = 0;
  std::uint64_t ticks_lost = 0;
  std::uint64_t ticks_malformed = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t restarts = 0;
};

/// The algorithm of Subscriber without the sockets. Most programs only read the state, with
/// Subscriber::state() (see examples/client.cpp). A program with sockets of its own makes these
/// calls:
///
///     state.on_tick(receive_tick(std::move(frames), owner));  // a message without its topic
///     if (const auto request = state.wanted_page())
///       state.on_page(ask_server(*request));  // or on_page_refused()
class SubscriptionState {
 public:
  explicit SubscriptionState(SubscriptionOptions options, SubscriptionHandlers handlers = {});

  void on_tick(ReceivedTick received);

  /// Returns the snapshot page to request next; std::nullopt while no snapshot is needed.
  std::optional<GetSnapshot> wanted_page() const;
  /// Returns a Problem if the pages do not make a snapshot. Its sentence continues "The server ".
  /// Wait before you ask again, because wanted_page() then begins again with page 0.
  std::optional<Problem> on_page(const SnapshotPage& page);
  /// Call this if the requested page will not come. wanted_page() then begins again with page 0.
  void on_page_refused();
  /// Call this if a tick has passed and its message has not arrived. Without this call, the gap is
  /// noticed only when the message of the next tick arrives.
  void on_tick_missed() { needs_snapshot_ = true; }
  /// Call this if a tick has more bytes than buffer_bytes_max, and is given up.
  void on_endless_tick();

  /// Returns true if the subscription holds lists with this key. For a query with a list for every
  /// object, a key without a subject stands for the removal of the query.
  bool is_wanted(const ListKey& key) const;

  /// Returns true if lists are held and no tick is known to be missing.
  bool is_live() const { return held_at_.has_value() && !needs_snapshot_; }
  const ListStore& lists() const { return lists_; }
  /// Returns true if the snapshot or a later tick carried votes, even if every vote was no_label.
  bool has_votes() const { return predictions_.votes; }
  /// Like has_votes(), but for means.
  bool has_means() const { return predictions_.means; }
  /// Returns the tick whose lists are held; std::nullopt before the first snapshot.
  const std::optional<HeldAt>& held_at() const { return held_at_; }
  /// Returns the report to send to the server. It has the newest sequence number of the current
  /// epoch and the number of ticks that were lost in this epoch. Returns std::nullopt before the
  /// epoch's first message or snapshot.
  std::optional<ReportReceived> report() const;
  /// Call this with the `sequence` of the reply to the report. If the server has sent messages but
  /// none arrives, further lists come as snapshots.
  void on_reported(std::uint64_t sequence);
  /// Returns true if the server has sent messages, but none has arrived for two reports. Usually
  /// the results endpoint is wrong then.
  bool is_silent() const { return is_silent_; }
  /// Returns what was wrong with the last message, as a sentence that continues "The server ".
  /// Returns an empty text if the lists are complete.
  const std::string& fault() const { return fault_; }
  const SubscriptionCounters& counters() const { return counters_; }
  std::size_t buffered_bytes() const { return buffered_bytes_; }

 private:
  /// Whether lists carried votes and means.
  struct Predictions {
    bool votes = false;
    bool means = false;
    void note(const ListChunk& chunk) {
      votes |= !chunk.votes.empty();
      means |= !chunk.means.empty();
    }
  };
  struct Incoming {
    HeldAt at;
    ListStore lists;
    std::uint64_t next_page = 0;
    Predictions predictions{};
    std::size_t bytes = 0;
  };

  bool enter(const TickHeader& header);
  void enter(const SnapshotHead& head);
  void go_on(std::uint64_t epoch, const RunPlace& at);
  bool remember(std::uint64_t epoch, std::uint64_t run);
  void begin_history(std::uint64_t epoch, const RunPlace& at);
  void drop_buffered();
  void note_received(std::uint64_t sequence);
  void note_lost(std::uint64_t lost);
  void buffer(ReceivedTick received);
  std::optional<Problem> refuse_snapshot(const std::string& why);
  void drop_lists_if_too_large();
  void finish_snapshot();
  void apply_buffered();
  void apply(const DecodedTick& tick);
  SubscriptionOptions options_;  ///< both vectors of ids are sorted
  SubscriptionHandlers handlers_;
  SubscriptionCounters counters_;

  std::optional<std::uint64_t> epoch_;
  RunPlace at_;  ///< the current run, and the greatest place received in it
  /// The most recent pairs of epoch and run id.
  std::deque<std::pair<std::uint64_t, std::uint64_t>> histories_seen_;
  std::optional<std::uint64_t> received_sequence_;  ///< the newest sequence number in epoch_
  std::uint64_t lost_in_epoch_ = 0;
  bool has_heard_ = false;  ///< a message has come since the last report
  bool is_silent_ = false;
  std::uint64_t overdue_reports_ = 0;    ///< number of overdue reports in a row
  std::uint64_t sequence_reported_ = 0;  ///< the newest number at the last report; 0: none

  ListStore lists_;
  Predictions predictions_;
  std::optional<HeldAt> held_at_;
  std::size_t lists_bytes_ = 0;  ///< at most this many bytes of memory are taken by lists_
  std::string fault_;
  bool is_fault_kept_ = false;    ///< only a tick that is applied clears fault_, no snapshot
  int unfollowed_snapshots_ = 0;  ///< snapshots in a row that the waiting ticks did not follow
  bool needs_snapshot_ = true;
  std::optional<Incoming> incoming_;  ///< the snapshot pages received so far
  std::deque<ReceivedTick> buffered_;
  std::size_t buffered_bytes_ = 0;
};

}  // namespace starling::protocol
