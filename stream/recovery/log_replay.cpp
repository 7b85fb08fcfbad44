// SPDX-License-Identifier: Apache-2.0
// Defines how each record is applied: see log_replay.hpp.
#include "starling/stream/recovery/log_replay.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/overloaded.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t unlimited_rows = std::numeric_limits<std::uint64_t>::max();
/// The most requests that a server applies together (update_groups.cpp).
constexpr std::size_t updates_at_once = 256;

[[noreturn]] void refuse_log(const std::string& what) {
  throw std::runtime_error("the server cannot hold what its log holds: " + what +
                           ". Start it with the limits that it had, or larger ones");
}

bool is_update_of_objects(const JournalRecord& record) {
  const auto* const request = std::get_if<RequestRecord>(&record);
  return request != nullptr && std::holds_alternative<ObjectsChange>(request->change);
}

void check_accepted(std::span<const UpdateStatus> statuses) {
  for (const UpdateStatus status : statuses)
    if (status != UpdateStatus::accepted && status != UpdateStatus::late)
      refuse_log(std::string(to_string(status)));
}

void check_accepted(std::span<const QueryStatus> statuses) {
  for (const QueryStatus status : statuses)
    if (status != QueryStatus::accepted) refuse_log(std::string(to_string(status)));
}

}  // namespace

void LogReplay::apply_other(const JournalRecord& record) {
  std::visit(
      Overloaded{
          [](const EpochRecord&) {},
          [&](const RunRecord& each) {
            outgrown_.clear();
            tables_.publisher.set_run(each.runs.front(),
                                      each.runs.size() > 1 ? each.runs[1].id : 0);
          },
          [](const PublishedRecord&) {},
          [&](const PrincipalRecord& each) {
            open_.principals[each.principal] = tables_.principal_id(each.name);
          },
          [&](const SessionOpenedRecord& each) { apply_session(each); },
          [&](const SessionEndedRecord& each) { tables_.sessions.forget(each.session); },
          [&](const LeasesMovedRecord& each) { tables_.processor.move_leases(each.duration_us); },
          [&](const OutgrownRecord& each) { outgrown_.push_back(each); },
          [&](const TickBegunRecord& each) { apply_begun(each); },
          [&](const TickFinishedRecord& each) { finish_tick(each.error); },
          [&](const RequestRecord& each) { apply_request(each); },
      },
      record);
}

void LogReplay::apply_session(const SessionOpenedRecord& record) {
  if (record.replaced != 0) tables_.sessions.forget(record.replaced);
  tables_.sessions.restore(record.session, record.first_sequence, tables_.now_us,
                           principal_of(record.principal));
}

/// Removes what the tick has removed when it was logged, in the same order: after the leases and
/// objects that ended, and before the engine took the rows.
void LogReplay::remove_outgrown(const TickBegunRecord& begun) {
  if (outgrown_.empty()) return;
  while (!tables_.processor.prepare_tick(begun.tau_us)) continue;
  for (const OutgrownRecord& record : std::exchange(outgrown_, {})) {
    if (record.tick != begun.tick) refuse_log("a tick lacks its mark");
    std::vector<QueryId> ids;
    for (const std::uint64_t id : record.ids) ids.push_back(QueryId{id});
    std::vector<QueryStatus> statuses(ids.size());
    tables_.processor.remove_queries(stream_of(record.stream), ids, statuses);
    check_accepted(statuses);
  }
}

void LogReplay::apply_begun(const TickBegunRecord& record) {
  remove_outgrown(record);
  ticks_.begin(record.tau_us);
  places_.tick_begun(end_);
  open_.ticks.push_back(record);
  if (record.session != 0)
    tables_.sessions.restore_begun(record.session, record.sequence, record.body_hash);
}

void LogReplay::finish_tick(const std::string& error) {
  if (open_.ticks.empty()) refuse_log("a tick ends that has not begun");
  places_.tick_finished(!error.empty(), end_);
  finish_oldest(ticks_.finish(error));
}

std::string LogReplay::finish_open_tick() {
  TickReport report = ticks_.finish_open();
  std::string error = report.error;
  finish_oldest(std::move(report));
  return error;
}

void LogReplay::finish_oldest(TickReport report) {
  const TickBegunRecord begun = open_.ticks.front();
  open_.ticks.pop_front();
  std::vector<StreamPlan> plans =
      tables_.publisher.plan(report, tables_.processor.queries(), places_.of_messages());
  if (begun.session != 0)
    open_.replies[{begun.session, begun.sequence}] = reply_to_tick(outcome_of(report));
  if (watcher_) watcher_(report, plans);
  tables_.publisher.give_back(std::move(plans));
}

void LogReplay::apply(std::span<const JournalRecord> records) {
  while (!records.empty()) {
    const auto next = records.first(std::min(records.size(), updates_at_once));
    const auto updates = static_cast<std::size_t>(
        std::ranges::find_if_not(next, &is_update_of_objects) - next.begin());
    if (updates == 0)
      apply_other(records.front());
    else
      apply_updates(records.first(updates));
    records = records.subspan(std::max<std::size_t>(updates, 1));
  }
}

void LogReplay::apply_updates(std::span<const JournalRecord> records) {
  std::vector<std::vector<UpdateStatus>> statuses;
  std::vector<ObjectBatch> batches;
  for (const JournalRecord& record : records) {
    const auto& rows = std::get<ObjectsChange>(std::get<RequestRecord>(record).change).rows;
    statuses.emplace_back(rows.size());
    batches.push_back({rows, any_time_us, statuses.back()});
  }
  tables_.processor.update(batches);
  for (const auto& each : statuses) check_accepted(each);
  for (const JournalRecord& record : records) answered(std::get<RequestRecord>(record));
}

void LogReplay::apply_request(const RequestRecord& record) {
  apply_change(record);
  answered(record);
}

void LogReplay::answered(const RequestRecord& record) {
  open_.replies.erase({record.session, record.sequence});
  tables_.sessions.restore_begun(record.session, record.sequence, record.body_hash);
  tables_.sessions.answered(record.session, record.sequence, record.reply);
}

PrincipalId LogReplay::principal_of(std::uint32_t number) const {
  const auto found = open_.principals.find(number);
  return found == open_.principals.end() ? PrincipalId::anonymous : found->second;
}

std::uint64_t LogReplay::owner_of(const RequestRecord& record) const {
  return tables_.has_keys ? static_cast<std::uint64_t>(principal_of(record.principal))
                          : record.session;
}

StreamId LogReplay::stream_of(const std::string& name) const {
  const auto stream = tables_.processor.queries().find_stream(name);
  if (!stream) refuse_log("it has queries of a stream that does not exist, \"" + name + "\"");
  return *stream;
}

void LogReplay::apply_change(const RequestRecord& record) {
  Processor& processor = tables_.processor;
  const auto principal = static_cast<std::uint32_t>(principal_of(record.principal));
  const QueryOwner owner{.owner = owner_of(record),
                         .may_change_others = true,
                         .queries_max = unlimited_rows,
                         .neighbors_max = unlimited_rows};
  std::vector<UpdateStatus> statuses;
  std::vector<QueryStatus> query_statuses;
  std::visit(Overloaded{
                 [](const std::monostate&) {},
                 [](const ObjectsChange&) {
                   check_invariant(false, "updates of objects are applied by apply_updates");
                 },
                 [&](const VectorsChange& change) {
                   if (change.dimension != processor.space().dimension)
                     refuse_log("its vectors have another dimension");
                   statuses.resize(change.rows.size());
                   const VectorBatch batch{
                       change.rows, {change.components, change.dimension}, any_time_us, statuses};
                   processor.update_vectors(std::span(&batch, 1));
                 },
                 [&](const TagsChange& change) {
                   statuses.resize(change.rows.size());
                   processor.update_tags(change.rows, any_time_us, statuses,
                                         {principal, change.may_change_others});
                 },
                 [&](const RemovalsChange& change) {
                   statuses.resize(change.rows.size());
                   processor.remove_objects(change.rows, any_time_us, statuses);
                 },
                 [&](const QueriesChange& change) {
                   query_statuses.resize(change.rows.size());
                   processor.put_queries(stream_of(change.stream), change.rows, query_statuses,
                                         owner);
                 },
                 [&](const QueryRemovalsChange& change) {
                   std::vector<QueryId> ids;
                   for (const std::uint64_t id : change.ids) ids.push_back(QueryId{id});
                   query_statuses.resize(ids.size());
                   processor.remove_queries(stream_of(change.stream), ids, query_statuses, owner);
                 },
                 [&](const NamesChange& change) { apply_names(record, change); },
                 [&](const StreamChange& change) { apply_stream(record, change); },
                 [&](const StreamRemovalChange& change) { remove_stream(change.name); },
             },
             record.change);
  check_accepted(statuses);
  check_accepted(query_statuses);
}

void LogReplay::apply_names(const RequestRecord& record, const NamesChange& change) {
  const PrincipalId principal = principal_of(record.principal);
  std::uint64_t of_ended_session = 0;
  std::uint64_t& taken = tables_.has_keys ? tables_.accounts.of(principal).names
                         : tables_.sessions.contains(record.session)
                             ? tables_.sessions.taken(record.session).names
                             : of_ended_session;
  const NameTable::Teller teller{.names = taken,
                                 .names_max = unlimited_rows,
                                 .owner = static_cast<std::uint32_t>(principal),
                                 .may_change_others = true};
  for (std::size_t i = 0; i < change.ids.size(); ++i)
    if (tables_.names.put(ObjectId{change.ids[i]}, change.texts[i], teller) != RowReason::none)
      refuse_log("there are more names than --names-max or --name-bytes-max allows");
}

void LogReplay::apply_stream(const RequestRecord& record, const StreamChange& change) {
  places_.stream_changed(end_);
  Processor& processor = tables_.processor;
  const bool is_known = processor.queries().find_stream(change.name).has_value();
  const StreamStatus status = processor.put_stream(
      {.name = change.name, .on = change.on, .with = change.with, .owner = owner_of(record)});
  if (status != StreamStatus::accepted) refuse_log(std::string(to_string(status)));
  if (is_known) return;
  tables_.publisher.open(*processor.queries().find_stream(change.name));
  if (tables_.has_keys)
    ++tables_.accounts.of(principal_of(record.principal)).streams;
  else if (tables_.sessions.contains(record.session))
    ++tables_.sessions.taken(record.session).streams;
}

void LogReplay::remove_stream(const std::string& name) {
  places_.stream_changed(end_);
  constexpr std::size_t queries_at_once = 4096;
  Processor& processor = tables_.processor;
  const StreamId stream = stream_of(name);
  const std::uint64_t owner = processor.queries().stream(stream).owner;
  if (tables_.has_keys)
    tables_.accounts.give_back_stream(static_cast<PrincipalId>(owner));
  else
    tables_.sessions.give_back_stream(owner);
  processor.begin_remove_stream(stream);
  while (!processor.remove_some(stream, queries_at_once)) continue;
}

}  // namespace starling::stream
