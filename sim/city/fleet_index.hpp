// Who is near a waiting rider: the one question that the dispatcher asks, and the engine answers.
// Drivers are objects whose tags say whether they are free, waiting riders are standing queries of
// one stream. Embedded or on a server, the answers are the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/city/ride.hpp"
#include "sim/city/roads/plane.hpp"

namespace starling::sim::city {

/// The tag bits of drivers.
inline constexpr std::uint32_t tag_free = 1;
inline constexpr std::uint32_t tag_to_pickup = 2;
inline constexpr std::uint32_t tag_occupied = 4;
inline constexpr std::uint32_t tag_offered = 8;
inline constexpr std::uint32_t all_tags = 15;

struct DriverPosition {
  DriverIndex driver = none;
  Point at;
};

struct DriverTags {
  DriverIndex driver = none;
  std::uint32_t tags = 0;
};

/// A rider who waits: asks for the k nearest free drivers within a distance.
struct RiderQuery {
  RideIndex ride = none;
  Point at;
  std::uint32_t k = 1;
};

/// A driver in a rider's list.
struct Candidate {
  DriverIndex driver = none;
  double distance_m = 0;
  bool operator==(const Candidate&) const = default;
};

/// What is told before a tick.
struct FleetNews {
  std::span<const DriverPosition> positions;
  std::span<const DriverTags> tags;
  std::span<const RiderQuery> riders;  ///< new, or with another k
  std::span<const RideIndex> riders_gone;
};

struct FleetIndexOptions {
  std::string stream = "riders";
  std::uint32_t drivers = 0;
  std::uint32_t rides = 0;
  double pickup_max_m = 0;  ///< lists reach so far
};

class FleetIndex {
 public:
  virtual ~FleetIndex() = default;

  /// In a phrase: which engine.
  virtual const std::string& describe() const = 0;

  /// One tick at `tau_us`, which may be the last one's again. Throws std::runtime_error.
  virtual void advance(std::int64_t tau_us, const FleetNews& news) = 0;

  /// A waiting rider's list as of the last tick, nearest first; valid until the next.
  virtual std::span<const Candidate> list(RideIndex ride) const = 0;
};

/// Ids on the engine count from 1.
constexpr std::uint64_t object_id(DriverIndex driver) {
  return std::uint64_t{driver} + 1;
}
constexpr std::uint64_t query_id(RideIndex ride) {
  return std::uint64_t{ride} + 1;
}

}  // namespace starling::sim::city
