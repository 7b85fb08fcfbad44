// SPDX-License-Identifier: Apache-2.0
// Reads the groups of one segment or snapshot, for reader.cpp and snapshot.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "starling/log/reader.hpp"

namespace starling::log {

class SegmentReader {
 public:
  /// Begins after the header. The file must outlive the reader.
  SegmentReader(const File& file, std::string name, const SegmentHeader& header);

  /// Reads the next group. Returns false if no whole group follows; torn_bytes() and bad() then
  /// describe the bytes that follow. Throws DamagedLog if a later group follows a bad place.
  bool next();

  /// The group that next() has read. Valid until next() is called again.
  Group group() const { return {position_.next_group - 1, records_}; }
  std::uint64_t group_offset() const { return group_offset_; }
  /// The place after the groups that were read.
  const LogPosition& position() const { return position_; }
  std::uint64_t offset() const { return offset_; }
  /// After next() returned false: the number of bytes from offset() to the last one that is not
  /// zero.
  std::uint64_t torn_bytes() const { return torn_bytes_; }
  /// After next() returned false: why the next group is not whole.
  DamagedLog bad() const { return {name_, bad_offset_, bad_what_}; }

 private:
  struct Place {
    RecordHeader header;
    std::uint64_t offset = 0;
  };
  struct LaterGroup {
    std::uint64_t group = 0;
    std::uint64_t offset = 0;
  };
  /// Returns `bytes` bytes of the file from `offset` on, or fewer at its end. Valid until the next
  /// call.
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t bytes);
  bool parse_group();
  /// Reads the file's bytes again before it parses, so that it sees what a writer has added.
  bool parse_group_anew();
  bool parse_commit(const Place& commit, std::uint64_t chain);
  bool refuse(std::uint64_t offset, const char* what);
  void collect_records();
  /// Sets torn_bytes_. Returns the first later group after the bad place, if there is one.
  std::optional<LaterGroup> scan_tail();

  const File& file_;
  std::string name_;
  std::uint64_t seed_;
  std::uint64_t file_bytes_;
  std::uint64_t offset_;
  LogPosition position_;
  std::uint64_t group_offset_ = 0;
  std::uint64_t torn_bytes_ = 0;
  std::uint64_t bad_offset_ = 0;
  const char* bad_what_ = "";
  std::vector<Place> places_;
  std::vector<Record> records_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;  ///< offset of window_ in the file
};

}  // namespace starling::log
