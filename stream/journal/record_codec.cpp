// SPDX-License-Identifier: Apache-2.0
// Defines the bytes of the log's records: see record_codec.hpp and docs/decisions/0020-what-the-
// server-logs.md.
#include "starling/stream/journal/record_codec.hpp"

#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

enum class ChangeType : std::uint8_t {
  none = 0,
  objects = 1,
  vectors = 2,
  tags = 3,
  removals = 4,
  queries = 5,
  query_removals = 6,
  names = 7,
  stream = 8,
  stream_removal = 9,
};

constexpr std::uint8_t has_tags_bit = 1;
constexpr std::uint8_t has_label_bit = 2;
constexpr std::uint8_t has_value_bit = 4;

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

/// Returns where the count of rows that follow is written, when it is known.
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

/// Calls put_row(index) for each row that is kept, after their count.
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

/// An update of an object on 33 bytes.
#pragma pack(push, 1)
struct PackedObject {
  std::uint64_t id;
  std::int64_t time_us;
  std::int32_t x;
  std::int32_t y;
  std::int32_t z;
  std::uint32_t tags;
  std::uint8_t flags;
};
#pragma pack(pop)

class RecordReader {
 public:
  explicit RecordReader(const log::Record& record)
      : sequence_(record.sequence), rest_(record.payload) {}

  template <class Number>
  requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) Number get() {
    Number number{};
    get_bytes(&number, sizeof(number));
    return number;
  }
  bool get_bool() { return get<std::uint8_t>() != 0; }
  std::string text() {
    const auto bytes = span(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  LatticePoint point() {
    LatticePoint point;
    point.x = get<std::int32_t>();
    point.y = get<std::int32_t>();
    point.z = get<std::int32_t>();
    return point;
  }
  /// Returns a count of rows, each of which has at least `row_bytes`.
  std::uint32_t count(std::size_t row_bytes) {
    const auto rows = get<std::uint32_t>();
    if (rows > rest_.size() / row_bytes) refuse();
    return rows;
  }
  void get_bytes(void* out, std::size_t bytes) {
    const auto taken = span(bytes);
    if (bytes > 0) std::memcpy(out, taken.data(), bytes);
  }
  std::span<const std::byte> span(std::size_t bytes) {
    if (bytes > rest_.size()) refuse();
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  void end() const {
    if (!rest_.empty()) refuse();
  }
  [[noreturn]] void refuse() const {
    throw UnknownRecord("record " + std::to_string(sequence_) +
                        " of the log is whole, but this program cannot read it; start the program "
                        "that wrote it, or a later one");
  }

 private:
  std::uint64_t sequence_;
  std::span<const std::byte> rest_;
};

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
constexpr std::size_t query_bytes_least = 79;

QueryDefinition get_query(RecordReader& in) {
  QueryDefinition query;
  query.id = in.get<QueryId>();
  query.k = in.get<std::uint32_t>();
  query.anchor.kind = in.get<AnchorKind>();
  query.anchor.position = in.point();
  query.anchor.object = in.get<ObjectId>();
  query.filter.tags.required = in.get<std::uint32_t>();
  query.filter.tags.forbidden = in.get<std::uint32_t>();
  query.filter.key_max = in.get<RankKey>();
  query.filter.age_us_max = in.get<std::int64_t>();
  query.subject.required = in.get<std::uint32_t>();
  query.subject.forbidden = in.get<std::uint32_t>();
  query.lease_end_us = in.get<std::int64_t>();
  query.vote = in.get_bool();
  query.regress = in.get<RegressionWeights>();
  query.components.resize(in.count(sizeof(float)));
  in.get_bytes(query.components.data(), query.components.size() * sizeof(float));
  return query;
}

ObjectsChange get_objects(RecordReader& in) {
  ObjectsChange change;
  change.rows.resize(in.count(sizeof(PackedObject)));
  for (ObjectUpdate& row : change.rows) {
    PackedObject packed{};
    in.get_bytes(&packed, sizeof(packed));
    row = {.id = ObjectId{packed.id},
           .time_us = packed.time_us,
           .position = {packed.x, packed.y, packed.z},
           .tags = packed.tags,
           .has_tags = (packed.flags & has_tags_bit) != 0};
  }
  return change;
}

VectorsChange get_vectors(RecordReader& in) {
  constexpr std::size_t row_bytes = 37;
  VectorsChange change;
  change.dimension = in.get<std::uint32_t>();
  change.rows.resize(in.count(row_bytes));
  for (VectorUpdate& row : change.rows) {
    row.id = in.get<ObjectId>();
    row.time_us = in.get<std::int64_t>();
    row.label = in.get<Label>();
    row.value = in.get<double>();
    row.tags = in.get<std::uint32_t>();
    const auto flags = in.get<std::uint8_t>();
    row.has_tags = (flags & has_tags_bit) != 0;
    row.has_label = (flags & has_label_bit) != 0;
    row.has_value = (flags & has_value_bit) != 0;
  }
  const std::uint64_t floats = std::uint64_t{change.dimension} * change.rows.size();
  const auto bytes = in.span(floats * sizeof(float));
  change.components.resize(floats);
  if (!bytes.empty()) std::memcpy(change.components.data(), bytes.data(), bytes.size());
  return change;
}

TagsChange get_tags(RecordReader& in) {
  constexpr std::size_t row_bytes = 24;
  TagsChange change;
  change.may_change_others = in.get_bool();
  change.rows.resize(in.count(row_bytes));
  for (TagUpdate& row : change.rows) {
    row.id = in.get<ObjectId>();
    row.time_us = in.get<std::int64_t>();
    row.set = in.get<std::uint32_t>();
    row.clear = in.get<std::uint32_t>();
  }
  return change;
}

RemovalsChange get_removals(RecordReader& in) {
  constexpr std::size_t row_bytes = 16;
  RemovalsChange change;
  change.rows.resize(in.count(row_bytes));
  for (ObjectRemoval& row : change.rows) {
    row.id = in.get<ObjectId>();
    row.time_us = in.get<std::int64_t>();
  }
  return change;
}

QueriesChange get_queries(RecordReader& in) {
  QueriesChange change;
  change.stream = in.text();
  const std::uint32_t count = in.count(query_bytes_least);
  change.rows.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) change.rows.push_back(get_query(in));
  return change;
}

QueryRemovalsChange get_query_removals(RecordReader& in) {
  QueryRemovalsChange change;
  change.stream = in.text();
  change.ids.resize(in.count(sizeof(std::uint64_t)));
  in.get_bytes(change.ids.data(), change.ids.size() * sizeof(std::uint64_t));
  return change;
}

NamesChange get_names(RecordReader& in) {
  NamesChange change;
  const std::uint32_t count = in.count(sizeof(std::uint64_t) + sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    change.ids.push_back(in.get<std::uint64_t>());
    change.texts.push_back(in.text());
  }
  return change;
}

StreamChange get_stream(RecordReader& in) {
  StreamChange change;
  change.name = in.text();
  change.on = in.get<ReportOn>();
  change.with.distance = in.get_bool();
  change.with.position = in.get_bool();
  change.with.tags = in.get_bool();
  return change;
}

Change get_change(RecordReader& in) {
  switch (in.get<ChangeType>()) {
    case ChangeType::none:
      return std::monostate();
    case ChangeType::objects:
      return get_objects(in);
    case ChangeType::vectors:
      return get_vectors(in);
    case ChangeType::tags:
      return get_tags(in);
    case ChangeType::removals:
      return get_removals(in);
    case ChangeType::queries:
      return get_queries(in);
    case ChangeType::query_removals:
      return get_query_removals(in);
    case ChangeType::names:
      return get_names(in);
    case ChangeType::stream:
      return get_stream(in);
    case ChangeType::stream_removal:
      return StreamRemovalChange{in.text()};
  }
  in.refuse();
}

RequestRecord get_request(RecordReader& in) {
  RequestRecord record;
  record.session = in.get<std::uint64_t>();
  record.sequence = in.get<std::uint64_t>();
  record.body_hash = in.get<std::uint64_t>();
  record.principal = in.get<std::uint32_t>();
  auto reply = reply_in(in.span(in.get<std::uint32_t>()));
  if (!reply) in.refuse();
  record.reply = std::move(*reply);
  record.change = get_change(in);
  return record;
}

TickBegunRecord get_tick_begun(RecordReader& in) {
  TickBegunRecord record;
  record.tick = in.get<Tick>();
  record.tau_us = in.get<std::int64_t>();
  record.session = in.get<std::uint64_t>();
  record.sequence = in.get<std::uint64_t>();
  record.body_hash = in.get<std::uint64_t>();
  return record;
}

SessionOpenedRecord get_session_opened(RecordReader& in) {
  SessionOpenedRecord record;
  record.session = in.get<std::uint64_t>();
  record.principal = in.get<std::uint32_t>();
  record.first_sequence = in.get<std::uint64_t>();
  record.replaced = in.get<std::uint64_t>();
  return record;
}

JournalRecord get_record(log::RecordType type, RecordReader& in) {
  if (type == record_type::epoch) return EpochRecord{in.get<std::uint64_t>()};
  if (type == record_type::principal) {
    const auto principal = in.get<std::uint32_t>();
    return PrincipalRecord{principal, in.text()};
  }
  if (type == record_type::session_opened) return get_session_opened(in);
  if (type == record_type::session_ended) return SessionEndedRecord{in.get<std::uint64_t>()};
  if (type == record_type::leases_moved) return LeasesMovedRecord{in.get<std::int64_t>()};
  if (type == record_type::tick_begun) return get_tick_begun(in);
  if (type == record_type::tick_finished) {
    const auto tick = in.get<Tick>();
    return TickFinishedRecord{tick, in.text()};
  }
  if (type == record_type::published) {
    const auto tick = in.get<Tick>();
    const auto messages = in.get<std::uint32_t>();
    return PublishedRecord{tick, messages, in.get<std::uint64_t>()};
  }
  if (type == record_type::request) return get_request(in);
  in.refuse();
}

}  // namespace

void encode(const EpochRecord& record, RecordBytes& out) {
  put(out, record.epoch);
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

std::optional<SequencedReply> reply_in(std::span<const std::byte> frame) {
  protocol::DecodedReply decoded = protocol::decode_reply(protocol::AlignedBytes(frame));
  if (decoded.problem) return std::nullopt;
  if (auto* error = std::get_if<protocol::ErrorReply>(&decoded.body)) return std::move(*error);
  if (auto* batch = std::get_if<protocol::BatchReply>(&decoded.body)) return std::move(*batch);
  if (std::holds_alternative<protocol::Done>(decoded.body)) return protocol::Done{};
  if (auto* done = std::get_if<protocol::TickDone>(&decoded.body)) return *done;
  return std::nullopt;
}

void check_known(const log::Record& record) {
  const bool is_known = record_type::epoch <= record.type && record.type <= record_type::request;
  if (!is_known || record.version != record_version) RecordReader(record).refuse();
}

std::pair<std::uint64_t, std::uint64_t> request_of(const log::Record& record) {
  RecordReader in(record);
  const auto session = in.get<std::uint64_t>();
  return {session, in.get<std::uint64_t>()};
}

JournalRecord decode(const log::Record& record) {
  check_known(record);
  RecordReader in(record);
  JournalRecord decoded = get_record(record.type, in);
  in.end();
  return decoded;
}

}  // namespace starling::stream
