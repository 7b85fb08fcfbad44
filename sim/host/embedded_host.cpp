// SPDX-License-Identifier: Apache-2.0
// Converts rows into the processor's input, and the processor's tick reports into lists: see
// embedded_host.hpp.
#include "starling/sim/host/embedded_host.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {
namespace {

constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();

/// Converts a query, except the position of a fixed anchor.
QueryDefinition definition_of(const protocol::QuerySpec& spec, const Lattice& lattice) {
  QueryDefinition query;
  query.id = spec.id;
  query.k = spec.k;
  query.anchor.kind = spec.anchor;
  query.anchor.object = spec.object;
  query.filter = {spec.tags, RankKey{lattice.to_distance_sq(spec.distance_max_m)}, spec.age_max_us};
  query.subject = spec.subject;
  return query;
}

}  // namespace

EmbeddedHost::EmbeddedHost(const ProcessorOptions& options, std::unique_ptr<Engine> engine,
                           std::string description)
    : description_(std::move(description)),
      processor_(options, std::move(engine)),
      lock_step_(processor_) {}

protocol::ListStore EmbeddedHost::open(const HostStream& stream) {
  const StreamStatus status = processor_.put_stream({stream.name, stream.on, {}});
  if (status != StreamStatus::accepted)
    throw UsageError("--stream: \"" + stream.name +
                     "\" is not a valid name: " + std::string(to_string(status)));
  stream_ = *processor_.queries().find_stream(stream.name);
  return {};
}

void EmbeddedHost::put_objects(std::span<const TraceRow> rows) {
  const auto components = static_cast<std::size_t>(dimensions(space().space));
  coordinates_.clear();
  for (const TraceRow& row : rows)
    coordinates_.insert(coordinates_.end(), row.position.begin(),
                        row.position.begin() + static_cast<std::ptrdiff_t>(components));
  updates_.clear();
  for (const TraceRow& row : rows)
    updates_.push_back({row.id, row.time_us, {}, row.tags, row.has_tags});
  errors_.resize(rows.size());
  processor_.to_lattice(coordinates_, components, updates_, errors_);
  remove_rows_with_errors();
  statuses_.resize(updates_.size());
  count_updates(processor_.update(updates_, any_time_us, statuses_));
}

void EmbeddedHost::remove_rows_with_errors() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    if (errors_[i] == PositionError::none)
      updates_[kept++] = updates_[i];
    else
      reject(to_string(errors_[i]));
  }
  updates_.resize(kept);
}

void EmbeddedHost::put_tags(std::span<const TagUpdate> rows) {
  statuses_.resize(rows.size());
  count_updates(processor_.update_tags(rows, any_time_us, statuses_));
}

void EmbeddedHost::put_queries(std::span<const protocol::QuerySpec> queries) {
  definitions_.clear();
  for (const protocol::QuerySpec& spec : queries) {
    QueryDefinition query = definition_of(spec, processor_.lattice());
    PositionError error = PositionError::none;
    if (spec.anchor == AnchorKind::fixed)
      error = processor_.lattice().to_lattice(spec.position, query.anchor.position);
    if (error == PositionError::none) {
      definitions_.push_back(std::move(query));
    } else {
      reject(to_string(error));
    }
  }
  query_statuses_.resize(definitions_.size());
  processor_.put_queries(stream_, definitions_, query_statuses_);
  count_queries();
}

void EmbeddedHost::remove_queries(std::span<const QueryId> ids) {
  query_statuses_.resize(ids.size());
  processor_.remove_queries(stream_, ids, query_statuses_);
  count_queries();
}

void EmbeddedHost::reject(std::string_view reason) {
  ++counts_.rejected;
  if (first_reason_.empty()) first_reason_ = reason;
}

void EmbeddedHost::count_updates(const UpdateCounts& counts) {
  counts_.accepted += counts.accepted;
  counts_.late += counts.late;
  counts_.rejected += counts.rejected;
  if (counts.late + counts.rejected == 0 || !first_reason_.empty()) return;
  for (const UpdateStatus status : statuses_) {
    if (status == UpdateStatus::accepted) continue;
    first_reason_ = to_string(status);
    return;
  }
}

void EmbeddedHost::count_queries() {
  for (const QueryStatus status : query_statuses_) {
    if (status == QueryStatus::accepted) {
      ++counts_.accepted;
    } else {
      reject(to_string(status));
    }
  }
}

RowCounts EmbeddedHost::settle() {
  first_reason_.clear();
  return std::exchange(counts_, {});
}

void EmbeddedHost::settle_all(const std::string& what) {
  const std::string reason = first_reason_;
  const RowCounts counts = settle();
  const std::uint64_t refused = counts.late + counts.rejected;
  if (refused == 0) return;
  throw std::runtime_error(description_ + " rejects " + std::to_string(refused) + " of the " +
                           what + ": " + reason);
}

FinishedTick EmbeddedHost::advance(std::int64_t tau_us, const ListHandler& on_list) {
  begin(tau_us);
  return finish(on_list);
}

FinishedTick EmbeddedHost::finish(const ListHandler& on_list) {
  const TickReport report = lock_step_.finish();
  if (!report.error.empty()) throw std::runtime_error("a tick failed: " + report.error);
  if (!report.warning.empty()) throw std::runtime_error(report.warning);
  if (on_list)
    for (const StreamReport& stream : report.streams)
      for (const QueryReport& query : stream.queries) this->report(query, on_list);
  return {report.tick, report.tau_us, report.objects, report.times, lock_step_.last_tick_ms()};
}

void EmbeddedHost::report(const QueryReport& query, const ListHandler& on_list) {
  neighbors_.clear();
  for (const Neighbor& neighbor : query.neighbors)
    neighbors_.push_back({neighbor.object, processor_.lattice().to_metres(neighbor.key)});
  on_list({query.query, query.has_subject, query.subject}, query.event, neighbors_);
}

}  // namespace starling::sim
