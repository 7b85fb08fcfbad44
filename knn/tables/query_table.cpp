// SPDX-License-Identifier: Apache-2.0
// Checks queries and counts the neighbours that their lists may hold. The slot of a removed query
// becomes free only when a finished tick has reported the removal. See query_table.hpp.
#include "starling/knn/tables/query_table.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/base/usage.hpp"

namespace starling {
namespace {

// A stream with at least this many queries reserves room for all queries, so that growth never
// copies its queries. Smaller streams reserve none, because there may be thousands of streams.
constexpr std::size_t copied_members_max = 16'384;

// The memory of a list and of each neighbour in it: three copies of the CPU's engine, and a message
// with distances, positions and tags. Measured with 6.4 million neighbours that all change.
constexpr std::uint64_t bytes_per_list = 460;
constexpr std::uint64_t bytes_per_neighbor = 120;

// More neighbours than any memory holds. Sums up to here do not overflow.
constexpr std::uint64_t countless = std::uint64_t{1} << 50;

/// Returns once + per_object * objects, or `countless` if that is less.
std::uint64_t total(std::uint64_t once, std::uint64_t per_object, std::uint64_t objects) {
  if (objects > 0 && per_object > countless / objects) return countless;
  return std::min(once + per_object * objects, countless);
}

// An owner's every-object query counts k before there are objects, too.
std::uint64_t counted_objects(const ObjectTable& objects) {
  return std::max<std::uint64_t>(objects.alive_count(), 1);
}

bool with_state(const ReportWith& with) {
  return with.position || with.tags;
}

}  // namespace

std::string_view to_string(StreamStatus status) {
  switch (status) {
    case StreamStatus::accepted:
      return "accepted";
    case StreamStatus::bad_name:
      return "bad stream name";
    case StreamStatus::too_many_streams:
      return "too many streams";
  }
  return "unknown";
}

std::string_view to_string(QueryStatus status) {
  switch (status) {
    case QueryStatus::accepted:
      return "accepted";
    case QueryStatus::unknown_query:
      return "unknown query";
    case QueryStatus::k_zero:
      return "k is 0";
    case QueryStatus::k_too_large:
      return "k is too large";
    case QueryStatus::too_many_queries:
      return "too many queries";
    case QueryStatus::too_many_queries_of_owner:
      return "too many queries of one owner";
    case QueryStatus::too_many_objects:
      return "too many objects";
    case QueryStatus::too_many_neighbors:
      return "too many neighbours";
    case QueryStatus::too_many_list_bytes:
      return "too many neighbours for the memory";
    case QueryStatus::wrong_dimension:
      return "wrong number of components";
    case QueryStatus::no_labels:
      return "votes are for vector spaces";
    case QueryStatus::no_values:
      return "means are for vector spaces";
    case QueryStatus::no_weights:
      return "an inner product may be negative, so it is no weight";
    case QueryStatus::not_owner:
      return "the query has another owner";
    case QueryStatus::beyond_query_quota:
      return "the owner is at its quota of queries";
    case QueryStatus::beyond_neighbor_quota:
      return "the owner is at its quota of neighbours";
  }
  return "unknown";
}

void QueryTable::refuse(StreamId id) const {
  refuse_usage("no stream has the number ", static_cast<std::uint32_t>(id),
               "; pass a number that find_stream returned");
}

void QueryTable::refuse(Slot slot) const {
  refuse_usage("no query has the slot ", slot,
               "; pass a slot that find returned, unless that was no_slot");
}

void QueryTable::check_live(const char* function, StreamId id) const {
  check_usage(is_live(id), function, ": no stream has the number ", static_cast<std::uint32_t>(id),
              "; pass what find_stream returned, and nothing after remove_stream");
}

StreamStatus QueryTable::put_stream(const StreamDefinition& definition) {
  const std::string& name = definition.name;
  if (name.empty() || name.size() > stream_name_bytes_max || name.find('\0') != std::string::npos)
    return StreamStatus::bad_name;
  const auto known = streams_by_name_.find(name);
  const bool is_new = known == streams_by_name_.end() || !is_live(known->second);
  if (is_new && stream_count_ >= options_.streams_max) return StreamStatus::too_many_streams;
  if (known != streams_by_name_.end()) {
    put_known_stream(known->second, definition);
    return StreamStatus::accepted;
  }
  if (!free_streams_.empty()) {
    const StreamId id = free_streams_.back();
    free_streams_.pop_back();
    stream_at(id) = {definition, StreamState::live, 0, stream_at(id).is_restaged};
    streams_by_name_.emplace(name, id);
  } else {
    // The number of a removed stream is not free until a tick has reported the removal. There may
    // therefore be more numbers than live streams.
    if (streams_.size() >= std::uint64_t{2} * options_.streams_max)
      return StreamStatus::too_many_streams;
    streams_by_name_.emplace(name, static_cast<StreamId>(streams_.size()));
    streams_.push_back({definition, StreamState::live, 0, false});
  }
  ++stream_count_;
  return StreamStatus::accepted;
}

/// Changes a live stream, or takes back the removal of a stream that no tick has reported yet.
void QueryTable::put_known_stream(StreamId id, const StreamDefinition& definition) {
  Stream& stream = stream_at(id);
  if (stream.state == StreamState::live) {
    const std::uint64_t owner = stream.definition.owner;
    const bool is_same = definition.on == stream.definition.on &&
                         with_state(definition.with) == with_state(stream.definition.with);
    stream.definition = definition;
    stream.definition.owner = owner;
    if (!is_same && !stream.is_restaged) {
      stream.is_restaged = true;
      restaged_.push_back({id, 0});
    }
    return;
  }
  std::erase(removed_staged_.streams, id);
  for (Removals& begun : removed_begun_) std::erase(begun.streams, id);
  stream.definition = definition;
  stream.state = StreamState::live;
  ++stream_count_;
}

void QueryTable::remove_stream(StreamId id, ObjectTable& objects, Staging& staging) {
  begin_remove_stream(id);
  remove_some(id, std::numeric_limits<std::size_t>::max(), objects, staging);
}

void QueryTable::begin_remove_stream(StreamId id) {
  check_live("remove_stream", id);
  stream_at(id).state = StreamState::leaving;
  removed_staged_.streams.push_back(id);
  --stream_count_;
}

bool QueryTable::remove_some(StreamId id, std::size_t queries_max, ObjectTable& objects,
                             Staging& staging) {
  const auto& members = known(id).members;
  for (; queries_max > 0 && !members.empty(); --queries_max)
    drop(members.back().slot, objects, staging);
  return members.empty();
}

std::optional<StreamId> QueryTable::find_stream(std::string_view name) const {
  const auto it = streams_by_name_.find(name);
  if (it == streams_by_name_.end() || !is_live(it->second)) return std::nullopt;
  return it->second;
}

QueryStatus QueryTable::check(const QueryDefinition& definition) const {
  if (definition.k == 0) return QueryStatus::k_zero;
  if (definition.k > options_.k_max) return QueryStatus::k_too_large;
  if (definition.vote && options_.dimension == 0) return QueryStatus::no_labels;
  if (definition.regress != RegressionWeights::none && options_.dimension == 0)
    return QueryStatus::no_values;
  if (definition.regress == RegressionWeights::distance && options_.metric == Metric::inner_product)
    return QueryStatus::no_weights;
  if (definition.anchor.kind == AnchorKind::fixed &&
      definition.components.size() != options_.dimension)
    return QueryStatus::wrong_dimension;
  return QueryStatus::accepted;
}

void QueryTable::Room::add(const QueryDefinition& definition) {
  ++of(definition).count;
  of(definition).neighbors += definition.k;
}

void QueryTable::Room::subtract(const QueryDefinition& definition) {
  --of(definition).count;
  of(definition).neighbors -= definition.k;
}

std::uint64_t QueryTable::Room::neighbors(std::uint64_t objects) const {
  return total(once.neighbors, per_object.neighbors, objects);
}

std::uint64_t QueryTable::Room::bytes(std::uint64_t objects) const {
  return total(once.count, per_object.count, objects) * bytes_per_list +
         neighbors(objects) * bytes_per_neighbor;
}

bool QueryTable::fits(const Room& room, const ObjectTable& objects) const {
  return room.neighbors(objects.alive_count()) <= options_.neighbors_max;
}

/// Returns whether the lists fit in memory. Lists that take no more than those of all live queries
/// do.
bool QueryTable::fits_memory(const Room& room, const ObjectTable& objects) const {
  const std::uint64_t bytes = room.bytes(objects.alive_count());
  return bytes <= std::max(list_bytes_max_, list_bytes(objects));
}

/// Returns `accepted`, or why the owner may not put the query. `slot` has the query that the new
/// query replaces; no_slot: none.
QueryStatus QueryTable::check_owner(const QueryDefinition& definition, const QueryOwner& owner,
                                    Slot slot, const ObjectTable& objects) const {
  const QueryDefinition* const old = slot == no_slot ? nullptr : &entries_[slot].definition;
  const bool is_own = old != nullptr && old->owner == owner.owner;
  if (old != nullptr && !is_own && !owner.may_change_others) return QueryStatus::not_owner;
  const auto found = taken_.find(owner.owner);
  const OwnerTaken taken = found == taken_.end() ? OwnerTaken{} : found->second;
  if (!is_own && taken.queries >= owner.queries_max.value_or(options_.owner_queries_max))
    return owner.queries_max ? QueryStatus::beyond_query_quota
                             : QueryStatus::too_many_queries_of_owner;
  if (!owner.neighbors_max) return QueryStatus::accepted;
  Room room = taken.room;
  if (is_own) room.subtract(*old);
  room.add(definition);
  return room.neighbors(counted_objects(objects)) > *owner.neighbors_max
             ? QueryStatus::beyond_neighbor_quota
             : QueryStatus::accepted;
}

bool QueryTable::is_foreign(Slot slot) const {
  const Entry& entry = entries_[slot];
  return entry.definition.owner != stream(entry.stream).owner;
}

std::uint64_t QueryTable::owner_query_count_most() const {
  std::uint64_t most = 0;
  for (const auto& [owner, taken] : taken_) most = std::max(most, taken.queries);
  return most;
}

std::uint64_t QueryTable::neighbor_count(const ObjectTable& objects) const {
  return room_.neighbors(objects.alive_count());
}

std::uint64_t QueryTable::list_bytes(const ObjectTable& objects) const {
  return room_.bytes(objects.alive_count());
}

// Adds a live query to the counts, to leases_ and to every_object_. leave() undoes this.
void QueryTable::enter(Slot slot) {
  const QueryDefinition& definition = entries_[slot].definition;
  room_.add(definition);
  OwnerTaken& taken = taken_[definition.owner];
  ++taken.queries;
  taken.room.add(definition);
  if (is_foreign(slot)) ++stream_at(entries_[slot].stream).foreign_count;
  if (definition.anchor.kind == AnchorKind::every_object) {
    OwnerLists& lists = every_object_[definition.owner];
    if (!lists.queries.empty()) every_object_ranks_.erase(lists.rank());
    lists.neighbors_per_object += definition.k;
    lists.queries.emplace(definition.k, slot);
    every_object_ranks_.insert(lists.rank());
  }
  if (definition.lease_end_us != QueryDefinition::no_lease)
    leases_.emplace(definition.lease_end_us, slot);
}

void QueryTable::leave(Slot slot) {
  const QueryDefinition& definition = entries_[slot].definition;
  room_.subtract(definition);
  const auto taken = taken_.find(definition.owner);
  taken->second.room.subtract(definition);
  if (--taken->second.queries == 0) taken_.erase(taken);
  if (is_foreign(slot)) --stream_at(entries_[slot].stream).foreign_count;
  if (definition.anchor.kind == AnchorKind::every_object) {
    const auto found = every_object_.find(definition.owner);
    OwnerLists& lists = found->second;
    every_object_ranks_.erase(lists.rank());
    lists.neighbors_per_object -= definition.k;
    lists.queries.erase({definition.k, slot});
    if (lists.queries.empty())
      every_object_.erase(found);
    else
      every_object_ranks_.insert(lists.rank());
  }
  if (definition.lease_end_us != QueryDefinition::no_lease)
    leases_.erase({definition.lease_end_us, slot});
}

QueryStatus QueryTable::put(StreamId stream, const QueryDefinition& definition,
                            ObjectTable& objects, Staging& staging) {
  return put(stream, definition, {.owner = definition.owner}, objects, staging);
}

QueryStatus QueryTable::put(StreamId stream, const QueryDefinition& definition,
                            const QueryOwner& owner, ObjectTable& objects, Staging& staging) {
  check_live("put", stream);
  if (const QueryStatus status = check(definition); status != QueryStatus::accepted) return status;
  const Slot known = registry_.find(stream, definition.id);
  Slot slot = if_live(known);
  if (const QueryStatus status = check_owner(definition, owner, slot, objects);
      status != QueryStatus::accepted)
    return status;
  Room room = room_;
  if (slot != no_slot) room.subtract(entries_[slot].definition);
  room.add(definition);
  if (!fits(room, objects)) return QueryStatus::too_many_neighbors;
  if (!may_grow_ && slot != no_slot && definition.k > entries_[slot].definition.k)
    return QueryStatus::too_many_neighbors;
  if (slot == no_slot && !has_place(known)) return QueryStatus::too_many_queries;
  if (!fits_memory(room, objects)) return QueryStatus::too_many_list_bytes;
  Slot object = no_slot;
  if (definition.anchor.kind == AnchorKind::follow) {
    object = objects.follow(definition.anchor.object, staging);
    if (object == no_slot) return QueryStatus::too_many_objects;
  }
  if (slot == no_slot)
    slot = allocate(stream, definition.id, known);
  else
    leave(slot);
  Entry& entry = entries_[slot];
  if (entry.object != no_slot) objects.unfollow(entry.object);
  entry.object = object;
  entry.definition = definition;
  entry.definition.owner = owner.owner;
  enter(slot);
  stage(slot, staging);
  return QueryStatus::accepted;
}

QueryStatus QueryTable::remove(StreamId stream, QueryId id, const QueryOwner& owner,
                               ObjectTable& objects, Staging& staging) {
  check_live("remove", stream);
  const Slot slot = find(stream, id);
  if (slot == no_slot) return QueryStatus::unknown_query;
  if (!owner.may_change_others && entries_[slot].definition.owner != owner.owner)
    return QueryStatus::not_owner;
  drop(slot, objects, staging);
  return QueryStatus::accepted;
}

void QueryTable::move_leases(std::int64_t duration_us) {
  std::set<std::pair<std::int64_t, Slot>> moved;
  for (const auto& [end_us, slot] : leases_) {
    std::int64_t& lease_end_us = entries_[slot].definition.lease_end_us;
    lease_end_us = std::min(saturating_add(end_us, duration_us), QueryDefinition::no_lease - 1);
    moved.emplace_hint(moved.end(), lease_end_us, slot);
  }
  leases_ = std::move(moved);
}

bool QueryTable::prepare_tick(std::int64_t tau_us, std::size_t queries_max, ObjectTable& objects,
                              Staging& staging) {
  while (!restaged_.empty()) {
    auto& [id, next] = restaged_.front();
    const auto& members = stream_at(id).members;
    for (; next < members.size() && queries_max > 0; --queries_max)
      stage(members[next++].slot, staging);
    if (next < members.size()) return false;
    stream_at(id).is_restaged = false;
    restaged_.pop_front();
  }
  for (; !leases_.empty() && leases_.begin()->first < tau_us; --queries_max) {
    if (queries_max == 0) return false;
    drop(leases_.begin()->second, objects, staging);
  }
  return true;
}

std::vector<OutgrownQuery> QueryTable::remove_outgrown(const NeighborQuotas& quotas,
                                                       std::size_t queries_max,
                                                       ObjectTable& objects, Staging& staging) {
  using Limit = OutgrownQuery::Limit;
  std::vector<OutgrownQuery> removed;
  const std::uint64_t counted = counted_objects(objects);
  for (auto next = every_object_.begin(); quotas && next != every_object_.end();) {
    const auto owner = next++;  // the owner leaves every_object_ with its last query
    const auto quota = quotas(owner->first);
    const auto taken = taken_.find(owner->first);
    std::size_t queries = std::min(owner->second.queries.size(), queries_max - removed.size());
    for (; quota && queries > 0 && taken->second.room.neighbors(counted) > *quota; --queries)
      removed.push_back(
          drop_outgrown(owner->second.rank().largest.second, Limit::of_owner, objects, staging));
  }
  while (!every_object_.empty() && removed.size() < queries_max) {
    const bool is_table_full = !fits(room_, objects);
    if (!is_table_full && list_bytes(objects) <= list_bytes_max_) break;
    removed.push_back(drop_outgrown(every_object_ranks_.rbegin()->largest.second,
                                    is_table_full ? Limit::of_table : Limit::memory, objects,
                                    staging));
  }
  return removed;
}

OutgrownQuery QueryTable::drop_outgrown(Slot slot, OutgrownQuery::Limit limit, ObjectTable& objects,
                                        Staging& staging) {
  const QueryDefinition& definition = entries_[slot].definition;
  const OutgrownQuery removed{.stream = entries_[slot].stream,
                              .id = definition.id,
                              .owner = definition.owner,
                              .k = definition.k,
                              .limit = limit};
  drop(slot, objects, staging);
  return removed;
}

void QueryTable::tick_begun() {
  check_invariant(restaged_.empty(), "a tick begins only when the table is ready");
  const std::uint64_t next = removed_staged_.number + 1;
  removed_begun_.push_back(std::exchange(removed_staged_, {next, {}, {}}));
}

void QueryTable::tick_finished() {
  check_usage(!removed_begun_.empty(), "tick_finished: no tick is under way");
  Removals& removals = removed_begun_.front();
  append(free_slots_, removals.queries);
  reported_ = removals.number;
  for (const StreamId id : removals.streams) {
    Stream& stream = stream_at(id);
    stream.state = StreamState::gone;
    streams_by_name_.erase(stream.definition.name);
    free_streams_.push_back(id);
  }
  removed_begun_.pop_front();
}

void QueryTable::tick_failed() {
  check_usage(!removed_begun_.empty(), "tick_failed: no tick is under way");
  Removals failed = std::move(removed_begun_.front());
  removed_begun_.pop_front();
  Removals& next = removed_begun_.empty() ? removed_staged_ : removed_begun_.front();
  append(failed.queries, next.queries);
  next.queries = failed.queries;
  next.streams.insert(next.streams.end(), failed.streams.begin(), failed.streams.end());
}

Slot QueryTable::find(StreamId stream, QueryId id) const {
  return if_live(registry_.find(stream, id));
}

void QueryTable::prefetch(Slot slot) const {
  starling::prefetch(&entries_[slot].stream);
  starling::prefetch(&entries_[slot].definition.id);
}

void QueryTable::push_back(SlotList& list, Slot slot) {
  entries_[slot].before = list.last;
  entries_[slot].after = no_slot;
  (list.last == no_slot ? list.first : entries_[list.last].after) = slot;
  list.last = slot;
}

void QueryTable::unlink(SlotList& list, Slot slot) {
  const Entry& entry = entries_[slot];
  (entry.before == no_slot ? list.first : entries_[entry.before].after) = entry.after;
  (entry.after == no_slot ? list.last : entries_[entry.after].before) = entry.before;
}

/// Moves all slots of `appended` after those of `list`.
void QueryTable::append(SlotList& list, SlotList& appended) {
  if (appended.first == no_slot) return;
  entries_[appended.first].before = list.last;
  (list.last == no_slot ? list.first : entries_[list.last].after) = appended.first;
  list.last = appended.last;
  appended = {};
}

/// Returns the list that a slot without a live query is in. A tick that fails passes its removals
/// to the next tick, so a slot may be in a later list than the list to which it was added.
QueryTable::SlotList& QueryTable::list_of(Slot slot) {
  const std::uint64_t number = entries_[slot].removals;
  if (number <= reported_) return free_slots_;
  for (Removals& begun : removed_begun_)
    if (number <= begun.number) return begun.queries;
  return removed_staged_.queries;
}

/// Returns whether there is a slot for a query that is not in the table. `known` is the query's
/// last slot, or no_slot.
bool QueryTable::has_place(Slot known) const {
  if (!may_grow_ || count_ >= options_.queries_max) return false;
  // The slot of a removed query is not free until a tick has reported the removal. There may
  // therefore be more slots than live queries.
  return known != no_slot || free_slots_.last != no_slot ||
         entries_.size() < 2 * options_.queries_max;
}

// A query that is put again before its removal is reported keeps its slot. The new generation shows
// the engine that it is another query, so the removal needs no report. After the report, the query
// gets its slot back if no other query has taken the slot.
Slot QueryTable::allocate(StreamId stream, QueryId id, Slot known) {
  Slot slot = known;
  if (slot != no_slot) {
    unlink(list_of(slot), slot);
  } else if (free_slots_.last != no_slot) {
    slot = free_slots_.last;
    unlink(free_slots_, slot);
    registry_.erase(stream_of(slot), id_of(slot));
    registry_.insert(stream, id, slot);
  } else {
    slot = static_cast<Slot>(entries_.size());
    entries_.emplace_back();
    registry_.insert(stream, id, slot);
  }
  Entry& entry = entries_[slot];
  entry.stream = stream;
  entry.object = no_slot;
  ++entry.generation;
  add_member(slot, id);
  ++count_;
  return slot;
}

void QueryTable::add_member(Slot slot, QueryId id) {
  auto& members = stream_at(entries_[slot].stream).members;
  entries_[slot].place = static_cast<std::uint32_t>(members.size());
  const std::size_t count = members.size() + 1;
  const std::size_t count_max = count < copied_members_max ? count : options_.queries_max;
  reserve_room<1>(members, count, count_max);
  members.push_back({id, slot});
}

void QueryTable::drop(Slot slot, ObjectTable& objects, Staging& staging) {
  Entry& entry = entries_[slot];
  leave(slot);
  auto& members = stream_at(entry.stream).members;
  members[entry.place] = members.back();
  entries_[members.back().slot].place = entry.place;
  members.pop_back();
  if (entry.object != no_slot) objects.unfollow(entry.object);
  entry.object = no_slot;
  ++entry.generation;
  --count_;
  entry.removals = removed_staged_.number;
  push_back(removed_staged_.queries, slot);
  stage(slot, staging);
}

void QueryTable::stage(Slot slot, Staging& staging) {
  Entry& entry = entries_[slot];
  const QueryDefinition& definition = entry.definition;
  const StreamDefinition& stream = streams_[static_cast<std::size_t>(entry.stream)].definition;
  const QueryRow row{.slot = slot,
                     .generation = entry.generation,
                     .k = definition.k,
                     .anchor = definition.anchor.kind,
                     .on = stream.on,
                     .with_state = with_state(stream.with),
                     .vote = definition.vote,
                     .regress = definition.regress,
                     .position = definition.anchor.position,
                     .object = entry.object,
                     .filter = definition.filter,
                     .subject = definition.subject};
  const bool is_staged =
      entry.staged_row < staging.queries.size() && staging.queries[entry.staged_row].slot == slot;
  if (!is_staged) {
    const std::size_t rows = staging.queries.size() + 1;
    const std::uint64_t slots_max = 2 * options_.queries_max;
    reserve_room<1>(staging.queries, rows, slots_max);
    reserve_room<1>(staging.query_components, rows * options_.dimension,
                    slots_max * options_.dimension);
    staging.query_components.resize(rows * options_.dimension);
    staging.queries.emplace_back();
    entry.staged_row = static_cast<std::uint32_t>(rows - 1);
  }
  staging.queries[entry.staged_row] = row;
  if (definition.anchor.kind == AnchorKind::fixed && options_.dimension > 0)
    std::ranges::copy(
        definition.components,
        staging.query_components.data() + std::size_t{entry.staged_row} * options_.dimension);
}

}  // namespace starling
