// A running server as the engine: drivers and riders through a Client, lists from a Subscriber, one
// tick on request after another. Anyone else may subscribe to the riders' stream and watch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/client/manual_server.hpp"
#include "sim/city/fleet_index.hpp"

namespace starling::sim::city {

class ServerFleetIndex : public FleetIndex {
 public:
  /// Connects, puts the stream and joins it. Throws UsageError if the server ticks by itself or its
  /// space is no plane, else as Client does.
  ServerFleetIndex(zmq::context_t& context, const FleetIndexOptions& fleet,
                   const ManualServerOptions& options);

  const std::string& describe() const override { return description_; }
  void advance(std::int64_t tau_us, const FleetNews& news) override;
  std::span<const Candidate> list(RideIndex ride) const override { return lists_[ride]; }

 private:
  void follow();
  void post_positions(std::int64_t tau_us, std::span<const DriverPosition> positions);
  void post_tags(std::int64_t tau_us, std::span<const DriverTags> tags);
  void post_riders(std::span<const RiderQuery> riders);
  void post_riders_gone(std::span<const RideIndex> rides);
  void take_tick(const protocol::DecodedTick& tick);
  void take_all_lists();
  void take_list(std::uint64_t query, const protocol::HeldList& held);

  FleetIndexOptions fleet_;
  std::string description_;
  ManualServer server_;
  std::vector<std::vector<Candidate>> lists_;  ///< by ride
};

}  // namespace starling::sim::city
