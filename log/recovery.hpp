// SPDX-License-Identifier: Apache-2.0
// Opens a log after a stop of any kind, and makes it ready for a writer.
#pragma once

#include "starling/log/reader.hpp"

namespace starling::log {

/// Makes the log that read_log has read ready for a writer. `summary` is the result of read_log.
/// Removes unfinished files, overwrites a torn tail with zeros, writes the last group once more,
/// and returns when all is on the disk. Until then the records that were read may be only in the
/// system's memory, so nothing about them may be sent to clients. Throws IoError.
void mend_log(Files& files, const LogSummary& summary);

/// Calls read_log, then mend_log. Throws what they throw. If read_log throws, no file was changed.
LogSummary recover_log(Files& files, const GroupHandler& handler, const LogRange& range = {});

/// Removes the segments whose records are all before `sequence`, oldest first, but never the last
/// segment. Returns the number of removed segments. Throws IoError.
std::uint64_t drop_segments_before(Files& files, std::uint64_t sequence);

}  // namespace starling::log
