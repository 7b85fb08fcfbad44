// A running server as the engine: drivers and riders through a Client, lists from a Subscriber, one
// tick on request after another. Anyone else may subscribe to the riders' stream and watch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/client.hpp"
#include "protocol/subscriber.hpp"
#include "sim/city/fleet_index.hpp"

namespace starling::sim::city {

struct ServerFleetOptions {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string results = "tcp://127.0.0.1:7412";
  std::int64_t connect_timeout_ms = 5'000;
  std::int64_t missed_after_ms = 1'000;  ///< a tick's lists not here: take a snapshot
};

class ServerFleetIndex : public FleetIndex {
 public:
  /// Connects, puts the stream and joins it. Throws UsageError if the server ticks by itself or its
  /// space is no plane, else as Client does.
  ServerFleetIndex(zmq::context_t& context, const FleetIndexOptions& fleet,
                   const ServerFleetOptions& options);

  const std::string& describe() const override { return description_; }
  void advance(std::int64_t tau_us, const FleetNews& news) override;
  std::span<const Candidate> list(RideIndex ride) const override { return lists_[ride]; }

 private:
  void subscribe();
  double joined_count();
  std::size_t batch_rows_max(std::size_t bytes_per_row) const;
  void post_positions(std::int64_t tau_us, std::span<const DriverPosition> positions);
  void post_tags(std::int64_t tau_us, std::span<const DriverTags> tags);
  void post_riders(std::span<const RiderQuery> riders);
  void post_riders_gone(std::span<const RideIndex> rides);
  void expect_all_accepted(const char* what);
  void take_tick(const protocol::DecodedTick& tick);
  void take_all_lists();
  void take_list(std::uint64_t query, const protocol::HeldList& held);
  void wait_until(const std::function<bool()>& done, const char* what, std::int64_t timeout_ms);

  zmq::context_t& context_;
  FleetIndexOptions fleet_;
  ServerFleetOptions options_;
  std::string description_;
  protocol::Client client_;
  std::optional<protocol::Subscriber> subscriber_;
  std::vector<std::vector<Candidate>> lists_;  ///< by ride
};

}  // namespace starling::sim::city
