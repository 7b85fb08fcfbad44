// SPDX-License-Identifier: Apache-2.0
// Makes groups durable, one after the other, and begins a new segment where one is full. One thread
// calls it: its own user, or the thread of GroupCommit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "starling/knn/base/clocks.hpp"
#include "starling/log/pending_group.hpp"
#include "starling/log/reader.hpp"

namespace starling::log {

/// A write or a sync failed, so that it is not known what is on the disk. The writer refuses all
/// further work: only a restart, which reads the log again, can tell.
class WriterDead : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct WriterOptions {
  /// The length that is reserved for a segment when it begins. The first one of a log is short, so
  /// that a small disk has room for it. Each later one has twice the length of the one before, up
  /// to `segment_bytes`, but at most a quarter of the free disk and at least that of the first.
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
  /// Begins a log in a folder that has none. Throws NoSpace, IoError.
  Writer(Files& files, const NewLog& log, WriterOptions options);
  /// Goes on where recover_log ended. Throws IoError.
  Writer(Files& files, const LogEnd& end, WriterOptions options);

  /// Whether the segment has room for a group of this length.
  bool has_room(std::uint64_t bytes) const { return offset_ + bytes <= segment_end_; }
  /// Writes whole pages of the records so far, and does not wait until they are on the disk: the
  /// group may grow until it is committed, and its commit then has less to wait for. The segment
  /// must have room for it, then and when it is committed. Throws WriterDead.
  void begin(PendingGroup& group);
  /// Writes the group, and returns when it is on the disk. An empty group is durable already.
  /// Throws NoSpace if the disk has no room for a new segment: the group is as before, and the call
  /// may be made again. Throws WriterDead after any other error, and ever after.
  void commit(PendingGroup& group);

  /// All records before this one are durable; the next group begins with it.
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
  std::uint64_t begun_bytes_ = 0;  ///< bytes written of a group that has begun
  std::uint64_t segment_end_ = 0;
  std::string dead_;  ///< why
};

}  // namespace starling::log
