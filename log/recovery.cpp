// SPDX-License-Identifier: Apache-2.0
// Mends the end of a log, and removes old segments: see recovery.hpp.
#include "starling/log/recovery.hpp"

#include <algorithm>

#include "starling/log/identity.hpp"
#include "starling/log/snapshot.hpp"

namespace starling::log {
namespace {

constexpr std::uint64_t write_bytes = std::uint64_t{1} << 20;

void write_zeros(File& file, std::uint64_t offset, std::uint64_t bytes) {
  const std::vector<std::byte> zeros(std::min(bytes, write_bytes));
  for (std::uint64_t done = 0; done < bytes; done += zeros.size())
    file.write(offset + done, std::span(zeros).first(std::min(zeros.size(), bytes - done)));
}

/// After a failed sync the system may treat the last group as written though it is not on the disk.
/// Only another write makes the system write it again.
void rewrite(File& file, std::uint64_t offset, std::uint64_t end) {
  std::vector<std::byte> bytes(end - offset);
  file.read(offset, bytes);
  file.write(offset, bytes);
}

}  // namespace

void mend_log(Files& files, const LogSummary& summary) {
  for (const auto unfinished :
       {unfinished_segment_name, unfinished_snapshot_name, unfinished_identity_name})
    if (std::ranges::binary_search(files.list(), unfinished)) files.remove(unfinished);
  if (summary.end) {
    const LogEnd& end = *summary.end;
    const auto file = files.open(end.file);
    if (summary.torn_tail) write_zeros(*file, end.offset, summary.torn_tail->bytes);
    rewrite(*file, end.last_group_offset, end.offset);
    file->sync();
  }
  files.sync_folder();
}

LogSummary recover_log(Files& files, const GroupHandler& handler, const LogRange& range) {
  LogSummary summary = read_log(files, handler, range);
  mend_log(files, summary);
  return summary;
}

std::uint64_t drop_segments_before(Files& files, std::uint64_t sequence) {
  const auto names = segment_names(files);
  std::uint64_t dropped = 0;
  while (dropped + 1 < names.size() && sequence_of_name(names[dropped + 1]) <= sequence) {
    files.remove(names[dropped++]);
    // Power loss must not undo this removal and keep a later one.
    files.sync_folder();
  }
  return dropped;
}

}  // namespace starling::log
