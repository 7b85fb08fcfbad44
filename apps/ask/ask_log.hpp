// SPDX-License-Identifier: Apache-2.0
// `starling ask --at`: answers from the past, with a server's log.
#pragma once

#include "starling/apps/ask/ask_flags.hpp"

namespace starling::apps {

/// Answers from the last tick of the log at or before --at. Throws std::runtime_error, with a
/// sentence, if the log has no such tick or cannot be read.
NamedAnswer ask_log(const AskFlags& flags);

}  // namespace starling::apps
