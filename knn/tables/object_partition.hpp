// SPDX-License-Identifier: Apache-2.0
// The 64 partitions of the table of objects. A partition finds the slots of its objects by id, and
// keeps the times at which to forget objects that left. ObjectTable owns the partitions.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "starling/knn/tables/departures.hpp"
#include "starling/knn/tables/object_registry.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

inline constexpr unsigned partition_count = 64;

/// Returns the partition of an object: the XXH64 hash (Collet), with seed 0, of the id's eight
/// bytes in little-endian order, modulo partition_count. An object lives in one partition for ever.
constexpr unsigned partition_of(ObjectId id) {
  constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87;
  constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4F;
  constexpr std::uint64_t prime_3 = 0x165667B19E3779F9;
  constexpr std::uint64_t prime_4 = 0x85EBCA77C2B2AE63;
  constexpr std::uint64_t prime_5 = 0x27D4EB2F165667C5;
  const auto rotate = [](std::uint64_t bits, int by) { return bits << by | bits >> (64 - by); };
  std::uint64_t hash = prime_5 + sizeof(id);
  hash ^= rotate(to_number(id) * prime_2, 31) * prime_1;
  hash = rotate(hash, 27) * prime_1 + prime_4;
  hash = (hash ^ hash >> 33) * prime_2;
  hash = (hash ^ hash >> 29) * prime_3;
  return static_cast<unsigned>((hash ^ hash >> 32) % partition_count);
}

/// The data of an object, except its TagClock, followers, vector and targets.
struct ObjectRecord {
  /// A value of staged_row: the object will get a row in the staging half in this update.
  static constexpr std::uint32_t staged_soon = ~std::uint32_t{0};

  ObjectId id{};
  std::int64_t time_us = 0;
  LatticePoint position;
  std::uint32_t tags = 0;
  std::uint32_t generation = 0;
  std::uint32_t staged_row = 0;  ///< valid only if that row of the staging half has this slot
};

struct ObjectPartition {
  explicit ObjectPartition(std::uint64_t hash_seed) : registry(hash_seed) {}

  ObjectRegistry<std::pmr::vector<ObjectRecord>> registry;
  /// A separate allocation, so that the registries of all partitions are in few cache lines.
  std::unique_ptr<Departures> departures = std::make_unique<Departures>();
};

}  // namespace starling
