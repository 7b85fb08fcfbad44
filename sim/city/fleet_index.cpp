// SPDX-License-Identifier: Apache-2.0
// Sends drivers and riders to the host and stores the lists that the host's ticks report: see
// fleet_index.hpp.
#include "starling/sim/city/fleet_index.hpp"

#include <stdexcept>
#include <utility>

#include "starling/sim/data/files/errors.hpp"

namespace starling::sim::city {

FleetIndex::FleetIndex(const FleetIndexOptions& options, std::unique_ptr<LockStepHost> host)
    : options_(options), host_(std::move(host)), lists_(options.rides) {
  const Space space = host_->space().space;
  if (space != Space::planar2)
    throw UsageError("--connect: the server's space is " + std::string(to_string(space)) +
                     "; a simulation needs a server started with --space planar2");
  if (!host_->open({.name = options_.stream}).empty())
    throw std::runtime_error("the server's stream " + options_.stream +
                             " already has queries; choose another stream with --stream, or start "
                             "a new server");
}

void FleetIndex::advance(std::int64_t tau_us, const FleetNews& news) {
  put_positions(tau_us, news.positions);
  put_tags(tau_us, news.tags);
  put_riders(news.riders);
  remove_riders(news.riders_gone);
  const FinishedTick tick =
      host_->advance(tau_us, [this](const protocol::ListKey& key, ListEvent event,
                                    std::span<const protocol::HeldNeighbor> neighbors) {
        take_list(key.query, event, neighbors);
      });
  if (tick.objects != options_.drivers)
    throw std::runtime_error(describe() + " holds " + std::to_string(tick.objects) +
                             " objects, but the simulation has " +
                             std::to_string(options_.drivers) +
                             " drivers; start a new server for it, without --object-ttl");
  if (!problem_.empty()) throw std::runtime_error(problem_);
}

void FleetIndex::put_positions(std::int64_t tau_us, std::span<const DriverPosition> positions) {
  positions_.clear();
  for (const DriverPosition& row : positions)
    positions_.push_back({.id = ObjectId{object_id(row.driver)},
                          .time_us = tau_us,
                          .position = {row.at.x_m, row.at.y_m, 0}});
  host_->put_objects(positions_);
  host_->settle_all("positions");
}

void FleetIndex::put_tags(std::int64_t tau_us, std::span<const DriverTags> tags) {
  tags_.clear();
  for (const DriverTags& row : tags)
    tags_.push_back({ObjectId{object_id(row.driver)}, tau_us, row.tags, all_tags});
  host_->put_tags(tags_);
  host_->settle_all("tags");
}

void FleetIndex::put_riders(std::span<const RiderQuery> riders) {
  std::vector<protocol::QuerySpec> queries;
  queries.reserve(riders.size());
  for (const RiderQuery& rider : riders) {
    protocol::QuerySpec query;
    query.id = QueryId{query_id(rider.ride)};
    query.k = rider.k;
    query.position = {rider.at.x_m, rider.at.y_m, 0};
    query.tags.required = tag_free;
    query.distance_max_m = options_.pickup_max_m;
    queries.push_back(std::move(query));
  }
  host_->put_queries(queries);
  host_->settle_all("riders");
}

void FleetIndex::remove_riders(std::span<const RideIndex> rides) {
  std::vector<QueryId> queries;
  queries.reserve(rides.size());
  for (const RideIndex ride : rides) queries.push_back(QueryId{query_id(ride)});
  host_->remove_queries(queries);
  host_->settle_all("riders who left");
}

void FleetIndex::take_list(QueryId query, ListEvent event,
                           std::span<const protocol::HeldNeighbor> neighbors) {
  const std::uint64_t number = to_number(query);
  if (number == 0 || number > lists_.size()) {
    problem_ = "the server's stream " + options_.stream + " has queries of another program";
    return;
  }
  std::vector<Candidate>& list = lists_[number - 1];
  list.clear();
  if (event == ListEvent::removed) list.shrink_to_fit();
  for (const protocol::HeldNeighbor& neighbor : neighbors) {
    const std::uint64_t id = to_number(neighbor.object);
    if (id == 0 || id > options_.drivers) {
      problem_ = describe() + " lists object " + std::to_string(id) +
                 ", which is not a driver of this simulation";
      return;
    }
    list.push_back({static_cast<DriverIndex>(id - 1), neighbor.distance_m});
  }
}

}  // namespace starling::sim::city
