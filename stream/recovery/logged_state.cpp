// SPDX-License-Identifier: Apache-2.0
// Copies the tables out and in: see logged_state.hpp.
#include "starling/stream/recovery/logged_state.hpp"

#include <limits>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {
namespace {

[[noreturn]] void refuse_state(const std::string& what) {
  throw std::runtime_error("the server cannot hold what the snapshot of its log holds: " + what +
                           ". Start it with the limits that it had, or larger ones");
}

/// Replaces the numbers of principals in a state by their numbers in the tables.
class Renumbering {
 public:
  Renumbering(const std::vector<LoggedState::Principal>& principals, const LoggedTables& tables) {
    for (const LoggedState::Principal& each : principals)
      numbers_[each.number] = tables.principal_id(each.name);
  }

  PrincipalId of(std::uint64_t number) const {
    const auto found = numbers_.find(number);
    return found == numbers_.end() ? PrincipalId::anonymous : found->second;
  }
  template <class Number>
  void change(Number& number) const {
    number = static_cast<Number>(of(static_cast<std::uint64_t>(number)));
  }

  void change_all(LoggedState& state) const {
    for (ObjectTableState::Record& each : state.processor.objects.records)
      if (each.tags_owned != 0) change(each.tags_owner);
    for (StreamDefinition& each : state.processor.queries.streams) change(each.owner);
    for (QueryTableState::Entry& each : state.processor.queries.entries)
      change(each.definition.owner);
    for (SessionTable::SessionState& each : state.sessions) change(each.principal);
    for (NameTable::StoredName& each : state.names) change(each.owner);
  }

 private:
  std::map<std::uint64_t, PrincipalId> numbers_;
};

void check_limits(const ProcessorState& state, const ProcessorOptions& options) {
  const auto slots = state.objects.records.size() + state.objects.free_slots.size();
  if (slots > options.objects.objects_max)
    refuse_state("there are " + std::to_string(slots) + " objects, more than --objects-max allows");
  if (state.queries.streams.size() > options.queries.streams_max)
    refuse_state("there are more streams than --streams-max allows");
  std::uint64_t queries = 0;
  for (const QueryTableState::Entry& each : state.queries.entries) {
    if (!is_alive(each.generation)) continue;
    ++queries;
    if (each.definition.k > options.queries.k_max)
      refuse_state("a query has a larger k than --k-max allows");
  }
  if (queries > options.queries.queries_max)
    refuse_state("there are more queries than --queries-max allows");
}

void import_names(const LoggedState& state, const LoggedTables& tables) {
  for (const NameTable::StoredName& each : state.names) {
    std::uint64_t of_sessions = 0;  // the imported sessions have counted them already
    std::uint64_t& taken = tables.has_keys
                               ? tables.accounts.of(static_cast<PrincipalId>(each.owner)).names
                               : of_sessions;
    const NameTable::Teller teller{.names = taken,
                                   .names_max = std::numeric_limits<std::uint64_t>::max(),
                                   .owner = each.owner};
    if (tables.names.put(each.id, each.text, teller) != protocol::RowReason::none)
      refuse_state("there are more names than --names-max or --name-bytes-max allows");
  }
}

void import_sessions(LoggedState& state, const LoggedTables& tables) {
  std::unordered_map<std::uint64_t, std::vector<SessionTable::SessionState::Sent>> sent;
  for (LoggedState::Sent& each : state.sent) sent[each.session].push_back(std::move(each.request));
  for (SessionTable::SessionState& each : state.sessions) {
    each.sent = std::move(sent[each.session]);
    tables.sessions.import_session(each, tables.now_us);
  }
}

}  // namespace

LoggedState export_state(const LoggedTables& tables, LogReplay& replay,
                         std::vector<LoggedState::Principal> principals) {
  check_invariant(replay.open().ticks.empty(), "a state is exported only between ticks");
  LoggedState state{.processor = tables.processor.export_state(),
                    .publisher = tables.publisher.export_state(),
                    .sessions = tables.sessions.export_state(),
                    .sent = {},
                    .names = tables.names.export_state(),
                    .principals = std::move(principals),
                    .log_principals = {},
                    .replies = {}};
  for (SessionTable::SessionState& session : state.sessions) {
    for (auto& request : session.sent) state.sent.push_back({session.session, std::move(request)});
    session.sent.clear();
  }
  for (const auto& [in_log, number] : replay.open().principals)
    state.log_principals.push_back({in_log, static_cast<std::uint32_t>(number)});
  for (const auto& [request, reply] : replay.open().replies)
    state.replies.push_back({request.first, request.second, reply});
  return state;
}

void import_state(LoggedState state, const LoggedTables& tables, LogReplay& replay) {
  const Renumbering renumbering(state.principals, tables);
  if (tables.has_keys) renumbering.change_all(state);
  check_limits(state.processor, tables.processor.options());
  // The space is in the log's header, not in the state.
  state.processor.space = tables.processor.space();
  tables.processor.import_state(state.processor);
  tables.publisher.import_state(std::move(state.publisher));
  import_sessions(state, tables);
  import_names(state, tables);
  const QueryTable& queries = tables.processor.queries();
  for (std::size_t number = 0; tables.has_keys && number < queries.stream_id_end(); ++number)
    if (const auto stream = static_cast<StreamId>(number); queries.is_live(stream))
      ++tables.accounts.of(static_cast<PrincipalId>(queries.stream(stream).owner)).streams;
  for (const LoggedState::LogPrincipal& each : state.log_principals)
    replay.open().principals[each.in_log] = renumbering.of(each.number);
  for (LoggedState::Reply& each : state.replies)
    replay.open().replies[{each.session, each.sequence}] = std::move(each.reply);
}

}  // namespace starling::stream
