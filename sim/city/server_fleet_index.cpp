// Drivers and riders to a server, lists from its stream: see server_fleet_index.hpp.
#include "sim/city/server_fleet_index.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/traces/trace.hpp"

namespace starling::sim::city {
namespace {

/// Calls `post` with one part after another of at most so many rows.
template <class Row, class Post>
void in_batches(std::span<const Row> rows, std::size_t rows_max, const Post& post) {
  for (; !rows.empty(); rows = rows.subspan(std::min(rows_max, rows.size())))
    post(rows.first(std::min(rows_max, rows.size())));
}

}  // namespace

ServerFleetIndex::ServerFleetIndex(zmq::context_t& context, const FleetIndexOptions& fleet,
                                   const ManualServerOptions& options)
    : fleet_(fleet),
      description_("the server at " + options.commands),
      server_(context, options, "simulation"),
      lists_(fleet.rides) {
  const Space space = server_.terms().space.space;
  if (space != Space::planar2)
    throw UsageError("--connect: the server's space is " + std::string(to_string(space)) +
                     "; a city needs planar2");
  server_.client().put_stream({fleet_.stream, ReportOn::distance, {}}).value();
  follow();
}

void ServerFleetIndex::follow() {
  protocol::SubscriptionOptions subscription;
  subscription.stream = fleet_.stream;
  protocol::SubscriptionHandlers handlers;
  handlers.applied = [this](const protocol::DecodedTick& tick) { take_tick(tick); };
  handlers.replaced = [this](const protocol::HeldAt&) { take_all_lists(); };
  server_.follow(subscription, handlers);
  if (!server_.state().lists().empty())
    throw std::runtime_error("the server's stream " + fleet_.stream +
                             " has queries already; choose another with --stream, or a new server");
}

void ServerFleetIndex::advance(std::int64_t tau_us, const FleetNews& news) {
  post_positions(tau_us, news.positions);
  post_tags(tau_us, news.tags);
  post_riders(news.riders);
  post_riders_gone(news.riders_gone);
  const protocol::TickDone done = server_.client().advance_tick(tau_us).value();
  if (done.object_count != fleet_.drivers)
    throw std::runtime_error(description_ + " holds " + std::to_string(done.object_count) +
                             " objects where the simulation has " + std::to_string(fleet_.drivers) +
                             " drivers; it needs a server of its own, without --object-ttl");
  server_.await_lists(done.tick);
}

void ServerFleetIndex::post_positions(std::int64_t tau_us,
                                      std::span<const DriverPosition> positions) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::row_bytes);
  in_batches(positions, rows_max, [&](std::span<const DriverPosition> rows) {
    std::vector<std::uint64_t> ids;
    std::vector<double> coordinates;
    for (const DriverPosition& row : rows) {
      ids.push_back(object_id(row.driver));
      coordinates.insert(coordinates.end(), {row.at.x_m, row.at.y_m});
    }
    const std::vector<std::int64_t> times_us(rows.size(), tau_us);
    protocol::UpdateBatch batch;
    batch.ids = ids;
    batch.times_us = times_us;
    batch.coordinates = coordinates;
    server_.post(batch);
  });
  server_.expect_all_accepted("positions");
}

void ServerFleetIndex::post_tags(std::int64_t tau_us, std::span<const DriverTags> tags) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::row_bytes);
  in_batches(tags, rows_max, [&](std::span<const DriverTags> rows) {
    std::vector<std::uint64_t> ids;
    std::vector<std::uint32_t> set;
    for (const DriverTags& row : rows) {
      ids.push_back(object_id(row.driver));
      set.push_back(row.tags);
    }
    const std::vector<std::int64_t> times_us(rows.size(), tau_us);
    const std::vector<std::uint32_t> clear(rows.size(), all_tags);
    const protocol::UpdateTags batch{ids, times_us, set, clear};
    server_.post(batch);
  });
  server_.expect_all_accepted("tags");
}

void ServerFleetIndex::post_riders(std::span<const RiderQuery> riders) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::query_bytes);
  in_batches(riders, rows_max, [&](std::span<const RiderQuery> rows) {
    protocol::PutQueries batch{.stream = fleet_.stream, .queries = {}};
    for (const RiderQuery& row : rows) {
      protocol::QuerySpec query;
      query.id = QueryId{query_id(row.ride)};
      query.k = row.k;
      query.position = {row.at.x_m, row.at.y_m, 0};
      query.tags.required = tag_free;
      query.distance_max_m = fleet_.pickup_max_m;
      batch.queries.push_back(query);
    }
    server_.post(batch);
  });
  server_.expect_all_accepted("riders");
}

void ServerFleetIndex::post_riders_gone(std::span<const RideIndex> rides) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::row_bytes);
  in_batches(rides, rows_max, [&](std::span<const RideIndex> rows) {
    std::vector<std::uint64_t> ids;
    for (const RideIndex ride : rows) ids.push_back(query_id(ride));
    const protocol::RemoveQueries batch{fleet_.stream, ids};
    server_.post(batch);
  });
  server_.expect_all_accepted("riders who left");
}

void ServerFleetIndex::take_tick(const protocol::DecodedTick& tick) {
  for (const protocol::ListChunk& chunk : tick.chunks)
    for (std::size_t list = 0; list < chunk.list_count(); ++list)
      take_list(chunk.query_ids[list], chunk.event_of(list) == ListEvent::removed
                                           ? protocol::HeldList()
                                           : protocol::list_of(chunk, list));
}

void ServerFleetIndex::take_all_lists() {
  for (std::vector<Candidate>& list : lists_) list.clear();
  for (const auto& [key, list] : server_.state().lists()) take_list(to_number(key.query), list);
}

void ServerFleetIndex::take_list(std::uint64_t query, const protocol::HeldList& held) {
  if (query == 0 || query > lists_.size())
    throw std::runtime_error("the server's stream " + fleet_.stream + " has queries of others");
  std::vector<Candidate>& list = lists_[query - 1];
  list.clear();
  for (const protocol::HeldNeighbor& neighbor : held.neighbors) {
    const std::uint64_t id = to_number(neighbor.object);
    if (id == 0 || id > fleet_.drivers)
      throw std::runtime_error(description_ + " lists object " + std::to_string(id) +
                               ", which is no driver of this simulation");
    list.push_back({static_cast<DriverIndex>(id - 1), neighbor.distance_m});
  }
}

}  // namespace starling::sim::city
