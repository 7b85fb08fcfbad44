// The words every part of Starling shares: ids, slots, ticks, and neighbours with their total
// order. Every folder includes it: the tables, the engines, the wire and the replay.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace starling {

enum class ObjectId : std::uint64_t {};
enum class QueryId : std::uint64_t {};
enum class Tick : std::uint64_t {};

constexpr std::uint64_t to_number(ObjectId id) {
  return static_cast<std::uint64_t>(id);
}
constexpr std::uint64_t to_number(QueryId id) {
  return static_cast<std::uint64_t>(id);
}
constexpr std::uint64_t to_number(Tick tick) {
  return static_cast<std::uint64_t>(tick);
}

/// Where an object or a query stands in the engine's arrays. Reused after its owner is forgotten;
/// a generation tells the owners apart.
using Slot = std::uint32_t;
inline constexpr Slot no_slot = ~Slot{0};

/// The longest list a query may ask for.
inline constexpr std::uint32_t k_max = 1024;

/// Integer coordinates on the lattice, in units of the resolution, each in [-2^30, 2^30).
/// planar2 keeps z = 0; wgs84 is earth-centred.
struct LatticePoint {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t z = 0;
  bool operator==(const LatticePoint&) const = default;
};

/// Exact: at most 3 * 2^62, which fits.
constexpr std::uint64_t distance_sq(const LatticePoint& a, const LatticePoint& b) {
  const auto square = [](std::int64_t d) { return static_cast<std::uint64_t>(d * d); };
  return square(std::int64_t{a.x} - b.x) + square(std::int64_t{a.y} - b.y) +
         square(std::int64_t{a.z} - b.z);
}

/// What neighbours are ranked by: the least key is the nearest. It is an order and not a distance. In
/// a space of positions it is the squared distance in lattice units; in a vector space it is the
/// score as ordered_of (knn/words/metric.hpp) maps it. Processor::to_distance turns it into the
/// distance that users read.
enum class RankKey : std::uint64_t {};

constexpr std::uint64_t to_number(RankKey key) {
  return static_cast<std::uint64_t>(key);
}

/// The key that follows `key`; a key of `Filter::any_distance` has none.
constexpr RankKey next_key(RankKey key) {
  return RankKey{to_number(key) + 1};
}

/// One entry of a neighbour list. The order of the members is the total order of all answers:
/// nearest first, ties by the smaller object id.
struct Neighbor {
  RankKey key{};
  ObjectId object{};
  auto operator<=>(const Neighbor&) const = default;
};

/// What an object of a vector space may be known to be; queries let their neighbours' labels vote.
using Label = std::int64_t;

/// What an object without a label has, and what a list without labels votes for; labels are larger.
inline constexpr Label no_label = std::numeric_limits<Label>::min();

/// What a stream may carry beside a neighbour: its state in the tick's snapshot.
struct NeighborState {
  LatticePoint position;  ///< zeros in a vector space
  std::uint32_t tags = 0;
  bool operator==(const NeighborState&) const = default;
};

}  // namespace starling
