// SPDX-License-Identifier: Apache-2.0
// Copies the whole table of queries out and in: see QueryTable::export_state.
#include "starling/knn/base/usage.hpp"
#include "starling/knn/tables/query_table.hpp"

namespace starling {

std::vector<Slot> QueryTable::slots_in(const SlotList& list) const {
  std::vector<Slot> slots;
  for (Slot slot = list.first; slot != no_slot; slot = entries_[slot].after) slots.push_back(slot);
  return slots;
}

QueryTableState QueryTable::export_state() const {
  check_usage(removed_begun_.empty(), "export_state: a tick is under way");
  QueryTableState state;
  for (const Stream& stream : streams_) state.streams.push_back(stream.definition);
  state.free_streams = free_streams_;
  state.removed_streams = removed_staged_.streams;
  for (Slot slot = 0; slot < entries_.size(); ++slot) state.entries.push_back(entries_[slot]);
  for (const Stream& stream : streams_)
    for (const QuerySlot& member : stream.members) state.members.push_back(member.slot);
  state.free_slots = slots_in(free_slots_);
  state.removed = slots_in(removed_staged_.queries);
  return state;
}

/// Returns the slots in which `state` has live queries, in the order in which they become members.
std::vector<Slot> QueryTable::members_in(const QueryTableState& state) {
  if (!state.members.empty()) return state.members;
  std::vector<Slot> slots;
  for (Slot slot = 0; slot < state.entries.size(); ++slot)
    if (is_alive(state.entries[slot].generation)) slots.push_back(slot);
  return slots;
}

void QueryTable::import_state(const QueryTableState& state, Staging& staging) {
  check_usage(streams_.empty(), "import_state: the table has streams; import into a new one");
  for (const StreamDefinition& definition : state.streams)
    streams_.push_back({definition, StreamState::live, 0, false});
  for (const StreamId id : state.free_streams) stream_at(id).state = StreamState::gone;
  for (const StreamId id : state.removed_streams) stream_at(id).state = StreamState::leaving;
  free_streams_ = state.free_streams;
  removed_staged_.streams = state.removed_streams;
  stream_count_ = streams_.size() - free_streams_.size() - state.removed_streams.size();
  for (std::size_t number = 0; number < streams_.size(); ++number)
    if (is_reported(static_cast<StreamId>(number)))
      streams_by_name_.emplace(streams_[number].definition.name, static_cast<StreamId>(number));
  for (Slot slot = 0; slot < state.entries.size(); ++slot) {
    Entry& entry = entries_.emplace_back();
    static_cast<QueryTableState::Entry&>(entry) = state.entries[slot];
    registry_.insert(stream_of(slot), id_of(slot), slot);
    if (!is_alive(entry.generation)) continue;
    enter(slot);
    ++count_;
    stage(slot, staging);
  }
  for (const Slot slot : members_in(state)) add_member(slot, id_of(slot));
  for (const Slot slot : state.free_slots) push_back(free_slots_, slot);
  for (const Slot slot : state.removed) {
    entries_[slot].removals = removed_staged_.number;
    push_back(removed_staged_.queries, slot);
    stage(slot, staging);
  }
}

}  // namespace starling
