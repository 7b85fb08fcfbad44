// SPDX-License-Identifier: Apache-2.0
// Defines how a group is built and sealed: see pending_group.hpp.
#include "starling/log/pending_group.hpp"

#include <algorithm>
#include <cstring>

#include "starling/knn/base/assert.hpp"

namespace starling::log {
namespace {

/// Reserves memory for these bytes, so that appending them cannot throw.
void make_room(std::vector<std::byte>& buffer, std::uint64_t bytes) {
  const std::size_t size = buffer.size() + bytes;
  if (size > buffer.capacity()) buffer.reserve(std::max(size, 2 * buffer.capacity()));
}

void put(std::vector<std::byte>& buffer, std::span<const std::byte> bytes) {
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

template <class Value>
void put_value(std::vector<std::byte>& buffer, const Value& value) {
  put(buffer, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

std::uint64_t PendingGroup::append(RecordType type, std::uint16_t version,
                                   std::span<const std::span<const std::byte>> parts) {
  std::uint64_t payload_bytes = 0;
  for (const auto part : parts) payload_bytes += part.size();
  check_invariant(has_room(payload_bytes), "a record does not fit in its group");
  check_invariant(type != RecordType::commit, "only the log itself appends commits");
  make_room(buffer_, record_bytes(payload_bytes));
  put_value(buffer_, RecordHeader{.payload_bytes = static_cast<std::uint32_t>(payload_bytes),
                                  .type = type,
                                  .version = version,
                                  .sequence = next_sequence_});
  for (const auto part : parts) put(buffer_, part);
  buffer_.resize(padded_bytes(buffer_.size()));
  return next_sequence_++;
}

void PendingGroup::append_group(const PendingGroup& next) {
  check_invariant(next.first_sequence_ == next_sequence_, "groups are joined in order");
  check_invariant(bytes() + next.buffer_.size() <= group_bytes_max, "two groups have room in one");
  make_room(buffer_, next.buffer_.size());
  put(buffer_, next.buffer_);
  next_sequence_ = next.next_sequence_;
}

void PendingGroup::seal_next(const LogPosition& position, std::uint64_t seed) {
  if (sealed_bytes_ == 0) chain_ = position.chain;
  RecordHeader header;
  std::memcpy(&header, buffer_.data() + sealed_bytes_, sizeof(header));
  header.group = position.next_group;
  std::memcpy(buffer_.data() + sealed_bytes_, &header, sizeof(header));
  const std::uint64_t bytes = record_bytes(header.payload_bytes);
  chain_ = next_chain(chain_, seal_record(std::span(buffer_).subspan(sealed_bytes_, bytes), seed));
  sealed_bytes_ += bytes;
}

std::span<const std::byte> PendingGroup::seal_records(const LogPosition& position,
                                                      std::uint64_t seed) {
  check_invariant(position.next_sequence == first_sequence_, "a group does not follow its log");
  while (sealed_bytes_ < buffer_.size()) seal_next(position, seed);
  return buffer_;
}

std::span<const std::byte> PendingGroup::seal(LogPosition& position, std::uint64_t seed) {
  seal_records(position, seed);
  make_room(buffer_, commit_bytes);
  put_value(buffer_,
            RecordHeader{.payload_bytes = sizeof(CommitPayload), .sequence = next_sequence_});
  put_value(buffer_, CommitPayload{.first_sequence = first_sequence_,
                                   .record_count = next_sequence_ - first_sequence_,
                                   .chain = chain_});
  seal_next(position, seed);
  position = {next_sequence_, position.next_group + 1, chain_};
  return buffer_;
}

void PendingGroup::restart(std::uint64_t next_sequence) {
  buffer_.clear();
  sealed_bytes_ = 0;
  first_sequence_ = next_sequence_ = next_sequence;
}

}  // namespace starling::log
