// SPDX-License-Identifier: Apache-2.0
// Turns a tick's report into one message for each stream. A message has a topic, a header with
// epoch and sequence number, and chunks. Ticker calls plan() on the loop, which owns the table of
// streams. Ticker calls encode_report() for a large tick on a worker, so that encoding delays no
// request. No function here uses a socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/pools/encode_helpers.hpp"
#include "starling/stream/served_space.hpp"

namespace starling::stream {

/// The name and header of one stream's message of a tick.
struct StreamPlan {
  std::string stream;
  protocol::TickHeader header;
};

class Publisher {
 public:
  /// `epoch` is drawn at random at each start of the server, so that subscribers notice a restart.
  Publisher(std::uint64_t epoch, Space space) : epoch_(epoch), space_(space) {}

  std::uint64_t epoch() const { return epoch_; }

  /// Returns one plan for each stream of the report. Call plan() once for each tick, in order.
  std::vector<StreamPlan> plan(const TickReport& report, const QueryTable& queries);

  /// Returns the sequence number of the stream's message of tick `tick`. Returns 0 if the stream's
  /// first message came later, or has not come yet.
  std::uint64_t sequence(StreamId stream, Tick tick) const;

 private:
  std::uint64_t epoch_;
  Space space_;
  std::vector<std::uint64_t> first_ticks_;  ///< for each StreamId: the tick of sequence number 1
};

/// Returns the encoded messages, one for each plan. Any thread may call this function.
std::vector<protocol::TickMessage> encode_report(const std::vector<StreamPlan>& plans,
                                                 const TickReport& report, const ServedSpace& space,
                                                 EncodeHelpers& helpers);

}  // namespace starling::stream
