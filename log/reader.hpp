// SPDX-License-Identifier: Apache-2.0
// Reads a log group by group, with the memory of one group, and tells a torn tail from damage.
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

/// Where a log ends, and where it goes on.
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
  std::optional<LogEnd> end;  ///< nothing if the folder has no log
};

/// A part of a log. Groups that lie across its ends are read whole, and their records within it are
/// given to the handler.
struct LogRange {
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t from = 1;        ///< the first record: where a snapshot ends, or 1
  std::uint64_t until = no_end;  ///< the first record that is not read any more
  std::optional<LogId> id{};     ///< id of the snapshot, which must be that of the log
};

/// Gives all whole groups to the handler, in order. Changes nothing. Segments before the range are
/// not looked at. Throws DamagedLog at the first bad place, or if the log begins after `from` or
/// ends before it; throws LogFromTheFuture, IoError, and what the handler throws.
LogSummary read_log(Files& files, const GroupHandler& handler, const LogRange& range = {});

struct LogCheck {
  LogSummary read;
  std::vector<DamagedLog> damage;  ///< the first of each segment
};

/// Gives all whole groups within the range to the handler, and goes on with the next segment after
/// a bad place. Throws what the handler throws.
LogCheck check_log(
    Files& files, const LogRange& range = {}, const GroupHandler& handler = [](const Group&) {});

/// Whether the log still has its first record, so that it can be read without a snapshot.
bool has_first_record(const Files& files);

}  // namespace starling::log
