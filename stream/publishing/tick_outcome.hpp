// SPDX-License-Identifier: Apache-2.0
// What follows from the report of a finished tick: the reply to the request that asked for the
// tick, and the hash of the tick's messages, which the log keeps. TickMessages, TickRequests and
// recovery use it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/state/session_table.hpp"

namespace starling::stream {

struct TickOutcome {
  protocol::TickDone done;
  /// Why the tick failed; empty: it succeeded. A failed tick leaves the old lists valid.
  std::string error;
};

TickOutcome outcome_of(const TickReport& report);

/// Returns the reply to AdvanceTick.
SequencedReply reply_to_tick(const TickOutcome& outcome);

/// Returns XXH3 of all frames, in the order of publication.
std::uint64_t hash_of(const std::vector<protocol::TickMessage>& messages);

}  // namespace starling::stream
