// SPDX-License-Identifier: Apache-2.0
// Checks queries and counts the neighbours that their lists may hold. The slot of a removed query
// becomes free only when a finished tick has reported the removal. See query_table.hpp.
#include "starling/knn/tables/query_table.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/times.hpp"

namespace starling {

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
    case QueryStatus::wrong_dimension:
      return "wrong number of components";
    case QueryStatus::no_labels:
      return "votes are for vector spaces";
    case QueryStatus::no_values:
      return "means are for vector spaces";
    case QueryStatus::no_weights:
      return "an inner product may be negative, so it is no weight";
  }
  return "unknown";
}

StreamStatus QueryTable::put_stream(const StreamDefinition& definition, Staging& staging) {
  const std::string& name = definition.name;
  if (name.empty() || name.size() > stream_name_bytes_max || name.find('\0') != std::string::npos)
    return StreamStatus::bad_name;
  const auto known = streams_by_name_.find(name);
  const bool is_new = known == streams_by_name_.end() || !is_live(known->second);
  if (is_new && stream_count_ >= options_.streams_max) return StreamStatus::too_many_streams;
  if (known != streams_by_name_.end()) {
    put_known_stream(known->second, definition, staging);
    return StreamStatus::accepted;
  }
  if (!free_streams_.empty()) {
    const StreamId id = free_streams_.back();
    free_streams_.pop_back();
    stream_at(id) = {definition, StreamState::live, {}};
    streams_by_name_.emplace(name, id);
  } else {
    // The number of a removed stream is not free until a tick has reported the removal. There may
    // therefore be more numbers than live streams.
    if (streams_.size() >= std::uint64_t{2} * options_.streams_max)
      return StreamStatus::too_many_streams;
    streams_by_name_.emplace(name, static_cast<StreamId>(streams_.size()));
    streams_.push_back({definition, StreamState::live, {}});
  }
  ++stream_count_;
  return StreamStatus::accepted;
}

/// Changes a live stream, or takes back the removal of a stream that no tick has reported yet.
void QueryTable::put_known_stream(StreamId id, const StreamDefinition& definition,
                                  Staging& staging) {
  Stream& stream = stream_at(id);
  if (stream.state == StreamState::live) {
    const std::uint64_t owner = stream.definition.owner;
    stream.definition = definition;
    stream.definition.owner = owner;
    for (const Slot slot : slots_of(id)) stage(slot, staging);
    return;
  }
  std::erase(removed_staged_.streams, id);
  for (Removals& begun : removed_begun_) std::erase(begun.streams, id);
  stream.definition = definition;
  stream.state = StreamState::live;
  ++stream_count_;
}

void QueryTable::remove_stream(StreamId id, ObjectTable& objects, Staging& staging) {
  check_invariant(is_live(id), "only a live stream is removed");
  const std::vector<Slot> slots = slots_of(id);
  stream_at(id).slots.clear();  // all at once, which is faster than one by one in drop()
  for (const Slot slot : slots) drop(slot, objects, staging);
  stream_at(id).state = StreamState::leaving;
  removed_staged_.streams.push_back(id);
  --stream_count_;
}

std::optional<StreamId> QueryTable::find_stream(std::string_view name) const {
  const auto it = streams_by_name_.find(std::string(name));
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

bool QueryTable::fits(const Room& room, const ObjectTable& objects) const {
  if (room.neighbors > options_.neighbors_max) return false;
  const std::uint64_t rest = options_.neighbors_max - room.neighbors;
  const std::uint64_t alive = objects.alive_count();
  return alive == 0 || room.neighbors_per_object <= rest / alive;
}

bool QueryTable::may_own(std::uint64_t owner, Slot slot) const {
  if (slot != no_slot && entries_[slot].definition.owner == owner) return true;
  const auto count = owner_query_counts_.find(owner);
  return (count == owner_query_counts_.end() ? 0 : count->second) < options_.owner_queries_max;
}

std::uint64_t QueryTable::owner_query_count_most() const {
  std::uint64_t most = 0;
  for (const auto& [owner, count] : owner_query_counts_) most = std::max(most, count);
  return most;
}

std::uint64_t QueryTable::neighbor_count(const ObjectTable& objects) const {
  return room_.neighbors + room_.neighbors_per_object * objects.alive_count();
}

// Adds a live query to the counts, to leases_ and to every_object_. leave() undoes this.
void QueryTable::enter(Slot slot) {
  const QueryDefinition& definition = entries_[slot].definition;
  room_.of(definition) += definition.k;
  ++owner_query_counts_[definition.owner];
  if (definition.anchor.kind == AnchorKind::every_object) every_object_.emplace(definition.k, slot);
  if (definition.lease_end_us != QueryDefinition::no_lease)
    leases_.emplace(definition.lease_end_us, slot);
}

void QueryTable::leave(Slot slot) {
  const QueryDefinition& definition = entries_[slot].definition;
  room_.of(definition) -= definition.k;
  if (const auto count = owner_query_counts_.find(definition.owner); --count->second == 0)
    owner_query_counts_.erase(count);
  every_object_.erase({definition.k, slot});
  leases_.erase({definition.lease_end_us, slot});
}

QueryStatus QueryTable::put(StreamId stream, const QueryDefinition& definition,
                            ObjectTable& objects, Staging& staging) {
  if (const QueryStatus status = check(definition); status != QueryStatus::accepted) return status;
  Slot slot = find(stream, definition.id);
  if (!may_own(definition.owner, slot)) return QueryStatus::too_many_queries_of_owner;
  Room room = room_;
  if (slot != no_slot) room.of(entries_[slot].definition) -= entries_[slot].definition.k;
  room.of(definition) += definition.k;
  if (!fits(room, objects)) return QueryStatus::too_many_neighbors;
  if (!may_grow_ && slot != no_slot && definition.k > entries_[slot].definition.k)
    return QueryStatus::too_many_neighbors;
  Slot object = no_slot;
  if (definition.anchor.kind == AnchorKind::follow) {
    object = objects.follow(definition.anchor.object, staging);
    if (object == no_slot) return QueryStatus::too_many_objects;
  }
  if (slot == no_slot)
    slot = allocate(stream, definition.id);
  else
    leave(slot);
  if (slot == no_slot) {
    if (object != no_slot) objects.unfollow(object);
    return QueryStatus::too_many_queries;
  }
  Entry& entry = entries_[slot];
  if (entry.object != no_slot) objects.unfollow(entry.object);
  entry.object = object;
  entry.definition = definition;
  enter(slot);
  stage(slot, staging);
  return QueryStatus::accepted;
}

QueryStatus QueryTable::remove(StreamId stream, QueryId id, ObjectTable& objects,
                               Staging& staging) {
  const Slot slot = find(stream, id);
  if (slot == no_slot) return QueryStatus::unknown_query;
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

void QueryTable::prepare_tick(std::int64_t tau_us, ObjectTable& objects, Staging& staging) {
  while (!leases_.empty() && leases_.begin()->first < tau_us)
    drop(leases_.begin()->second, objects, staging);
}

std::uint64_t QueryTable::remove_outgrown(ObjectTable& objects, Staging& staging) {
  std::uint64_t removed = 0;
  for (; !every_object_.empty() && !fits(room_, objects); ++removed)
    drop(every_object_.rbegin()->second, objects, staging);
  return removed;
}

void QueryTable::tick_begun() {
  removed_begun_.push_back(std::exchange(removed_staged_, {}));
}

void QueryTable::tick_finished() {
  const Removals& removals = removed_begun_.front();
  for (const auto& [owner, slot] : removals.queries) free_slots_.push_back(slot);
  for (const StreamId id : removals.streams) {
    Stream& stream = stream_at(id);
    stream.state = StreamState::gone;
    streams_by_name_.erase(stream.definition.name);
    free_streams_.push_back(id);
  }
  removed_begun_.pop_front();
}

void QueryTable::tick_failed() {
  Removals failed = std::move(removed_begun_.front());
  removed_begun_.pop_front();
  Removals& next = removed_begun_.empty() ? removed_staged_ : removed_begun_.front();
  next.queries.merge(failed.queries);
  check_invariant(failed.queries.empty(), "a query keeps one slot until its removal is reported");
  next.streams.insert(next.streams.end(), failed.streams.begin(), failed.streams.end());
}

Slot QueryTable::find(StreamId stream, QueryId id) const {
  const auto& slots = streams_[static_cast<std::size_t>(stream)].slots;
  const auto it = slots.find(to_number(id));
  return it == slots.end() ? no_slot : it->second;
}

void QueryTable::prefetch(Slot slot) const {
  starling::prefetch(&entries_[slot].stream);
  starling::prefetch(&entries_[slot].definition.id);
}

std::vector<Slot> QueryTable::slots_of(StreamId stream) const {
  const auto& by_id = streams_[static_cast<std::size_t>(stream)].slots;
  // Sorts the ids with their slots, because looking the ids up in entries_ misses the caches.
  std::vector<std::pair<std::uint64_t, Slot>> sorted(by_id.begin(), by_id.end());
  std::ranges::sort(sorted);
  std::vector<Slot> slots(sorted.size());
  std::ranges::transform(sorted, slots.begin(), [](const auto& each) { return each.second; });
  return slots;
}

// Returns the slot that a query had whose removal is not reported yet, or no_slot.
Slot QueryTable::take_removed(StreamId stream, QueryId id) {
  if (const auto staged = removed_staged_.queries.extract({stream, id})) return staged.mapped();
  for (Removals& begun : removed_begun_)
    if (const auto removed = begun.queries.extract({stream, id})) return removed.mapped();
  return no_slot;
}

// A query that is put again before its removal is reported keeps its slot. The new generation tells
// the engine that it is another query. The removal then needs no report.
Slot QueryTable::allocate(StreamId stream, QueryId id) {
  if (!may_grow_ || count_ >= options_.queries_max) return no_slot;
  Slot slot = no_slot;
  if (const Slot removed = take_removed(stream, id); removed != no_slot) {
    slot = removed;
  } else if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    // The slot of a removed query is not free until a tick has reported the removal. There may
    // therefore be more slots than live queries.
    if (entries_.size() >= 2 * options_.queries_max) return no_slot;
    slot = static_cast<Slot>(entries_.size());
    entries_.emplace_back();
  }
  Entry& entry = entries_[slot];
  entry.stream = stream;
  entry.object = no_slot;
  ++entry.generation;
  stream_at(stream).slots.emplace(to_number(id), slot);
  ++count_;
  return slot;
}

void QueryTable::drop(Slot slot, ObjectTable& objects, Staging& staging) {
  Entry& entry = entries_[slot];
  leave(slot);
  stream_at(entry.stream).slots.erase(to_number(entry.definition.id));
  if (entry.object != no_slot) objects.unfollow(entry.object);
  entry.object = no_slot;
  ++entry.generation;
  --count_;
  RemovedSlots& removed = removed_staged_.queries;
  removed.emplace_hint(removed.end(), std::pair(entry.stream, entry.definition.id), slot);
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
                     .with_state = stream.with.position || stream.with.tags,
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

QueryTableState QueryTable::export_state() const {
  check_invariant(removed_begun_.empty(), "a state is exported only between ticks");
  QueryTableState state;
  for (const Stream& stream : streams_) state.streams.push_back(stream.definition);
  state.free_streams = free_streams_;
  state.removed_streams = removed_staged_.streams;
  for (const Entry& entry : entries_) state.entries.push_back(entry);
  state.free_slots = free_slots_;
  for (const auto& [owner, slot] : removed_staged_.queries) state.removed.push_back(slot);
  return state;
}

void QueryTable::import_state(const QueryTableState& state, Staging& staging) {
  check_invariant(streams_.empty(), "a state is imported only into an empty table");
  for (const StreamDefinition& definition : state.streams)
    streams_.push_back({definition, StreamState::live, {}});
  for (const StreamId id : state.free_streams) stream_at(id).state = StreamState::gone;
  for (const StreamId id : state.removed_streams) stream_at(id).state = StreamState::leaving;
  free_streams_ = state.free_streams;
  removed_staged_.streams = state.removed_streams;
  stream_count_ = streams_.size() - free_streams_.size() - state.removed_streams.size();
  for (std::size_t number = 0; number < streams_.size(); ++number)
    if (is_reported(static_cast<StreamId>(number)))
      streams_by_name_.emplace(streams_[number].definition.name, static_cast<StreamId>(number));
  free_slots_ = state.free_slots;
  for (Slot slot = 0; slot < state.entries.size(); ++slot) {
    const QueryTableState::Entry& entry = state.entries[slot];
    entries_.push_back({entry, 0});
    if (is_alive(entry.generation)) {
      const std::uint64_t id = to_number(entry.definition.id);
      streams_[static_cast<std::size_t>(entry.stream)].slots.emplace(id, slot);
      enter(slot);
      ++count_;
      stage(slot, staging);
    }
  }
  for (const Slot slot : state.removed) {
    removed_staged_.queries.emplace(std::pair(stream_of(slot), id_of(slot)), slot);
    stage(slot, staging);
  }
}

}  // namespace starling
