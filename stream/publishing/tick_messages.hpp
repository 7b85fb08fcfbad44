// SPDX-License-Identifier: Apache-2.0
// Takes the messages of finished ticks from their plans to the results socket. A worker and its
// helpers encode the messages of a large tick. The messages then wait for the log. Everything else
// runs on the loop. Ticker owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/pools/encode_helpers.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/pools/sliced_work.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/tick_outcome.hpp"
#include "starling/stream/publishing/tick_watch.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Gets the messages of each tick, one for each plan, before they are sent.
using PublishingHook =
    std::function<void(const std::vector<StreamPlan>&, const std::vector<protocol::TickMessage>&)>;
/// A function that is called after the tick's messages were passed to the results socket, or were
/// lost because memory ran out.
using TickFinished = std::function<void(const TickOutcome&)>;

/// Only the loop calls the functions.
class TickMessages {
 public:
  /// What the messages use. The references must outlive them.
  struct Parts {
    Executor& executor;
    Tables& tables;
    Journal* journal;  ///< null: the server has no log
    Publisher& publisher;
    Results& results;
    TickWatch& watch;
    PublishingHook publishing;
    unsigned encode_threads;  ///< at least 1
    /// Called when the messages of a tick were sent or lost.
    std::function<void()> ended;
  };
  explicit TickMessages(Parts parts);

  /// Encodes and sends the messages of a finished tick. Ticks end in the order of the calls.
  void publish(const std::shared_ptr<TickReport>& report, TickTimeline timeline,
               TickFinished finished);
  /// The number of ticks whose messages were not passed to the results socket yet.
  std::size_t count() const { return encoder_.waiting() + encoded_count_; }

 private:
  struct Encoded;
  void encode(Encoded& tick);
  void when_logged(const std::shared_ptr<Encoded>& tick);
  void send(const std::shared_ptr<Encoded>& tick);
  void end(Encoded& tick);
  void lose(Encoded& tick);

  Executor& executor_;
  Tables& tables_;
  Journal* journal_;
  Publisher& publisher_;
  Results& results_;
  TickWatch& watch_;
  PublishingHook publishing_;
  std::function<void()> ended_;
  std::size_t encoded_count_ = 0;  ///< ticks whose messages wait for the log, or are being sent
  SlicedWork sending_;             ///< keeps the order of ticks
  EncodeHelpers helpers_;
  OrderedPool encoder_;  ///< declared last, so that it ends first
};

}  // namespace starling::stream
