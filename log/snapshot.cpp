// SPDX-License-Identifier: Apache-2.0
// A snapshot has the format of a segment: a header with the number 0, then groups. Its last record
// marks the end, so that a snapshot that was cut off is found. See snapshot.hpp.
#include "starling/log/snapshot.hpp"

#include <stdexcept>
#include <utility>

#include "starling/log/recovery.hpp"
#include "starling/log/segment_reader.hpp"

namespace starling::log {
namespace {

/// The type of a snapshot's last record. Users' types are smaller.
constexpr RecordType end_type{0xffff};
/// A snapshot is written and synced in groups of about this size, so that a commit of the log at
/// the same time waits only briefly for the disk.
constexpr std::uint64_t group_bytes = std::uint64_t{4} << 20;

SegmentHeader header_of_snapshot(const File& file, const std::string& name) {
  SegmentHeader header = read_segment_header(file, name);
  if (header.number != 0) throw DamagedLog(name, 0, "the file is a segment, not a snapshot");
  return header;
}

}  // namespace

std::vector<std::string> snapshot_names(const Files& files) {
  std::vector<std::string> names = files.list();
  std::erase_if(names, [](const std::string& name) { return !sequence_of_snapshot_name(name); });
  return names;
}

SnapshotInfo snapshot_info(Files& files, const std::string& name) {
  const auto file = files.open(name);
  const SegmentHeader header = header_of_snapshot(*file, name);
  return {.file = name,
          .next_sequence = header.begin.next_sequence,
          .created_us = header.created_us,
          .bytes = file->bytes(),
          .log = header.id};
}

std::vector<SnapshotInfo> snapshots(Files& files) {
  std::vector<SnapshotInfo> all;
  for (const std::string& name : snapshot_names(files)) all.push_back(snapshot_info(files, name));
  return all;
}

std::optional<SnapshotInfo> newest_snapshot(Files& files) {
  const auto names = snapshot_names(files);
  if (names.empty()) return std::nullopt;
  return snapshot_info(files, names.back());
}

LogRange range_behind(const std::optional<SnapshotInfo>& snapshot) {
  if (!snapshot) return {};
  return {.from = snapshot->next_sequence, .id = snapshot->log};
}

void read_snapshot(Files& files, const SnapshotInfo& snapshot,
                   const std::function<bool(const Record&)>& handler) {
  const auto file = files.open(snapshot.file);
  SegmentReader reader(*file, snapshot.file, header_of_snapshot(*file, snapshot.file));
  bool is_whole = false;
  while (reader.next())
    for (const Record& record : reader.group().records) {
      is_whole = record.type == end_type;
      if (!is_whole && !handler(record)) return;
    }
  if (!is_whole || reader.torn_bytes() != 0) throw reader.bad();
}

SnapshotWriter::SnapshotWriter(Files& files, const SegmentHeader& log, std::uint64_t next_sequence,
                               std::int64_t created_us)
    : files_(files),
      header_{.id = log.id,
              .number = 0,
              .begin = {next_sequence, 1, seed_of(log.id)},
              .created_us = created_us,
              .user = log.user},
      info_{.file = snapshot_name(next_sequence),
            .next_sequence = next_sequence,
            .created_us = created_us,
            .log = log.id},
      position_(header_.begin),
      group_(next_sequence) {
  const std::vector<std::byte> encoded = encode_header(header_);
  file_ = files_.create(unfinished_snapshot_name, encoded.size());
  file_->write(0, encoded);
  info_.bytes = encoded.size();
}

SnapshotWriter::~SnapshotWriter() {
  if (!file_) return;
  file_.reset();
  try {
    files_.remove(unfinished_snapshot_name);
  } catch (const IoError&) {  // recovery removes it
  }
}

void SnapshotWriter::append(RecordType type, std::uint16_t version,
                            std::span<const std::byte> payload) {
  if (payload.size() > snapshot_payload_bytes_max)
    throw std::length_error("a record of a snapshot would have " + std::to_string(payload.size()) +
                            " bytes, more than the format allows");
  if (!group_.is_empty() && group_.bytes() + record_bytes(payload.size()) > group_bytes)
    write_group();
  group_.append(type, version, payload);
}

void SnapshotWriter::write_group() {
  const auto bytes = group_.seal(position_, seed_of(header_.id));
  file_->write(info_.bytes, bytes);
  file_->sync();
  info_.bytes += bytes.size();
  group_.restart(position_.next_sequence);
}

SnapshotInfo SnapshotWriter::finish() {
  append(end_type, 1, {});
  write_group();
  files_.rename(unfinished_snapshot_name, info_.file);
  file_.reset();
  files_.sync_folder();
  return info_;
}

std::uint64_t drop_before(Files& files, const SnapshotInfo& oldest) {
  std::uint64_t dropped = 0;
  // Snapshots are removed first: otherwise power loss could leave one without the records after it.
  for (const std::string& name : snapshot_names(files)) {
    if (name >= oldest.file) break;
    files.remove(name);
    ++dropped;
  }
  files.sync_folder();
  return dropped + drop_segments_before(files, oldest.next_sequence);
}

}  // namespace starling::log
