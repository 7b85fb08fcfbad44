// SPDX-License-Identifier: Apache-2.0
// Turns a tick's report into one message for each stream. A message has a topic, a header with
// epoch and sequence number, and chunks. Ticker calls plan() on the loop, which owns the table of
// streams. Ticker calls encode_report() for a large tick on a worker, so that encoding delays no
// request. No function here uses a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/pools/encode_helpers.hpp"

namespace starling::stream {

/// The name and header of one stream's message of a tick.
struct StreamPlan {
  std::string stream;
  std::size_t report = 0;  ///< the index of the stream's report in TickReport::streams
  protocol::TickHeader header;
};

class Publisher {
 public:
  /// Without a log, `epoch` is drawn at random at each start of the server, so that subscribers
  /// notice a restart. With a log, it is the log's epoch.
  Publisher(std::uint64_t epoch, Space space) : epoch_(epoch), space_(space) {}

  std::uint64_t epoch() const { return epoch_; }
  /// Sets the epoch of later messages, for a log that runs again.
  void set_epoch(std::uint64_t epoch) { epoch_ = epoch; }
  /// Sets the run of the log that later messages carry.
  void set_run(const protocol::Run& run, std::uint64_t run_before) { at_ = {run, run_before, 0}; }

  /// Call open() when a new stream is put. A stream that is put again keeps its numbers, if no tick
  /// has reported its removal. The numbers of any other stream begin after the last number of every
  /// stream that was removed before, so that the numbers of one name never fall.
  void open(StreamId stream);

  /// Returns one plan for each stream that the report has. The messages follow from the records
  /// before `place` of the log. Call plan() once for each tick, in order.
  std::vector<StreamPlan> plan(const TickReport& report, const QueryTable& queries,
                               std::uint64_t place);
  /// Takes plans that are no longer needed. The next ones use their memory.
  void give_back(std::vector<StreamPlan> plans) { spare_ = std::move(plans); }

  /// Returns the sequence number of the stream's message of tick `tick`. If the stream's first
  /// message came later, or has not come yet, returns the first message's number minus 1.
  std::uint64_t sequence(StreamId stream, Tick tick) const;
  /// Returns how many messages the stream has had up to tick `tick`.
  std::uint64_t message_count(StreamId stream, Tick tick) const;
  /// Returns a number that no earlier stream with the same StreamId had.
  std::uint64_t opening(StreamId stream) const { return numbers(stream).opening; }

  struct Numbers {
    std::uint64_t opening = 0;     ///< 0: no stream has this StreamId
    std::uint64_t before = 0;      ///< number of the first message, minus 1
    std::uint64_t first_tick = 0;  ///< tick of the first message; 0: no message came yet
  };
  /// The state that the numbers of later messages follow from.
  struct State {
    std::vector<Numbers> numbers;  ///< [StreamId]
    std::uint64_t last_opening = 0;
    std::uint64_t last_removed = 0;  ///< greatest message number of all removed streams
  };
  const State& export_state() const { return state_; }
  void import_state(State state) { state_ = std::move(state); }

 private:
  Numbers numbers(StreamId stream) const;

  std::uint64_t epoch_;
  protocol::RunPlace at_;  ///< the run; its `place` stays 0
  Space space_;
  State state_;
  std::vector<StreamPlan> spare_;
};

/// Returns the encoded messages, one for each plan. Any thread may call this function.
std::vector<protocol::TickMessage> encode_report(const std::vector<StreamPlan>& plans,
                                                 const TickReport& report,
                                                 const protocol::ServedSpace& space,
                                                 EncodeHelpers& helpers);

}  // namespace starling::stream
