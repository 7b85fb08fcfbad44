// SPDX-License-Identifier: Apache-2.0
// Writes groups and chooses the lengths of segments: see writer.hpp.
#include "starling/log/writer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::log {
namespace {

std::uint64_t first_bytes(const WriterOptions& options) {
  return std::min(options.first_segment_bytes, options.segment_bytes);
}

}  // namespace

Writer::Writer(Files& files, const NewLog& log, WriterOptions options)
    : files_(files),
      options_(std::move(options)),
      header_{.id = log.id, .begin = {}, .user = log.user} {
  check_invariant(segment_names(files).empty(), "a new log needs a folder without one");
  position_.chain = seed_of(log.id);
  header_.begin = position_;
  header_.created_us = options_.wall_us();
  file_ = create_segment(files_, header_, first_bytes(options_));
  offset_ = segment_header_bytes(header_);
  segment_end_ = file_->bytes();
}

Writer::Writer(Files& files, const LogEnd& end, WriterOptions options)
    : files_(files),
      options_(std::move(options)),
      header_(end.header),
      position_(end.position),
      file_(files.open(end.file)),
      offset_(end.offset),
      segment_end_(file_->bytes()) {}

void Writer::begin(PendingGroup& group) {
  if (is_dead()) throw WriterDead(dead_);
  check_invariant(has_room(group.bytes()), "a group begins where it has room");
  check_has_begun(group);
  const auto sealed = group.seal_records(position_, seed_of(header_.id));
  const std::uint64_t page = file_->page_bytes();
  const std::uint64_t end = (offset_ + sealed.size()) / page * page;
  const std::uint64_t begin = offset_ + begun_bytes_;
  if (end <= begin) return;
  try {
    file_->write(begin, sealed.subspan(begun_bytes_, end - begin));
    file_->begin_sync(begin, end - begin);
    begun_bytes_ = end - offset_;
  } catch (const IoError& error) {
    die(error);
  }
}

void Writer::commit(PendingGroup& group) {
  if (is_dead()) throw WriterDead(dead_);
  if (group.is_empty()) return;
  try {
    if (begun_bytes_ == 0) make_room(group.bytes());
    check_invariant(has_room(group.bytes()), "a group stays in the segment in which it began");
    check_has_begun(group);
    LogPosition behind = position_;
    const auto bytes = group.seal(behind, seed_of(header_.id));
    file_->write(offset_ + begun_bytes_, bytes.subspan(begun_bytes_));
    file_->sync();
    offset_ += bytes.size();
    begun_bytes_ = 0;
    position_ = behind;
  } catch (const NoSpace&) {
    throw;
  } catch (const IoError& error) {
    die(error);
  }
}

void Writer::check_has_begun(const PendingGroup& group) const {
  check_invariant(group.sealed_bytes() >= begun_bytes_, "one group begins at a time");
}

std::uint64_t Writer::next_segment_bytes() const {
  const std::uint64_t free_bytes =
      free_bytes_if_known(files_).value_or(std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t bytes = std::min({2 * segment_end_, options_.segment_bytes, free_bytes / 4});
  return std::max(bytes, first_bytes(options_));
}

void Writer::make_room(std::uint64_t bytes) {
  if (has_room(bytes)) return;
  SegmentHeader header = header_;
  // A segment without groups is replaced, because the next one would have the same name.
  if (header_.begin != position_) ++header.number;
  header.begin = position_;
  header.created_us = options_.wall_us();
  const std::uint64_t begin = segment_header_bytes(header);
  file_ = create_segment(files_, header, std::max(next_segment_bytes(), begin + bytes));
  header_ = std::move(header);
  offset_ = begin;
  segment_end_ = file_->bytes();
}

void Writer::die(const IoError& error) {
  dead_ = std::string(error.what()) +
          ". Nothing more is written to the log, since it is unknown what is on the disk. See to "
          "the disk, then start the server again: it goes on with what the disk holds";
  throw WriterDead(dead_);
}

}  // namespace starling::log
