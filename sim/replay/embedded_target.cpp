// Trace rows to object updates, tick reports to lists: see embedded_target.hpp.
#include "sim/replay/embedded_target.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace starling::sim {
namespace {

QueryDefinition to_definition(const protocol::QuerySpec& spec, const Lattice& lattice) {
  QueryDefinition query;
  query.id = spec.id;
  query.k = spec.k;
  query.anchor.kind = spec.anchor;
  query.anchor.object = spec.object;
  query.filter = {spec.tags, lattice.to_distance_sq(spec.distance_max_m), spec.age_max_us};
  query.subject = spec.subject;
  if (spec.anchor == AnchorKind::fixed &&
      lattice.to_lattice(spec.position, query.anchor.position) != PositionError::none)
    throw UsageError("--queries: the position of query " + std::to_string(to_number(spec.id)) +
                     " is not on the lattice");
  return query;
}

}  // namespace

EmbeddedTarget::EmbeddedTarget(const ProcessorOptions& options, std::unique_ptr<Engine> engine,
                               const ReplaySetup& setup)
    : processor_(options, std::move(engine)), lock_step_(processor_) {
  put_queries(setup);
}

void EmbeddedTarget::put_queries(const ReplaySetup& setup) {
  const StreamDefinition stream{std::string(setup.stream), setup.on, {}};
  if (const StreamStatus status = processor_.put_stream(stream); status != StreamStatus::accepted)
    throw UsageError("the replay's stream is refused: " + std::string(to_string(status)));
  std::vector<QueryDefinition> definitions;
  definitions.reserve(setup.queries.size());
  for (const protocol::QuerySpec& spec : setup.queries)
    definitions.push_back(to_definition(spec, processor_.lattice()));
  std::vector<QueryStatus> statuses(definitions.size());
  processor_.put_queries(*processor_.queries().find_stream(setup.stream), definitions, statuses);
  for (std::size_t i = 0; i < statuses.size(); ++i)
    if (statuses[i] != QueryStatus::accepted)
      throw UsageError("--queries: query " + std::to_string(to_number(definitions[i].id)) +
                       " is refused: " + std::string(to_string(statuses[i])));
}

StagedRows EmbeddedTarget::stage(std::span<const TraceRow> rows) {
  updates_.clear();
  StagedRows staged;
  for (const TraceRow& row : rows) {
    ObjectUpdate update{row.id, row.time_us, {}, row.tags, row.has_tags};
    if (processor_.lattice().to_lattice(row.position, update.position) == PositionError::none) {
      updates_.push_back(update);
    } else {
      ++staged.rejected;
    }
  }
  statuses_.resize(updates_.size());
  const UpdateCounts counts =
      processor_.update(updates_, std::numeric_limits<std::int64_t>::max(), statuses_);
  staged.accepted = counts.accepted;
  staged.late = counts.late;
  staged.rejected += counts.rejected;
  return staged;
}

FinishedTick EmbeddedTarget::advance(std::int64_t tau_us, protocol::ListStore* lists) {
  TickReport report = lock_step_.advance(tau_us);
  if (!report.error.empty()) throw std::runtime_error("a tick failed: " + report.error);
  if (!report.warning.empty()) throw std::runtime_error(report.warning);
  const FinishedTick tick{report.tick, report.tau_us, report.objects, report.times};
  if (lists != nullptr)
    for (const StreamReport& stream : report.streams)
      for (const QueryReport& query : stream.queries) apply(query, *lists);
  processor_.recycle(std::move(report));
  return tick;
}

void EmbeddedTarget::apply(const QueryReport& report, protocol::ListStore& lists) const {
  const protocol::ListKey key{report.query, report.has_subject, report.subject};
  if (report.event == ListEvent::removed) {
    lists.erase(key);
    return;
  }
  std::vector<protocol::HeldNeighbor>& neighbors = lists[key].neighbors;
  neighbors.clear();
  for (const Neighbor& neighbor : report.neighbors)
    neighbors.push_back({neighbor.object, processor_.lattice().to_metres(neighbor.distance_sq)});
}

}  // namespace starling::sim
