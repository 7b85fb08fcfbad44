// SPDX-License-Identifier: Apache-2.0
// Reads the groups of one segment. Only the reader uses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "starling/log/reader.hpp"

namespace starling::log {

class SegmentReader {
 public:
  /// Begins after the header.
  SegmentReader(const File& file, std::string name, const SegmentHeader& header);

  /// Reads the next group. Returns false at the end of the whole groups: torn_bytes() and bad()
  /// then say what follows. Throws DamagedLog if a later group follows a bad place.
  bool next();

  /// The group that next() read.
  Group group() const { return {position_.next_group - 1, records_}; }
  std::uint64_t group_offset() const { return group_offset_; }
  /// The place after the groups that were read.
  const LogPosition& position() const { return position_; }
  std::uint64_t offset() const { return offset_; }
  /// After the end: how many bytes follow that are not zeros, counted from offset() to the last.
  std::uint64_t torn_bytes() const { return torn_bytes_; }
  /// After the end: why the next group is not whole.
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
  /// Returns bytes of the file, or fewer at its end. Valid until the next call.
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t bytes);
  bool parse_group();
  /// The same with the bytes that the file has now.
  bool parse_group_anew();
  bool parse_commit(const Place& commit, std::uint64_t chain);
  bool refuse(std::uint64_t offset, const char* what);
  void collect_records();
  /// Sets torn_bytes_. Returns where a later group begins after the bad place.
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
  std::uint64_t window_offset_ = 0;  ///< offset in the file
};

}  // namespace starling::log
