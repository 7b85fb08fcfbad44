// SPDX-License-Identifier: Apache-2.0
// A segment is one file of the log: a header, groups, and zeros up to the file's end. The headers
// form a chain: each has the position of the log where its segment begins.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/record.hpp"

namespace starling::log {

/// The version of the format that this code writes, and the latest that it reads.
constexpr std::uint32_t format_version = 1;
/// Most bytes of the header's part that the log's user defines.
constexpr std::uint64_t user_header_bytes_max = std::uint64_t{64} << 10;
/// A new segment has this name until its header is on the disk.
constexpr std::string_view unfinished_segment_name = "segment.unfinished";

/// Bytes of a log are not as they were written. Nothing was changed.
class DamagedLog : public std::runtime_error {
 public:
  DamagedLog(std::string file, std::uint64_t offset, const std::string& what);
  const std::string& file() const { return file_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::string file_;
  std::uint64_t offset_;
};
/// A later version of the program wrote the log. Nothing was changed.
class LogFromTheFuture : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A place between two groups of a log.
struct LogPosition {
  std::uint64_t next_sequence = 1;
  std::uint64_t next_group = 1;
  std::uint64_t chain = 0;

  bool operator==(const LogPosition&) const = default;
};

struct SegmentHeader {
  LogId id{};
  std::uint64_t number = 1;  ///< consecutive
  LogPosition begin;
  std::int64_t created_us = 0;  ///< wall clock
  std::vector<std::byte> user;  ///< opaque, the same in all segments of a log
};

/// Returns the file name of the segment that begins with this sequence number.
std::string segment_name(std::uint64_t first_sequence);
/// Returns the number in a segment's file name, or std::nullopt for other names.
std::optional<std::uint64_t> sequence_of_name(std::string_view name);
/// Returns the file name of the snapshot (snapshot.hpp) that stands for all records before this
/// number.
std::string snapshot_name(std::uint64_t next_sequence);
std::optional<std::uint64_t> sequence_of_snapshot_name(std::string_view name);
/// Returns the names of all segments in the folder, oldest first.
std::vector<std::string> segment_names(const Files& files);

/// Returns the header of the newest segment, or std::nullopt if the folder has no segment. Throws
/// DamagedLog, LogFromTheFuture, IoError.
std::optional<SegmentHeader> newest_header(Files& files);

/// Returns the bytes of the header, which are also the offset of the first record.
std::uint64_t segment_header_bytes(const SegmentHeader& header);

/// Returns the header as it is in the file, with its hashes and padding.
std::vector<std::byte> encode_header(const SegmentHeader& header);

/// Makes a file of at least `bytes` with this header. Returns when it is on the disk under the
/// segment's name. Throws IoError. Throws NoSpace, and then leaves no file.
std::unique_ptr<File> create_segment(Files& files, const SegmentHeader& header,
                                     std::uint64_t bytes);

/// Reads and checks the header of a segment or snapshot. Throws DamagedLog, LogFromTheFuture,
/// IoError.
SegmentHeader read_segment_header(const File& file, const std::string& name);

}  // namespace starling::log
