// SPDX-License-Identifier: Apache-2.0
// Reads a log on a thread of its own, ahead of the thread that applies its records, so that
// reading, hashing and decoding cost a start little time. FoundLog calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/reader.hpp"
#include "starling/stream/journal/records.hpp"

namespace starling::stream {

/// Consecutive records.
struct DecodedRecords {
  std::vector<JournalRecord> records;
  std::uint64_t bytes = 0;  ///< bytes of the records in the log
};
using DecodedHandler = std::function<void(const DecodedRecords&)>;

/// Reads as log::read_log does, and calls `handler` on the caller's thread, with parts of about 4
/// MiB. When 64 MiB of the log are decoded and not handled yet, the reading waits. Throws what
/// log::read_log, decode() and `handler` throw. Before that, `handler` may have got some of the
/// earlier records. The last, unfinished part is dropped.
log::LogSummary read_decoded(log::Files& files, const log::LogRange& range,
                             const DecodedHandler& handler);

/// Does the same on the caller's thread alone, for simulations.
log::LogSummary read_decoded_here(log::Files& files, const log::LogRange& range,
                                  const DecodedHandler& handler);

}  // namespace starling::stream
