// SPDX-License-Identifier: Apache-2.0
// Checks groups, and decides whether a bad place is a torn tail or damage: see segment_reader.hpp.
#include "starling/log/segment_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace starling::log {
namespace {

constexpr std::uint64_t read_bytes = std::uint64_t{1} << 20;

/// Returns the number of bytes up to and including the last one that is not zero.
std::size_t bytes_to_last_set(std::span<const std::byte> bytes) {
  const auto last = std::find_if(bytes.rbegin(), bytes.rend(),
                                 [](std::byte each) { return each != std::byte{}; });
  return static_cast<std::size_t>(bytes.rend() - last);
}

/// No header begins with eight zeros: a commit has a payload, and other types are not 0.
bool may_be_header(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof(word));
  return word != 0;
}

}  // namespace

SegmentReader::SegmentReader(const File& file, std::string name, const SegmentHeader& header)
    : file_(file),
      name_(std::move(name)),
      seed_(seed_of(header.id)),
      file_bytes_(file.bytes()),
      offset_(segment_header_bytes(header)),
      position_(header.begin),
      window_offset_(offset_) {}

std::span<const std::byte> SegmentReader::view(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = std::min(offset + bytes, file_bytes_);
  if (end <= offset) return {};
  if (end > window_offset_ + window_.size()) {
    // Bytes before the group are not needed any more.
    const std::uint64_t gone = std::min<std::uint64_t>(offset_ - window_offset_, window_.size());
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(gone));
    window_offset_ = offset_;
    const std::uint64_t old = window_.size();
    window_.resize(std::min(std::max(end, window_offset_ + old + read_bytes), file_bytes_) -
                   window_offset_);
    window_.resize(old + file_.read(window_offset_ + old, std::span(window_).subspan(old)));
  }
  const std::uint64_t begin = std::min<std::uint64_t>(offset - window_offset_, window_.size());
  return std::span(window_).subspan(begin,
                                    std::min<std::uint64_t>(end - offset, window_.size() - begin));
}

bool SegmentReader::next() {
  // A writer may have written more since the window was read.
  if (parse_group() || parse_group_anew()) return true;
  const auto later = scan_tail();
  if (!later) return false;
  // A writer may also have written after parse_group_anew(). The later group was written after this
  // group. So this group is whole by now, unless it is damaged.
  if (parse_group_anew()) return true;
  throw DamagedLog(name_, bad_offset_,
                   std::string(bad_what_) + ", though group " + std::to_string(later->group) +
                       " follows at byte " + std::to_string(later->offset));
}

bool SegmentReader::parse_group_anew() {
  window_.clear();
  window_offset_ = offset_;
  file_bytes_ = file_.bytes();
  return parse_group();
}

bool SegmentReader::refuse(std::uint64_t offset, const char* what) {
  bad_offset_ = offset;
  bad_what_ = what;
  return false;
}

bool SegmentReader::parse_group() {
  std::uint64_t chain = position_.chain;
  std::uint64_t at = offset_;
  places_.clear();
  for (std::uint64_t sequence = position_.next_sequence;; ++sequence) {
    const auto header = read_header(view(at, sizeof(RecordHeader)), seed_);
    if (!header) return refuse(at, "no record begins here");
    if (header->group != position_.next_group) return refuse(at, "a record is of another group");
    if (header->sequence != sequence) return refuse(at, "a record has the wrong number");
    const std::uint64_t bytes = record_bytes(header->payload_bytes);
    if (at + bytes - offset_ > group_bytes_max) return refuse(at, "a group is too long");
    const auto record = view(at, bytes);
    if (record.size() < bytes) return refuse(at, "the file ends within a record");
    if (!is_payload_whole(*header, record, seed_))
      return refuse(at, "a record does not have its hash");
    if (header->type == RecordType::commit) return parse_commit({*header, at}, chain);
    places_.push_back({*header, at});
    chain = next_chain(chain, *header);
    at += bytes;
  }
}

bool SegmentReader::parse_commit(const Place& commit, std::uint64_t chain) {
  CommitPayload payload;
  if (commit.header.payload_bytes != sizeof(payload))
    return refuse(commit.offset, "a commit record is of another size");
  std::memcpy(&payload, view(commit.offset, commit_bytes).data() + sizeof(RecordHeader),
              sizeof(payload));
  if (payload.first_sequence != position_.next_sequence || payload.record_count != places_.size() ||
      payload.chain != chain)
    return refuse(commit.offset, "a commit record does not fit the records before it");
  collect_records();
  torn_bytes_ = 0;
  group_offset_ = offset_;
  offset_ = commit.offset + commit_bytes;
  position_ = {commit.header.sequence, position_.next_group + 1, next_chain(chain, commit.header)};
  return true;
}

void SegmentReader::collect_records() {
  records_.clear();
  for (const Place& place : places_)
    records_.push_back({place.header.type, place.header.version, place.header.sequence,
                        view(place.offset + sizeof(RecordHeader), place.header.payload_bytes)});
}

std::optional<SegmentReader::LaterGroup> SegmentReader::scan_tail() {
  torn_bytes_ = 0;
  std::vector<std::byte> chunk(std::min(read_bytes, file_bytes_ - std::min(offset_, file_bytes_)) +
                               sizeof(RecordHeader));
  for (std::uint64_t at = offset_; at < file_bytes_; at += read_bytes) {
    const auto bytes = std::span<const std::byte>(chunk).first(file_.read(at, chunk));
    const std::size_t set = bytes_to_last_set(bytes);
    if (set != 0) torn_bytes_ = at + set - offset_;
    for (std::size_t i = 0; i < std::min<std::size_t>(set, read_bytes); i += record_alignment) {
      if (bytes.size() - i < sizeof(RecordHeader)) break;
      if (!may_be_header(bytes.subspan(i))) continue;
      const auto header = read_header(bytes.subspan(i), seed_);
      if (header && header->group > position_.next_group) return LaterGroup{header->group, at + i};
    }
  }
  return {};
}

}  // namespace starling::log
