// SPDX-License-Identifier: Apache-2.0
// Defines how a group is built and sealed: see pending_group.hpp.
#include "starling/log/pending_group.hpp"

#include <cstring>

#include "starling/knn/base/assert.hpp"

namespace starling::log {
namespace {

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
  put_value(buffer_, RecordHeader{.payload_bytes = static_cast<std::uint32_t>(payload_bytes),
                                  .type = type,
                                  .version = version,
                                  .sequence = next_sequence_});
  for (const auto part : parts) put(buffer_, part);
  buffer_.resize(padded_bytes(buffer_.size()));
  return next_sequence_++;
}

std::span<const std::byte> PendingGroup::seal(LogPosition& position, std::uint64_t seed) {
  check_invariant(position.next_sequence == first_sequence_, "a group does not follow its log");
  std::uint64_t chain = position.chain;
  const auto seal_at = [&](std::size_t offset) {
    RecordHeader header;
    std::memcpy(&header, buffer_.data() + offset, sizeof(header));
    header.group = position.next_group;
    std::memcpy(buffer_.data() + offset, &header, sizeof(header));
    const std::uint64_t bytes = record_bytes(header.payload_bytes);
    chain = next_chain(chain, seal_record(std::span(buffer_).subspan(offset, bytes), seed));
    return offset + bytes;
  };
  std::size_t offset = 0;
  while (offset < buffer_.size()) offset = seal_at(offset);
  put_value(buffer_,
            RecordHeader{.payload_bytes = sizeof(CommitPayload), .sequence = next_sequence_});
  put_value(buffer_, CommitPayload{.first_sequence = first_sequence_,
                                   .record_count = next_sequence_ - first_sequence_,
                                   .chain = chain});
  seal_at(offset);
  position = {next_sequence_, position.next_group + 1, chain};
  return buffer_;
}

void PendingGroup::restart(std::uint64_t next_sequence) {
  buffer_.clear();
  first_sequence_ = next_sequence_ = next_sequence;
}

}  // namespace starling::log
