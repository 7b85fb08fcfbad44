// SPDX-License-Identifier: Apache-2.0
// Makes groups durable, one after the other, and begins a new segment when one is full. One thread
// uses a Writer: that of its owner, or the thread of GroupCommit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "starling/knn/base/clocks.hpp"
#include "starling/log/pending_group.hpp"
#include "starling/log/reader.hpp"

namespace starling::log {

/// A write or a sync failed, so that it is unknown which bytes are on the disk. The writer refuses
/// all further work. A restart reads the log again and finds what is on the disk.
class WriterDead : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct WriterOptions {
  /// A segment reserves its length when it begins. A log's first segment has `first_segment_bytes`,
  /// so that it fits on a small disk. Each later segment has twice the length of the one before, up
  /// to `segment_bytes` and a quarter of the free disk, but at least the first length.
  std::uint64_t segment_bytes = std::uint64_t{256} << 20;
  std::uint64_t first_segment_bytes = std::uint64_t{16} << 20;
  std::function<std::int64_t()> wall_us = &wall_now_us;  ///< clock for the segments' creation times
};

struct NewLog {
  LogId id{};                   ///< random
  std::vector<std::byte> user;  ///< at most user_header_bytes_max
};

class Writer {
 public:
  /// Begins a log in a folder without a log. Throws NoSpace, IoError.
  Writer(Files& files, const NewLog& log, WriterOptions options);
  /// Continues a log at the end that recover_log returned. Throws IoError.
  Writer(Files& files, const LogEnd& end, WriterOptions options);

  /// Whether the segment has room for a group of this length.
  bool has_room(std::uint64_t bytes) const { return offset_ + bytes <= segment_end_; }
  /// Writes whole pages of the group's records so far, without waiting for the disk. The group may
  /// grow until its commit, which then has less to wait for. The segment must have room for the
  /// group now and at its commit. Throws WriterDead.
  void begin(PendingGroup& group);
  /// Writes the group, and returns when it is on the disk. Does nothing with an empty group. Throws
  /// NoSpace if a new segment does not fit on the disk; the group is then unchanged, and the call
  /// may be repeated. Throws WriterDead after any other error, and in all later calls.
  void commit(PendingGroup& group);

  /// The sequence number of the next record. All earlier records are durable.
  std::uint64_t next_sequence() const { return position_.next_sequence; }
  bool is_dead() const { return !dead_.empty(); }

 private:
  void check_has_begun(const PendingGroup& group) const;
  void make_room(std::uint64_t bytes);
  std::uint64_t next_segment_bytes() const;
  [[noreturn]] void die(const IoError& error);

  Files& files_;
  WriterOptions options_;
  SegmentHeader header_;
  LogPosition position_;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;
  std::uint64_t begun_bytes_ = 0;  ///< bytes of the next group that begin() has written
  std::uint64_t segment_end_ = 0;
  std::string dead_;  ///< why the writer is dead; empty while it works
};

}  // namespace starling::log
