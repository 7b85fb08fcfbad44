// SPDX-License-Identifier: Apache-2.0
// Computes the hashes of records with XXH3, seeded by the log's id: see record.hpp.
#include "starling/log/record.hpp"

#include <cstring>

#include <xxhash.h>

namespace starling::log {
namespace {

constexpr std::size_t hashed_header_bytes = offsetof(RecordHeader, header_hash);

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t seed_of(const LogId& id) {
  return hash_bytes(std::as_bytes(std::span(id)), 0);
}

std::uint64_t next_chain(std::uint64_t chain, const RecordHeader& header) {
  return hash_bytes(std::as_bytes(std::span(&header.header_hash, 1)), chain);
}

RecordHeader seal_record(std::span<std::byte> record, std::uint64_t seed) {
  RecordHeader header;
  std::memcpy(&header, record.data(), sizeof(header));
  header.payload_hash = hash_bytes(record.subspan(sizeof(header)), seed);
  header.header_hash =
      hash_bytes(std::as_bytes(std::span(&header, 1)).first(hashed_header_bytes), seed);
  std::memcpy(record.data(), &header, sizeof(header));
  return header;
}

std::optional<RecordHeader> read_header(std::span<const std::byte> bytes, std::uint64_t seed) {
  if (bytes.size() < sizeof(RecordHeader)) return {};
  RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.payload_bytes > payload_bytes_max) return {};
  if (header.header_hash != hash_bytes(bytes.first(hashed_header_bytes), seed)) return {};
  return header;
}

bool is_payload_whole(const RecordHeader& header, std::span<const std::byte> record,
                      std::uint64_t seed) {
  return header.payload_hash == hash_bytes(record.subspan(sizeof(header)), seed);
}

}  // namespace starling::log
