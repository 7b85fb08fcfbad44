// SPDX-License-Identifier: Apache-2.0
// Reads a log with one group in memory at a time, and distinguishes a torn tail from damage.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/segment.hpp"

namespace starling::log {

/// A record that was read. The payload is valid while the handler of its group runs.
struct Record {
  RecordType type{};
  std::uint16_t version = 0;
  std::uint64_t sequence = 0;
  std::span<const std::byte> payload;
};

/// A whole group, without its commit record.
struct Group {
  std::uint64_t number = 0;
  std::span<const Record> records;
};
using GroupHandler = std::function<void(const Group&)>;

/// Bytes after the last whole group: power loss left them unfinished, or a writer has not
/// committed them yet. A changed bit in the very last group looks the same.
struct TornTail {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The end of a log, where a writer continues.
struct LogEnd {
  SegmentHeader header;  ///< header of the last segment
  std::string file;
  std::uint64_t last_group_offset = 0;  ///< 0 if the last segment has no groups
  std::uint64_t offset = 0;             ///< offset of the next group
  LogPosition position;
};

struct LogSummary {
  std::uint64_t segments = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;  ///< number of records, commits left out
  std::uint64_t bytes = 0;    ///< bytes of headers and whole groups
  std::optional<TornTail> torn_tail;
  std::optional<LogEnd> end;  ///< std::nullopt if the folder has no log
};

/// A range of a log's records. A group that is only partly in the range is read whole, and the
/// handler gets its records in the range.
struct LogRange {
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t from = 1;        ///< the first record: where a snapshot ends, or 1
  std::uint64_t until = no_end;  ///< the first record after the range
  std::optional<LogId> id{};     ///< id that the log must have: the snapshot's
};

/// Calls the handler with each whole group, in order. Changes no file. Does not read segments
/// before the range. Throws DamagedLog at the first bad place, or if the log begins after `from` or
/// ends before it; throws LogFromTheFuture, IoError, and what the handler throws.
LogSummary read_log(Files& files, const GroupHandler& handler, const LogRange& range = {});

struct LogCheck {
  LogSummary read;
  std::vector<DamagedLog> damage;  ///< the first damage in each segment
};

/// Calls the handler with each whole group of the range. After a bad place, notes the damage and
/// goes on with the next segment. Throws LogFromTheFuture, IoError, and what the handler throws.
LogCheck check_log(
    Files& files, const LogRange& range = {}, const GroupHandler& handler = [](const Group&) {});

/// Whether the log still has its first record, so that it can be read without a snapshot.
bool has_first_record(const Files& files);

}  // namespace starling::log
