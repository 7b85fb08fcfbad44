// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a snapshot has, in the order of its bytes. fields(archive, item)
// gives all fields of the item to the archive, which writes or reads them. Only state_codec.cpp
// includes this file.
#pragma once

#include <type_traits>

#include "starling/stream/recovery/logged_state.hpp"

namespace starling::stream {

/// Item is Type or const Type.
template <class Item, class Type>
concept Is = std::is_same_v<std::remove_const_t<Item>, Type>;

template <class Archive, class Item>
requires(std::is_arithmetic_v<Item> || std::is_enum_v<Item>) void fields(Archive& archive,
                                                                         Item& item) {
  archive(item);
}

template <class Archive, Is<LatticePoint> Item>
void fields(Archive& archive, Item& item) {
  archive(item.x, item.y, item.z);
}

template <class Archive, Is<Targets> Item>
void fields(Archive& archive, Item& item) {
  archive(item.label, item.value);
}

template <class Archive, Is<Filter> Item>
void fields(Archive& archive, Item& item) {
  archive(item.tags.required, item.tags.forbidden, item.key_max, item.age_us_max);
}

template <class Archive, Is<ObjectRow> Item>
void fields(Archive& archive, Item& item) {
  archive(item.slot, item.generation, item.tags);
  fields(archive, item.position);
  archive(item.time_us);
}

template <class Archive, Is<ObjectBirth> Item>
void fields(Archive& archive, Item& item) {
  archive(item.slot, item.id);
}

template <class Archive, Is<QueryRow> Item>
void fields(Archive& archive, Item& item) {
  bool with_state = item.with_state;
  bool vote = item.vote;
  archive(item.slot, item.generation, item.k, item.anchor, item.on, with_state, vote, item.regress);
  if constexpr (!std::is_const_v<Item>) {
    item.with_state = with_state;
    item.vote = vote;
  }
  fields(archive, item.position);
  archive(item.object);
  fields(archive, item.filter);
  archive(item.subject.required, item.subject.forbidden);
}

template <class Archive, Is<ObjectTableState::Record> Item>
void fields(Archive& archive, Item& item) {
  fields(archive, item.row);
  archive(item.id, item.tags_owned, item.tags_owner, item.tags_time_us, item.followers);
}

template <class Archive, Is<ObjectTableState::FreeSlot> Item>
void fields(Archive& archive, Item& item) {
  archive(item.slot, item.generation);
}

template <class Archive, Is<ObjectTableState::Tombstone> Item>
void fields(Archive& archive, Item& item) {
  archive(item.forget_at_us, item.slot);
}

template <class Archive, Is<StreamDefinition> Item>
void fields(Archive& archive, Item& item) {
  archive(item.name, item.on, item.with.distance, item.with.position, item.with.tags, item.owner);
}

template <class Archive, Is<QueryTableState::Entry> Item>
void fields(Archive& archive, Item& item) {
  archive(item.stream, item.object, item.generation);
  auto& query = item.definition;
  archive(query.id, query.k, query.anchor.kind);
  fields(archive, query.anchor.position);
  archive(query.anchor.object);
  fields(archive, query.filter);
  archive(query.subject.required, query.subject.forbidden, query.lease_end_us, query.owner,
          query.components, query.vote, query.regress);
}

template <class Archive, Is<EngineState::Query> Item>
void fields(Archive& archive, Item& item) {
  archive(item.slot, item.generation);
}

template <class Archive, Is<EngineState::List> Item>
void fields(Archive& archive, Item& item) {
  archive(item.query, item.generation, item.subject, item.subject_id, item.with_state, item.count,
          item.first, item.prediction.vote, item.prediction.mean);
}

template <class Archive, Is<Neighbor> Item>
void fields(Archive& archive, Item& item) {
  archive(item.object, item.key);
}

template <class Archive, Is<Publisher::Numbers> Item>
void fields(Archive& archive, Item& item) {
  archive(item.opening, item.before, item.first_tick);
}

template <class Archive, Is<SessionTable::SessionState> Item>
void fields(Archive& archive, Item& item) {
  archive(item.session, item.number, item.principal, item.last_sequence, item.taken.streams,
          item.taken.names);
}

template <class Archive, Is<LoggedState::Sent> Item>
void fields(Archive& archive, Item& item) {
  archive(item.session, item.request.body_hash, item.request.reply);
}

template <class Archive, Is<NameTable::StoredName> Item>
void fields(Archive& archive, Item& item) {
  archive(item.id, item.text, item.owner);
}

template <class Archive, Is<LoggedState::Principal> Item>
void fields(Archive& archive, Item& item) {
  archive(item.number, item.name);
}

template <class Archive, Is<LoggedState::LogPrincipal> Item>
void fields(Archive& archive, Item& item) {
  archive(item.in_log, item.number);
}

template <class Archive, Is<LoggedState::Reply> Item>
void fields(Archive& archive, Item& item) {
  archive(item.session, item.sequence, item.reply);
}

/// The numbers that are not in an array.
template <class Archive, Is<LoggedState> Item>
void fields(Archive& archive, Item& item) {
  auto& processor = item.processor;
  archive(processor.last_tick, processor.last_tau_us, processor.objects.newest_time_us,
          processor.engine.tick, processor.engine.tau_us, processor.engine.objects_ahead,
          item.publisher.last_opening, item.publisher.last_removed);
}

/// Calls visit(number, array) for each section. The numbers are part of the format. The number of a
/// section that is not needed any more stays unused, and no section has the number of
/// record_type::epoch or record_type::run.
template <Is<LoggedState> State, class Visit>
void for_each_section(State& state, const Visit& visit) {
  auto& objects = state.processor.objects;
  auto& queries = state.processor.queries;
  auto& engine = state.processor.engine;
  visit(2, objects.records);
  visit(3, objects.free_slots);
  visit(4, objects.tombstones);
  visit(5, objects.leavers);
  visit(6, objects.components);
  visit(7, objects.targets);
  visit(8, queries.streams);
  visit(9, queries.free_streams);
  visit(10, queries.removed_streams);
  visit(11, queries.entries);
  visit(12, queries.free_slots);
  visit(13, queries.removed);
  visit(14, engine.births);
  visit(15, engine.objects);
  visit(16, engine.queries);
  visit(17, engine.object_components);
  visit(18, engine.object_targets);
  visit(19, engine.query_components);
  visit(20, engine.queries_known);
  visit(21, engine.lists);
  visit(22, engine.neighbors);
  visit(23, engine.slots);
  visit(24, state.publisher.numbers);
  visit(25, state.sessions);
  visit(26, state.names);
  visit(27, state.principals);
  visit(28, state.log_principals);
  visit(29, state.replies);
  visit(31, state.sent);  // 30 is head_section of state_codec.cpp
  visit(32, queries.members);
}

}  // namespace starling::stream
