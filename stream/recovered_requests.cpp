// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that apply what the server's log holds. Records say what was
// accepted, so no limit, quota or right is asked again. The tables see the same changes in the same
// order as before, and then hold the same.
#include <deque>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/overloaded.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse_log(const std::string& what) {
  throw std::runtime_error("the server cannot hold what its log holds: " + what +
                           ". Start it with the limits that it had, or larger ones");
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

struct RequestHandler::Recovery {
  /// The principals of this run, by the numbers that the log has for them.
  std::map<std::uint32_t, PrincipalId> principals;
  std::deque<TickBegunRecord> under_way;
  /// The replies to requests for ticks that have finished, by session and number. The log may have
  /// lost a reply, but not the tick.
  std::map<std::pair<std::uint64_t, std::uint64_t>, SequencedReply> replies;
};

void RequestHandler::recover(const JournalRecord& record) {
  if (recovery_ == nullptr) recovery_ = std::make_shared<Recovery>();
  std::visit(
      Overloaded{
          [](const EpochRecord&) {},
          [](const PublishedRecord&) {},
          [&](const PrincipalRecord& each) {
            recovery_->principals[each.principal] = parts_.principal_id(each.name);
          },
          [&](const SessionOpenedRecord& each) { recover_session(each); },
          [&](const SessionEndedRecord& each) { sessions_.forget(each.session); },
          [&](const LeasesMovedRecord& each) { parts_.processor.move_leases(each.duration_us); },
          [&](const TickBegunRecord& each) {
            last_begun_ = each.tick;
            parts_.ticker.recover_begin(each.tau_us);
            recovery_->under_way.push_back(each);
            if (each.session != 0)
              sessions_.restore_begun(each.session, each.sequence, each.body_hash);
          },
          [&](const TickFinishedRecord& each) { recover_finished(each.error); },
          [&](const RequestRecord& each) { recover_request(each); },
      },
      record);
}

void RequestHandler::recover_session(const SessionOpenedRecord& record) {
  if (record.replaced != 0) sessions_.forget(record.replaced);
  sessions_.restore(record.session, record.first_sequence, steady_now_us(),
                    recovered_principal(record.principal));
}

void RequestHandler::recover_finished(const std::string& error) {
  if (recovery_->under_way.empty()) refuse_log("a tick ends that has not begun");
  const TickBegunRecord begun = recovery_->under_way.front();
  recovery_->under_way.pop_front();
  const TickOutcome outcome = parts_.ticker.recover_finish(error);
  if (begun.session != 0)
    recovery_->replies[{begun.session, begun.sequence}] = reply_to_tick(outcome);
}

void RequestHandler::recover_request(const RequestRecord& record) {
  recover_change(record);
  recovery_->replies.erase({record.session, record.sequence});
  sessions_.restore_begun(record.session, record.sequence, record.body_hash);
  sessions_.answered(record.session, record.sequence, record.reply);
}

PrincipalId RequestHandler::recovered_principal(std::uint32_t number) const {
  const auto found = recovery_->principals.find(number);
  return found == recovery_->principals.end() ? PrincipalId::anonymous : found->second;
}

std::uint64_t RequestHandler::recovered_owner(const RequestRecord& record) const {
  return parts_.has_keys ? static_cast<std::uint64_t>(recovered_principal(record.principal))
                         : record.session;
}

StreamId RequestHandler::recovered_stream(const std::string& name) const {
  const auto stream = parts_.processor.queries().find_stream(name);
  if (!stream) refuse_log("it has queries of a stream that does not exist, \"" + name + "\"");
  return *stream;
}

void RequestHandler::recover_change(const RequestRecord& record) {
  Processor& processor = parts_.processor;
  const auto principal = static_cast<std::uint32_t>(recovered_principal(record.principal));
  const QueryOwner owner{.owner = recovered_owner(record),
                         .may_change_others = true,
                         .queries_max = no_limit,
                         .neighbors_max = no_limit};
  std::vector<UpdateStatus> statuses;
  std::vector<QueryStatus> query_statuses;
  std::visit(Overloaded{
                 [](const std::monostate&) {},
                 [&](const ObjectsChange& change) {
                   statuses.resize(change.rows.size());
                   const ObjectBatch batch{change.rows, any_time_us, statuses};
                   processor.update(std::span(&batch, 1));
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
                   processor.put_queries(recovered_stream(change.stream), change.rows,
                                         query_statuses, owner);
                 },
                 [&](const QueryRemovalsChange& change) {
                   std::vector<QueryId> ids;
                   for (const std::uint64_t id : change.ids) ids.push_back(QueryId{id});
                   query_statuses.resize(ids.size());
                   processor.remove_queries(recovered_stream(change.stream), ids, query_statuses,
                                            owner);
                 },
                 [&](const NamesChange& change) { recover_names(record, change); },
                 [&](const StreamChange& change) { recover_stream(record, change); },
                 [&](const StreamRemovalChange& change) {
                   const StreamId stream = recovered_stream(change.name);
                   begin_remove_stream(stream);
                   while (!processor.remove_some(stream, options_.limits.rows_max)) continue;
                 },
             },
             record.change);
  check_accepted(statuses);
  check_accepted(query_statuses);
}

void RequestHandler::recover_names(const RequestRecord& record, const NamesChange& change) {
  const PrincipalId principal = recovered_principal(record.principal);
  std::uint64_t of_ended_session = 0;
  std::uint64_t& taken = parts_.has_keys ? accounts_.of(principal).names
                         : sessions_.contains(record.session)
                             ? sessions_.taken(record.session).names
                             : of_ended_session;
  const NameTable::Teller teller{.names = taken,
                                 .names_max = no_limit,
                                 .owner = static_cast<std::uint32_t>(principal),
                                 .may_change_others = true};
  for (std::size_t i = 0; i < change.ids.size(); ++i)
    if (names_.put(ObjectId{change.ids[i]}, change.texts[i], teller) != RowReason::none)
      refuse_log("there are more names than --names-max or --name-bytes-max allows");
}

void RequestHandler::recover_stream(const RequestRecord& record, const StreamChange& change) {
  Processor& processor = parts_.processor;
  const bool is_known = processor.queries().find_stream(change.name).has_value();
  const StreamStatus status = processor.put_stream({.name = change.name,
                                                    .on = change.on,
                                                    .with = change.with,
                                                    .owner = recovered_owner(record)});
  if (status != StreamStatus::accepted) refuse_log(std::string(to_string(status)));
  if (is_known) return;
  parts_.publisher.open(*processor.queries().find_stream(change.name));
  if (parts_.has_keys)
    ++accounts_.of(recovered_principal(record.principal)).streams;
  else if (sessions_.contains(record.session))
    ++sessions_.taken(record.session).streams;
}

void RequestHandler::end_recovery() {
  if (recovery_ == nullptr) return;
  while (!recovery_->under_way.empty()) {
    const Tick tick = recovery_->under_way.front().tick;
    recover_finished({});
    parts_.journal->append(TickFinishedRecord{tick, {}});
  }
  for (auto& [request, reply] : recovery_->replies) {
    Caller caller;
    caller.head.session = request.first;
    caller.head.sequence = request.second;
    record(caller, encode_reply(caller, reply));
    sessions_.answered(request.first, request.second, std::move(reply));
  }
  parts_.ticker.end_recovery();
  recovery_.reset();
}

}  // namespace starling::stream
