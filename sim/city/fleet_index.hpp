// SPDX-License-Identifier: Apache-2.0
// FleetIndex finds the nearest free drivers of each waiting rider. Drivers are objects whose tags
// say whether they are free. Waiting riders are standing queries of one stream. The simulation uses
// FleetIndex and passes the lists to its dispatch policy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/plane.hpp"
#include "starling/sim/host/lock_step_host.hpp"

namespace starling::sim::city {

/// The tags of driver objects. Each driver has exactly one of the first four; all_tags is the mask
/// of all.
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

/// A waiting rider: a query for the k nearest free drivers within pickup_max_m.
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

/// The changes since the last tick.
struct FleetNews {
  std::span<const DriverPosition> positions;
  std::span<const DriverTags> tags;
  std::span<const RiderQuery> riders;  ///< new riders, and riders whose k has changed
  std::span<const RideIndex> riders_gone;
};

struct FleetIndexOptions {
  std::string stream = "riders";
  std::uint32_t drivers = 0;
  std::uint32_t rides = 0;
  double pickup_max_m = 0;  ///< greatest distance from a rider to a driver in the rider's list
};

class FleetIndex {
 public:
  /// Takes ownership of the host and opens the stream. Throws UsageError if the host's space is not
  /// planar2, std::runtime_error if the stream already has queries, and whatever
  /// LockStepHost::open() throws.
  FleetIndex(const FleetIndexOptions& options, std::unique_ptr<LockStepHost> host);

  /// Names the engine or server in words, for messages.
  const std::string& describe() const { return host_->describe(); }

  /// Passes on the changes and runs one tick at `tau_us`, which must not be less than the time of
  /// the last tick. Throws std::runtime_error if the host rejects a change, or if the host holds
  /// objects or queries of another program.
  void advance(std::int64_t tau_us, const FleetNews& news);

  /// Returns a waiting rider's list as of the last tick, nearest driver first. The list is valid
  /// until the next tick.
  std::span<const Candidate> list(RideIndex ride) const { return lists_[ride]; }

 private:
  void put_positions(std::int64_t tau_us, std::span<const DriverPosition> positions);
  void put_tags(std::int64_t tau_us, std::span<const DriverTags> tags);
  void put_riders(std::span<const RiderQuery> riders);
  void remove_riders(std::span<const RideIndex> rides);
  void take_list(QueryId query, ListEvent event, std::span<const protocol::HeldNeighbor> neighbors);

  FleetIndexOptions options_;
  std::unique_ptr<LockStepHost> host_;
  std::vector<std::vector<Candidate>> lists_;  ///< one per ride; empty after the rider has left
  std::string problem_;                        ///< an error in a tick's lists; advance() throws it

  std::vector<TraceRow> positions_;
  std::vector<TagUpdate> tags_;
};

/// These functions return the ids that the engine uses: the index plus 1.
constexpr std::uint64_t object_id(DriverIndex driver) {
  return std::uint64_t{driver} + 1;
}
constexpr std::uint64_t query_id(RideIndex ride) {
  return std::uint64_t{ride} + 1;
}

}  // namespace starling::sim::city
