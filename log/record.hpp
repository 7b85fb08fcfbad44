// SPDX-License-Identifier: Apache-2.0
// The bytes of the log: a header and a payload for each record, and the commit record that ends a
// group (docs/decisions/0019-log.md). The writer seals groups with these functions, and the reader
// checks groups with them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace starling::log {

static_assert(std::endian::native == std::endian::little, "the log's numbers are little endian");

/// 128 random bits that name a log. The hashes of its records depend on them, so that bytes of
/// another log, or bytes that a client chose, are not taken for records of this log.
using LogId = std::array<std::uint8_t, 16>;

/// The kind of a record. Users of the log define values from 1 on. The log itself uses `commit`,
/// and snapshots end with 0xffff.
enum class RecordType : std::uint16_t { commit = 0 };

/// Bounds the memory that a reader needs for one record.
constexpr std::uint64_t payload_bytes_max = std::uint64_t{64} << 20;
/// The most bytes of a group, with headers, padding and the commit record. Bounds a reader's
/// memory.
constexpr std::uint64_t group_bytes_max = std::uint64_t{256} << 20;
/// Every record begins at a multiple of this many bytes.
constexpr std::uint64_t record_alignment = 8;

/// Precedes each payload. Padding with zeros follows the payload, up to a multiple of 8 bytes.
struct RecordHeader {
  std::uint32_t payload_bytes = 0;
  RecordType type = RecordType::commit;
  std::uint16_t version = 0;   ///< version of the payload; the users of `type` define it
  std::uint64_t sequence = 0;  ///< consecutive; a commit has the number of the next record
  std::uint64_t group = 0;
  std::uint64_t payload_hash = 0;  ///< XXH3 of payload and padding, seeded with the log's seed
  std::uint64_t header_hash = 0;   ///< XXH3 of the fields above, with the same seed
};
static_assert(sizeof(RecordHeader) == 40 && std::is_trivially_copyable_v<RecordHeader> &&
              std::has_unique_object_representations_v<RecordHeader>);

/// The payload of the record that ends a group. With it a reader finds out whether a record is
/// missing.
struct CommitPayload {
  std::uint64_t first_sequence = 0;  ///< sequence of the group's first record
  std::uint64_t record_count = 0;    ///< number of the group's records without the commit
  std::uint64_t chain = 0;           ///< the chained hash of all earlier records of the log
};
static_assert(sizeof(CommitPayload) == 24 && std::is_trivially_copyable_v<CommitPayload> &&
              std::has_unique_object_representations_v<CommitPayload>);

constexpr std::uint64_t commit_bytes = sizeof(RecordHeader) + sizeof(CommitPayload);

/// Rounds up to a multiple of the alignment.
constexpr std::uint64_t padded_bytes(std::uint64_t bytes) {
  return (bytes + record_alignment - 1) / record_alignment * record_alignment;
}
/// Returns the bytes of a record, with header and padding, whose payload has `payload_bytes`.
constexpr std::uint64_t record_bytes(std::uint64_t payload_bytes) {
  return sizeof(RecordHeader) + padded_bytes(payload_bytes);
}

/// Returns the seed of the hashes of this log's records.
std::uint64_t seed_of(const LogId& id);

/// Returns the 64-bit XXH3 of the bytes.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

/// Returns the chain that follows `chain` after a record with this header.
std::uint64_t next_chain(std::uint64_t chain, const RecordHeader& header);

/// Sets both hashes of the header at the front of `record`, which holds a whole record, and returns
/// the header.
RecordHeader seal_record(std::span<std::byte> record, std::uint64_t seed);

/// Returns the header at the front of `bytes`, or std::nullopt if it is incomplete, does not match
/// its hash, or has a payload longer than payload_bytes_max. Does not read the payload.
std::optional<RecordHeader> read_header(std::span<const std::byte> bytes, std::uint64_t seed);

/// Returns whether the payload matches its hash. `record` is a whole record with this header.
bool is_payload_whole(const RecordHeader& header, std::span<const std::byte> record,
                      std::uint64_t seed);

}  // namespace starling::log
