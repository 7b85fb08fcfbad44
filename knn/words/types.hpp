// SPDX-License-Identifier: Apache-2.0
// The types that all parts of Starling share: ids, slots, ticks, and neighbours with their total
// order. The tables, the engines, the wire format and the replay include this file.
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

/// The index of an object or a query in the engine's arrays. A slot is used again after its owner
/// is forgotten; a generation tells the owners apart.
using Slot = std::uint32_t;
inline constexpr Slot no_slot = ~Slot{0};

/// The longest list a query may ask for.
inline constexpr std::uint32_t k_max = 1024;

/// Integer coordinates on the lattice, in units of the resolution, each in [-2^30, 2^30). In
/// planar2, z is 0. In wgs84 the origin is the earth's centre.
struct LatticePoint {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t z = 0;
  bool operator==(const LatticePoint&) const = default;
};

/// Returns the exact squared distance in lattice units: at most 3 * 2^62, which fits in 64 bits.
constexpr std::uint64_t distance_sq(const LatticePoint& a, const LatticePoint& b) {
  const auto square = [](std::int64_t d) { return static_cast<std::uint64_t>(d * d); };
  return square(std::int64_t{a.x} - b.x) + square(std::int64_t{a.y} - b.y) +
         square(std::int64_t{a.z} - b.z);
}

/// Neighbours are ranked by this key: the smallest key is the nearest. A key is an order, not a
/// distance. In a space of positions it is the squared distance in lattice units. In a vector space
/// it is ordered_of(score) (knn/words/metric.hpp). Processor::to_distance converts a key into the
/// distance that users read.
enum class RankKey : std::uint64_t {};

constexpr std::uint64_t to_number(RankKey key) {
  return static_cast<std::uint64_t>(key);
}

/// Returns the key after `key`. Do not call for Filter::any_distance, which is the last key.
constexpr RankKey next_key(RankKey key) {
  return RankKey{to_number(key) + 1};
}

/// One entry of a neighbour list. The comparison of two entries is the total order of all answers:
/// the smaller key comes first; if keys are equal, the smaller object id.
struct Neighbor {
  RankKey key{};
  ObjectId object{};
  auto operator<=>(const Neighbor&) const = default;
};

/// The class of an object in a vector space. A query may let the labels of its neighbours vote.
using Label = std::int64_t;

/// Stands for "no label": the label of an object without a label, and the vote of a list in which
/// no object has a label. All other labels are larger.
inline constexpr Label no_label = std::numeric_limits<Label>::min();

/// Stands for "no value": the value of an object without a value, and the mean of a list in which
/// no object has a value. It is NaN, so it equals nothing. Every NaN in an answer has these bits.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// The label and the value that are known of an object of a vector space. Queries predict both from
/// their neighbours.
struct Targets {
  Label label = no_label;
  double value = no_value;  ///< not infinite
};

/// How much each neighbour counts in the mean of the neighbours' values. The names are
/// scikit-learn's.
enum class RegressionWeights : std::uint8_t {
  none,      ///< no mean
  uniform,   ///< the same weight for all
  distance,  ///< weight 1 / distance; if there are neighbours at distance 0, only they count
};

/// The state of a neighbour in the snapshot of the tick. A stream may report it with the neighbour.
struct NeighborState {
  LatticePoint position;  ///< zeros in a vector space
  std::uint32_t tags = 0;
  bool operator==(const NeighborState&) const = default;
};

}  // namespace starling
