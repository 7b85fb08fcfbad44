// SPDX-License-Identifier: Apache-2.0
// Writes the bytes of the log's records: see record_codec.hpp and
// docs/decisions/0020-what-the-server-logs.md.
#include <concepts>
#include <cstring>
#include <type_traits>

#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/journal/record_layout.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

void put_bytes(RecordBytes& out, const void* data, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + bytes);
}

template <class Number>
requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) void put(RecordBytes& out,
                                                                          Number number) {
  put_bytes(out, &number, sizeof(number));
}

void put_text(RecordBytes& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  put_bytes(out, text.data(), text.size());
}

void put_point(RecordBytes& out, const LatticePoint& point) {
  put(out, point.x);
  put(out, point.y);
  put(out, point.z);
}

/// Leaves room for a count of rows that is not known yet. Returns its place for set_count().
std::size_t put_count_later(RecordBytes& out) {
  put(out, std::uint32_t{0});
  return out.size() - sizeof(std::uint32_t);
}
void set_count(RecordBytes& out, std::size_t place, std::uint32_t count) {
  std::memcpy(out.data() + place, &count, sizeof(count));
}

bool is_kept(UpdateStatus status) {
  return status == UpdateStatus::accepted || status == UpdateStatus::late;
}
bool is_kept(QueryStatus status) {
  return status == QueryStatus::accepted;
}

/// Writes the number of rows that are kept, and calls put_row(index) for each of these rows.
template <class Status, class PutRow>
void put_rows(RecordBytes& out, std::span<const Status> statuses, const PutRow& put_row) {
  const std::size_t place = put_count_later(out);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (!is_kept(statuses[i])) continue;
    put_row(i);
    ++count;
  }
  set_count(out, place, count);
}

void put_query(RecordBytes& out, const QueryDefinition& query) {
  put(out, query.id);
  put(out, query.k);
  put(out, query.anchor.kind);
  put_point(out, query.anchor.position);
  put(out, query.anchor.object);
  put(out, query.filter.tags.required);
  put(out, query.filter.tags.forbidden);
  put(out, query.filter.key_max);
  put(out, query.filter.age_us_max);
  put(out, query.subject.required);
  put(out, query.subject.forbidden);
  put(out, query.lease_end_us);
  put(out, static_cast<std::uint8_t>(query.vote));
  put(out, query.regress);
  put(out, static_cast<std::uint32_t>(query.components.size()));
  put_bytes(out, query.components.data(), query.components.size() * sizeof(float));
}

}  // namespace

void encode(const EpochRecord& record, RecordBytes& out) {
  put(out, record.epoch);
}

void encode(const RunRecord& record, RecordBytes& out) {
  put(out, static_cast<std::uint32_t>(record.runs.size()));
  for (const protocol::Run& run : record.runs) {
    put(out, run.id);
    put(out, run.begun);
  }
}

void encode(const PrincipalRecord& record, RecordBytes& out) {
  put(out, record.principal);
  put_text(out, record.name);
}

void encode(const SessionOpenedRecord& record, RecordBytes& out) {
  put(out, record.session);
  put(out, record.principal);
  put(out, record.first_sequence);
  put(out, record.replaced);
}

void encode(const SessionEndedRecord& record, RecordBytes& out) {
  put(out, record.session);
}

void encode(const LeasesMovedRecord& record, RecordBytes& out) {
  put(out, record.duration_us);
}

void encode(const OutgrownRecord& record, RecordBytes& out) {
  put(out, record.tick);
  put_text(out, record.stream);
  put(out, static_cast<std::uint32_t>(record.ids.size()));
  put_bytes(out, record.ids.data(), record.ids.size() * sizeof(std::uint64_t));
}

void encode(const TickBegunRecord& record, RecordBytes& out) {
  put(out, record.tick);
  put(out, record.tau_us);
  put(out, record.session);
  put(out, record.sequence);
  put(out, record.body_hash);
}

void encode(const TickFinishedRecord& record, RecordBytes& out) {
  put(out, record.tick);
  put_text(out, record.error);
}

void encode(const PublishedRecord& record, RecordBytes& out) {
  put(out, record.tick);
  put(out, record.messages);
  put(out, record.hash);
}

void encode(const RequestNote& note, std::span<const std::byte> change, RecordBytes& out) {
  put(out, note.session);
  put(out, note.sequence);
  put(out, note.body_hash);
  put(out, note.principal);
  put(out, static_cast<std::uint32_t>(note.reply.size()));
  put_bytes(out, note.reply.data(), note.reply.size());
  if (change.empty())
    put(out, ChangeType::none);
  else
    put_bytes(out, change.data(), change.size());
}

void encode_change(const protocol::RowSet<ObjectUpdate>& set,
                   std::span<const UpdateStatus> statuses, RecordBytes& out) {
  put(out, ChangeType::objects);
  const std::size_t place = put_count_later(out);
  const std::size_t begin = out.size();
  out.resize(begin + statuses.size() * sizeof(PackedObject));
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (!is_kept(statuses[i])) continue;
    const ObjectUpdate& row = set.rows[i];
    const PackedObject packed{.id = to_number(row.id),
                              .time_us = row.time_us,
                              .x = row.position.x,
                              .y = row.position.y,
                              .z = row.position.z,
                              .tags = row.tags,
                              .flags = row.has_tags ? has_tags_bit : std::uint8_t{0}};
    std::memcpy(out.data() + begin + count++ * sizeof(packed), &packed, sizeof(packed));
  }
  out.resize(begin + count * sizeof(PackedObject));
  set_count(out, place, count);
}

void encode_change(const protocol::VectorRowSet& set, std::span<const UpdateStatus> statuses,
                   RecordBytes& out) {
  put(out, ChangeType::vectors);
  put(out, set.dimension);
  put_rows(out, statuses, [&](std::size_t i) {
    const VectorUpdate& row = set.rows[i];
    put(out, row.id);
    put(out, row.time_us);
    put(out, row.label);
    put(out, row.value);
    put(out, row.tags);
    put(out, static_cast<std::uint8_t>((row.has_tags ? has_tags_bit : 0) |
                                       (row.has_label ? has_label_bit : 0) |
                                       (row.has_value ? has_value_bit : 0)));
  });
  for (std::size_t i = 0; i < statuses.size(); ++i)
    if (is_kept(statuses[i]))
      put_bytes(out, set.components.data() + i * set.dimension, set.dimension * sizeof(float));
}

void encode_change(const protocol::RowSet<TagUpdate>& set, std::span<const UpdateStatus> statuses,
                   bool may_change_others, RecordBytes& out) {
  put(out, ChangeType::tags);
  put(out, static_cast<std::uint8_t>(may_change_others));
  put_rows(out, statuses, [&](std::size_t i) {
    put(out, set.rows[i].id);
    put(out, set.rows[i].time_us);
    put(out, set.rows[i].set);
    put(out, set.rows[i].clear);
  });
}

void encode_change(const protocol::RowSet<ObjectRemoval>& set,
                   std::span<const UpdateStatus> statuses, RecordBytes& out) {
  put(out, ChangeType::removals);
  put_rows(out, statuses, [&](std::size_t i) {
    put(out, set.rows[i].id);
    put(out, set.rows[i].time_us);
  });
}

void encode_change(std::string_view stream, const protocol::RowSet<QueryDefinition>& set,
                   std::span<const QueryStatus> statuses, RecordBytes& out) {
  put(out, ChangeType::queries);
  put_text(out, stream);
  put_rows(out, statuses, [&](std::size_t i) { put_query(out, set.rows[i]); });
}

void encode_change(const protocol::RemoveQueries& request, std::span<const RowReason> reasons,
                   RecordBytes& out) {
  put(out, ChangeType::query_removals);
  put_text(out, request.stream);
  const std::size_t place = put_count_later(out);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (reasons[i] != RowReason::none) continue;
    put(out, std::uint64_t{request.ids[i]});
    ++count;
  }
  set_count(out, place, count);
}

void encode_change(const protocol::PutNames& request, std::span<const RowReason> reasons,
                   RecordBytes& out) {
  put(out, ChangeType::names);
  const std::size_t place = put_count_later(out);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (reasons[i] != RowReason::none) continue;
    put(out, std::uint64_t{request.ids[i]});
    put_text(out, request.texts[i]);
    ++count;
  }
  set_count(out, place, count);
}

void encode_change(const protocol::PutStream& request, RecordBytes& out) {
  put(out, ChangeType::stream);
  put_text(out, request.name);
  put(out, request.on);
  put(out, static_cast<std::uint8_t>(request.with.distance));
  put(out, static_cast<std::uint8_t>(request.with.position));
  put(out, static_cast<std::uint8_t>(request.with.tags));
}

void encode_change(const protocol::RemoveStream& request, RecordBytes& out) {
  put(out, ChangeType::stream_removal);
  put_text(out, request.name);
}

bool is_of_stream(std::span<const std::byte> change) {
  if (change.empty()) return false;
  const auto type = static_cast<ChangeType>(change.front());
  return type == ChangeType::stream || type == ChangeType::stream_removal;
}

bool is_of_queries(std::span<const std::byte> change) {
  if (change.empty()) return false;
  const auto type = static_cast<ChangeType>(change.front());
  return type == ChangeType::queries || type == ChangeType::query_removals;
}

protocol::Frame frame_of(const SequencedReply& reply) {
  return std::visit(
      Overloaded{
          [](const protocol::ErrorReply& error) { return protocol::encode_error({}, error); },
          [](const protocol::BatchReply& batch) { return protocol::encode_batch_reply({}, batch); },
          [](const protocol::Done&) { return protocol::encode_done({}); },
          [](const protocol::TickDone& done) { return protocol::encode_tick_done({}, done); },
      },
      reply);
}

}  // namespace starling::stream
