// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of the log's records: see record_codec.hpp and
// docs/decisions/0020-what-the-server-logs.md.
#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/journal/record_layout.hpp"

namespace starling::stream {
namespace {

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
  /// Reads the number of rows that follow. Refuses the record if it has fewer than `row_bytes`
  /// bytes for each row.
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

std::vector<std::uint64_t> get_ids(RecordReader& in) {
  std::vector<std::uint64_t> ids(in.count(sizeof(std::uint64_t)));
  in.get_bytes(ids.data(), ids.size() * sizeof(std::uint64_t));
  return ids;
}

QueryRemovalsChange get_query_removals(RecordReader& in) {
  QueryRemovalsChange change;
  change.stream = in.text();
  change.ids = get_ids(in);
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

RunRecord get_run(RecordReader& in) {
  RunRecord record;
  record.runs.resize(in.count(2 * sizeof(std::uint64_t)));
  if (record.runs.empty()) in.refuse();
  for (protocol::Run& run : record.runs) {
    run.id = in.get<std::uint64_t>();
    run.begun = in.get<std::uint64_t>();
  }
  return record;
}

OutgrownRecord get_outgrown(RecordReader& in) {
  OutgrownRecord record;
  record.tick = in.get<Tick>();
  record.stream = in.text();
  record.ids = get_ids(in);
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
  if (type == record_type::run) return get_run(in);
  if (type == record_type::principal) {
    const auto principal = in.get<std::uint32_t>();
    return PrincipalRecord{principal, in.text()};
  }
  if (type == record_type::session_opened) return get_session_opened(in);
  if (type == record_type::session_ended) return SessionEndedRecord{in.get<std::uint64_t>()};
  if (type == record_type::leases_moved) return LeasesMovedRecord{in.get<std::int64_t>()};
  if (type == record_type::outgrown) return get_outgrown(in);
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
  const bool is_known =
      (record_type::epoch <= record.type && record.type <= record_type::request) ||
      record.type == record_type::run || record.type == record_type::outgrown;
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
