// SPDX-License-Identifier: Apache-2.0
// Turns a tick's report into each stream's message: epoch, sequence numbers, header, chunks. Plans
// on the loop, where the streams are known; encodes on a worker and its helpers, where it delays no
// request. Sans-IO; Ticker is its user.
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

/// What one stream's message of a tick needs beside the report.
struct StreamPlan {
  std::string stream;
  protocol::TickHeader header;
};

class Publisher {
 public:
  /// `epoch` is drawn at random at each start, so that a subscriber notices a restart.
  Publisher(std::uint64_t epoch, Space space) : epoch_(epoch), space_(space) {}

  std::uint64_t epoch() const { return epoch_; }

  /// One plan for each of the report's streams. Reports come in tick order, each once.
  std::vector<StreamPlan> plan(const TickReport& report, const QueryTable& queries);

  /// The sequence number of the stream's message of that tick; 0 if it was before the stream's
  /// first.
  std::uint64_t sequence(StreamId stream, Tick tick) const;

 private:
  std::uint64_t epoch_;
  Space space_;
  std::vector<std::uint64_t> first_ticks_;  ///< by StreamId: the tick of sequence number 1
};

/// Any thread; the report must live until it returns.
std::vector<protocol::TickMessage> encode_report(const std::vector<StreamPlan>& plans,
                                                 const TickReport& report, const ServedSpace& space,
                                                 EncodeHelpers& helpers);

}  // namespace starling::stream
