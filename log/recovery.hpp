// SPDX-License-Identifier: Apache-2.0
// Opens a log after a stop of any kind, and makes it ready for a writer.
#pragma once

#include "starling/log/reader.hpp"

namespace starling::log {

/// Call it after read_log, with its summary. Cuts a torn tail, writes the last group once more and
/// waits for the disk: what was read may only be in the system's memory until then, and may be told
/// to others only when this function has returned. Throws IoError.
void mend_log(Files& files, const LogSummary& summary);

/// Reads a log as read_log does, then mends it. Throws as read_log does, and then has changed
/// nothing.
LogSummary recover_log(Files& files, const GroupHandler& handler, const LogRange& range = {});

/// Removes the oldest segments whose records are all before `sequence`; never the last segment.
/// Returns how many. Throws IoError.
std::uint64_t drop_segments_before(Files& files, std::uint64_t sequence);

}  // namespace starling::log
