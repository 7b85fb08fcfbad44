// SPDX-License-Identifier: Apache-2.0
// FakeStream plays a server's stream without a server. It makes random lists that change from tick
// to tick, encodes them as tick messages and snapshots, and remembers the true lists of each tick.
// The tests of subscriptions use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/client/subscription.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "tests/support/random.hpp"

namespace starling::protocol::test {

using Bytes = std::vector<std::byte>;

/// The frames of a tick's message, without the topic.
using TickFrames = std::vector<Bytes>;

ReceivedTick receive(const TickFrames& frames);

class FakeStream {
 public:
  FakeStream(std::uint64_t epoch, std::uint64_t seed);

  /// Changes some lists and returns the tick's message. If `failed`, no list changes and the
  /// message says that the tick failed.
  TickFrames tick(bool failed = false);

  /// Returns the current lists as reply frames: pages of at most `lists_max` lists. If `query_ids`
  /// is not empty, the pages have only the lists of these queries.
  std::vector<Bytes> snapshot(std::size_t lists_max,
                              const std::vector<std::uint64_t>& query_ids = {}) const;

  /// Returns the current lists in one page.
  Frame snapshot_reply(const ReplyHead& head) const;

  /// Later messages say that the server's log has these runs, the newest first. A tick's place in
  /// the log is the tick's number.
  void set_runs(std::vector<Run> runs) { runs_ = std::move(runs); }

  std::uint64_t epoch() const { return epoch_; }
  HeldAt now() const;
  /// Returns the lists that a subscriber must hold at `tick`.
  const ListStore& truth(Tick tick) const { return truths_.at(tick); }

 private:
  struct List {
    std::vector<Neighbor> neighbors;
    std::vector<NeighborState> states;
    std::optional<Label> vote;
    std::optional<double> mean;
  };
  using Lists = std::map<ListKey, List>;

  void change_one(std::map<ListKey, ListEvent>& changed);
  /// Removes all lists of a query and reports one removal, as a server does when an every-object
  /// query ends.
  void remove_query(QueryId query, std::map<ListKey, ListEvent>& changed);
  ListStore to_store() const;
  std::vector<QueryReport> current_lists(const std::vector<std::uint64_t>& query_ids) const;
  SnapshotHead snapshot_head() const;

  std::uint64_t epoch_;
  std::vector<Run> runs_;
  starling::test::Random random_;
  Lattice lattice_{SpaceOptions{}};
  Lists lists_;
  std::map<Tick, ListStore> truths_;
  std::uint64_t sequence_ = 0;
  Tick tick_{};      ///< the newest tick, failed or not
  Tick finished_{};  ///< the newest tick that did not fail
};

/// A decoded page of a snapshot, and the bytes that the page points into.
struct PageReply {
  explicit PageReply(const Bytes& encoded)
      : bytes(encoded), frame(bytes), reply(decode_reply(frame)) {}
  const SnapshotPage& page() const { return std::get<SnapshotPage>(reply.body); }

  Bytes bytes;
  AlignedBytes frame;
  DecodedReply reply;
};

}  // namespace starling::protocol::test
