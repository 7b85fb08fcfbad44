// SPDX-License-Identifier: Apache-2.0
// `starling replay --journal`: runs the ticks of a server's log again, and compares what they
// publish with what the server published.
#pragma once

#include "starling/apps/replay/replay_options.hpp"

namespace starling::apps {

/// Returns the exit status: 0 if every hash is that of the log, else 1. Throws sim::UsageError that
/// names the flag if a flag is wrong, and std::runtime_error with a sentence.
int replay_journal(const ReplayFlags& flags);

}  // namespace starling::apps
