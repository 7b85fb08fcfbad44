// What a subscriber knows and holds: applies ticks in order, finds gaps by sequence and restarts by
// epoch, and says when it needs a snapshot. Sans-IO: Subscriber feeds it from sockets, tests from a
// virtual clock. Whatever it holds is the server's answer at held_at()'s tick, never half a tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/tick_message.hpp"

namespace starling::protocol {

struct SubscriptionOptions {
  std::string stream{};
  std::vector<std::uint64_t> query_ids{};                 ///< empty: all of the stream
  std::size_t buffer_bytes_max = std::size_t{256} << 20;  ///< of ticks while a snapshot is awaited
};

/// A decoded tick with the frames it shows.
struct ReceivedTick {
  DecodedTick tick{};
  std::vector<AlignedBytes> frames{};   ///< header and chunks
  std::shared_ptr<const void> owner{};  ///< of bytes that the frames show in place
  std::size_t bytes = 0;
};

ReceivedTick receive_tick(std::vector<AlignedBytes> frames, std::shared_ptr<const void> owner = {});

/// The tick whose answers are held.
struct HeldAt {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t sequence = 0;
  ReportWith with{};  ///< what the lists carry
  bool operator==(const HeldAt&) const = default;
};

/// Takes a tick into lists, its removals first; of chosen queries alone, where there is a choice.
void apply_lists(const DecodedTick& tick,
                 const std::function<bool(std::uint64_t query_id)>& is_wanted, ListStore& lists);

/// Each is optional and must not call back into the subscription.
struct SubscriptionHandlers {
  std::function<void(const HeldAt&)> replaced{};      ///< by a snapshot
  std::function<void(const DecodedTick&)> applied{};  ///< one tick, now part of lists()
  std::function<void(std::uint64_t ticks)> lost{};    ///< so many never came
  std::function<void()> restarted{};                  ///< the server is a new one
};

struct SubscriptionCounters {
  std::uint64_t ticks_applied = 0;
  std::uint64_t ticks_lost = 0;
  std::uint64_t ticks_malformed = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t restarts = 0;
};

class SubscriptionState {
 public:
  explicit SubscriptionState(SubscriptionOptions options, SubscriptionHandlers handlers = {});

  void on_tick(ReceivedTick received);

  /// The page to ask for next; nothing while every tick has come.
  std::optional<GetSnapshot> wanted_page() const;
  void on_page(const SnapshotPage& page);
  /// The page asked for will not come: the snapshot starts over.
  void on_page_refused();
  /// A tick is known to have passed that did not come. Without this only the one after it tells.
  void on_tick_missed() { needs_snapshot_ = true; }

  /// Nothing is known to be missing.
  bool is_live() const { return held_at_.has_value() && !needs_snapshot_; }
  const ListStore& lists() const { return lists_; }
  /// Whether a list of those held, or reported since the snapshot, has carried a vote, be it none.
  bool has_votes() const { return has_votes_; }
  /// Nothing before the first snapshot.
  const std::optional<HeldAt>& held_at() const { return held_at_; }
  /// The newest message of the current epoch, for ReportReceived.
  std::optional<ReportReceived> report() const;
  const SubscriptionCounters& counters() const { return counters_; }
  std::size_t buffered_bytes() const { return buffered_bytes_; }

 private:
  struct Incoming {
    HeldAt at;
    ListStore lists;
    std::uint64_t next_page = 0;
    bool has_votes = false;
  };

  void enter_epoch(std::uint64_t epoch);
  void note_received(std::uint64_t sequence);
  void buffer(ReceivedTick received);
  void finish_snapshot();
  void apply_buffered();
  void apply(const DecodedTick& tick);
  bool is_wanted(std::uint64_t query_id) const;

  SubscriptionOptions options_;  ///< query_ids sorted
  SubscriptionHandlers handlers_;
  SubscriptionCounters counters_;

  std::optional<std::uint64_t> epoch_;
  std::deque<std::uint64_t> epochs_seen_;           ///< the last ones
  std::optional<std::uint64_t> received_sequence_;  ///< newest of epoch_
  std::uint64_t lost_in_epoch_ = 0;

  ListStore lists_;
  bool has_votes_ = false;
  std::optional<HeldAt> held_at_;
  bool needs_snapshot_ = true;
  std::optional<Incoming> incoming_;  ///< pages so far
  std::deque<ReceivedTick> buffered_;
  std::size_t buffered_bytes_ = 0;
};

}  // namespace starling::protocol
