// Drivers and riders into a Processor, lists out of its reports: see embedded_fleet_index.hpp.
#include "sim/city/embedded_fleet_index.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "sim/traces/trace.hpp"

namespace starling::sim::city {
namespace {

constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();

ProcessorOptions processor_options(const Engine& engine) {
  ProcessorOptions options;
  options.queries.neighbors_max = engine.limits().neighbors_max;
  return options;
}

void expect_all(const UpdateCounts& counts, std::size_t rows, const char* what) {
  if (counts.accepted != rows)
    throw std::runtime_error(std::string("the engine took ") + std::to_string(counts.accepted) +
                             " of " + std::to_string(rows) + " " + what);
}

}  // namespace

EmbeddedFleetIndex::EmbeddedFleetIndex(const FleetIndexOptions& options,
                                       std::unique_ptr<Engine> engine, std::string description)
    : options_(options),
      processor_options_(processor_options(*engine)),
      description_(std::move(description)),
      processor_(processor_options_, std::move(engine)),
      lock_step_(processor_),
      distance_sq_max_(processor_.lattice().to_distance_sq(options.pickup_max_m)),
      lists_(options.rides) {
  const StreamStatus status =
      processor_.put_stream({.name = options_.stream, .on = ReportOn::distance});
  if (status != StreamStatus::accepted)
    throw UsageError("--stream: \"" + options_.stream +
                     "\" is no name for one: " + std::string(to_string(status)));
  stream_ = *processor_.queries().find_stream(options_.stream);
}

void EmbeddedFleetIndex::advance(std::int64_t tau_us, const FleetNews& news) {
  stage_positions(tau_us, news.positions);
  stage_tags(tau_us, news.tags);
  put_riders(news.riders);
  if (!news.riders_gone.empty()) {
    std::vector<QueryId> ids;
    for (const RideIndex ride : news.riders_gone) ids.push_back(QueryId{query_id(ride)});
    std::vector<QueryStatus> statuses(ids.size());
    processor_.remove_queries(stream_, ids, statuses);
  }
  TickReport report = lock_step_.advance(tau_us);
  if (!report.error.empty()) throw std::runtime_error("a tick failed: " + report.error);
  take_lists(report);
  processor_.recycle(std::move(report));
}

void EmbeddedFleetIndex::stage_positions(std::int64_t tau_us,
                                         std::span<const DriverPosition> positions) {
  coordinates_.clear();
  for (const DriverPosition& row : positions) {
    coordinates_.push_back(row.at.x_m);
    coordinates_.push_back(row.at.y_m);
  }
  points_.resize(positions.size());
  errors_.resize(positions.size());
  processor_.lattice().to_lattice(std::span<const double>(coordinates_), 2, points_, errors_);
  updates_.clear();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (errors_[i] != PositionError::none)
      throw std::runtime_error("a driver's position has no place on the lattice: " +
                               std::string(to_string(errors_[i])));
    updates_.push_back({.id = ObjectId{object_id(positions[i].driver)},
                        .time_us = tau_us,
                        .position = points_[i]});
  }
  statuses_.resize(updates_.size());
  expect_all(processor_.update(updates_, any_time_us, statuses_), updates_.size(), "positions");
}

void EmbeddedFleetIndex::stage_tags(std::int64_t tau_us, std::span<const DriverTags> tags) {
  tag_updates_.clear();
  for (const DriverTags& row : tags)
    tag_updates_.push_back({ObjectId{object_id(row.driver)}, tau_us, row.tags, all_tags});
  statuses_.resize(tag_updates_.size());
  expect_all(processor_.update_tags(tag_updates_, any_time_us, statuses_), tag_updates_.size(),
             "tags");
}

void EmbeddedFleetIndex::put_riders(std::span<const RiderQuery> riders) {
  if (riders.empty()) return;
  std::vector<QueryDefinition> queries;
  for (const RiderQuery& rider : riders) {
    QueryDefinition query{.id = QueryId{query_id(rider.ride)}, .k = rider.k};
    if (processor_.lattice().to_lattice({rider.at.x_m, rider.at.y_m, 0}, query.anchor.position) !=
        PositionError::none)
      throw std::runtime_error("a rider's position has no place on the lattice");
    query.filter.tags.required = tag_free;
    query.filter.distance_sq_max = distance_sq_max_;
    queries.push_back(query);
  }
  std::vector<QueryStatus> statuses(queries.size());
  processor_.put_queries(stream_, queries, statuses);
  for (const QueryStatus status : statuses)
    if (status != QueryStatus::accepted)
      throw std::runtime_error("a rider's query is refused: " + std::string(to_string(status)));
}

void EmbeddedFleetIndex::take_lists(const TickReport& report) {
  for (const QueryReport& query : report.streams.at(static_cast<std::size_t>(stream_)).queries) {
    std::vector<Candidate>& list = lists_[to_number(query.query) - 1];
    if (query.event == ListEvent::removed) {
      std::vector<Candidate>().swap(list);
      continue;
    }
    list.clear();
    for (const Neighbor& neighbor : query.neighbors)
      list.push_back({static_cast<DriverIndex>(to_number(neighbor.object) - 1),
                      processor_.lattice().to_metres(neighbor.distance_sq)});
  }
}

}  // namespace starling::sim::city
