// SPDX-License-Identifier: Apache-2.0
// What a finished tick tells: the reply to the request that asked for it, and the hash of the
// messages that it has published, which the server's log keeps.
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
  std::string error;  ///< empty, or why the tick failed; the old lists then stay valid
};

TickOutcome outcome_of(const TickReport& report);

/// Returns the reply to AdvanceTick.
SequencedReply reply_to_tick(const TickOutcome& outcome);

/// Returns XXH3 of all frames, in the order of publication.
std::uint64_t hash_of(const std::vector<protocol::TickMessage>& messages);

}  // namespace starling::stream
