// Drivers and riders to a server, lists from its stream: see server_fleet_index.hpp.
#include "sim/city/server_fleet_index.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <zmq.hpp>

#include "sim/trace.hpp"

namespace starling::sim::city {
namespace {

constexpr std::int64_t patience_ms = 30'000;
constexpr std::int64_t poll_ms = 20;
// Bytes of a row on the wire, and some of the frame.
constexpr std::size_t row_bytes = 48;
constexpr std::size_t query_bytes = 192;

protocol::ClientOptions client_options(const ServerFleetOptions& options) {
  return {.commands = options.commands,
          .name = "starling simulate",
          .timeout_ms = patience_ms,
          .connect_timeout_ms = options.connect_timeout_ms};
}

/// Calls `post` with one part after another of at most so many rows.
template <class Row, class Post>
void in_batches(std::span<const Row> rows, std::size_t rows_max, const Post& post) {
  for (; !rows.empty(); rows = rows.subspan(std::min(rows_max, rows.size())))
    post(rows.first(std::min(rows_max, rows.size())));
}

}  // namespace

ServerFleetIndex::ServerFleetIndex(zmq::context_t& context, const FleetIndexOptions& fleet,
                                   const ServerFleetOptions& options)
    : context_(context),
      fleet_(fleet),
      options_(options),
      description_("the server at " + options.commands),
      client_(context, client_options(options)),
      lists_(fleet.rides) {
  if (!client_.server().manual_ticks)
    throw UsageError("--connect: the server at " + options.commands +
                     " ticks by itself; a simulation needs one started with --tick manual");
  if (client_.server().space.space != Space::planar2)
    throw UsageError("--connect: the server's space is " +
                     std::string(to_string(client_.server().space.space)) +
                     "; a city needs planar2");
  client_.put_stream({fleet_.stream, ReportOn::distance, {}}).value();
  subscribe();
}

// A subscription travels by itself, not with the commands; a tick before it has arrived would be
// missed. The server counts it when it has.
void ServerFleetIndex::subscribe() {
  const double before = joined_count();
  protocol::SubscriberOptions options;
  options.results = options_.results;
  options.client = client_options(options_);
  options.subscription.stream = fleet_.stream;
  options.retry_interval_ms = std::min(options.retry_interval_ms, options_.missed_after_ms);
  protocol::SubscriptionHandlers handlers;
  handlers.applied = [this](const protocol::DecodedTick& tick) { take_tick(tick); };
  handlers.replaced = [this](const protocol::HeldAt&) { take_all_lists(); };
  subscriber_.emplace(context_, options, handlers);
  wait_until([&] { return joined_count() > before; }, "the stream", options_.connect_timeout_ms);
  wait_until([&] { return subscriber_->state().is_live(); }, "the stream's snapshot", patience_ms);
  if (!subscriber_->state().lists().empty())
    throw std::runtime_error("the server's stream " + fleet_.stream +
                             " has queries already; choose another with --stream, or a new server");
}

double ServerFleetIndex::joined_count() {
  for (const auto& [name, value] : client_.get_stats().value())
    if (name == "starling_subscriptions_joined_total") return value;
  throw std::runtime_error(description_ + " counts no subscriptions");
}

std::size_t ServerFleetIndex::batch_rows_max(std::size_t bytes_per_row) const {
  const protocol::Limits& limits = client_.server().limits;
  const std::size_t bytes_max = std::min<std::size_t>(limits.frame_bytes_max, limits.credit_bytes);
  return std::max<std::size_t>(
      1, std::min({std::size_t{limits.rows_max}, std::size_t{limits.credit_rows},
                   bytes_max / bytes_per_row}));
}

void ServerFleetIndex::advance(std::int64_t tau_us, const FleetNews& news) {
  post_positions(tau_us, news.positions);
  post_tags(tau_us, news.tags);
  post_riders(news.riders);
  post_riders_gone(news.riders_gone);
  const protocol::TickDone done = client_.advance_tick(tau_us).value();
  if (done.object_count != fleet_.drivers)
    throw std::runtime_error(description_ + " holds " + std::to_string(done.object_count) +
                             " objects where the simulation has " + std::to_string(fleet_.drivers) +
                             " drivers; it needs a server of its own, without --object-ttl");
  auto missed_at =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.missed_after_ms);
  const auto is_held = [&] {
    const auto& held = subscriber_->state().held_at();
    if (held && held->tick >= done.tick) return true;
    if (std::chrono::steady_clock::now() >= missed_at) {
      missed_at += std::chrono::milliseconds(options_.missed_after_ms);
      subscriber_->miss_tick();
    }
    return false;
  };
  wait_until(is_held, "a tick's lists", patience_ms);
}

void ServerFleetIndex::post_positions(std::int64_t tau_us,
                                      std::span<const DriverPosition> positions) {
  in_batches(positions, batch_rows_max(row_bytes), [&](std::span<const DriverPosition> rows) {
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
    if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
  });
  expect_all_accepted("positions");
}

void ServerFleetIndex::post_tags(std::int64_t tau_us, std::span<const DriverTags> tags) {
  in_batches(tags, batch_rows_max(row_bytes), [&](std::span<const DriverTags> rows) {
    std::vector<std::uint64_t> ids;
    std::vector<std::uint32_t> set;
    for (const DriverTags& row : rows) {
      ids.push_back(object_id(row.driver));
      set.push_back(row.tags);
    }
    const std::vector<std::int64_t> times_us(rows.size(), tau_us);
    const std::vector<std::uint32_t> clear(rows.size(), all_tags);
    const protocol::UpdateTags batch{ids, times_us, set, clear};
    if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
  });
  expect_all_accepted("tags");
}

void ServerFleetIndex::post_riders(std::span<const RiderQuery> riders) {
  in_batches(riders, batch_rows_max(query_bytes), [&](std::span<const RiderQuery> rows) {
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
    if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
  });
  expect_all_accepted("riders");
}

void ServerFleetIndex::post_riders_gone(std::span<const RideIndex> rides) {
  in_batches(rides, batch_rows_max(row_bytes), [&](std::span<const RideIndex> rows) {
    std::vector<std::uint64_t> ids;
    for (const RideIndex ride : rows) ids.push_back(query_id(ride));
    const protocol::RemoveQueries batch{fleet_.stream, ids};
    if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
  });
  expect_all_accepted("riders who left");
}

void ServerFleetIndex::expect_all_accepted(const char* what) {
  const protocol::BatchTotals totals = client_.flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  if (totals.rejected + totals.late > 0)
    throw std::runtime_error(description_ + " rejects " + std::to_string(totals.rejected) +
                             " and finds late " + std::to_string(totals.late) + " of the " + what +
                             "; it needs to be a new server, whose time has not begun");
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
  for (const auto& [key, list] : subscriber_->state().lists())
    take_list(to_number(key.query), list);
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

void ServerFleetIndex::wait_until(const std::function<bool()>& done, const char* what,
                                  std::int64_t timeout_ms) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error(std::string(what) + " has not come within " +
                               std::to_string(timeout_ms) + " ms" +
                               (subscriber_->obstacle().empty() ? "; is --results right?"
                                                                : ": " + subscriber_->obstacle()));
    subscriber_->poll(poll_ms);
  }
}

}  // namespace starling::sim::city
