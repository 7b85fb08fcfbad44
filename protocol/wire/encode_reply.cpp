// SPDX-License-Identifier: Apache-2.0
// Writes each reply as a FlatBuffer of the table Reply: see reply_codec.hpp.
#include <algorithm>
#include <vector>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/wire/query_codec.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// An upper bound of the bytes that a SnapshotPage or Neighbors reply has besides its ListChunk.
constexpr std::size_t head_bytes = 1024;

template <class Table>
Frame finish(FlatBufferBuilder& builder, const ReplyHead& head, Offset<Table> body) {
  builder.Finish(
      wire::CreateReply(builder, protocol_version, head.request_id, head.sequence,
                        wire::ReplyBodyTraits<Table>::enum_value, body.Union(), head.place),
      reply_identifier);
  return Frame(builder.Release());
}

}  // namespace

Frame encode_error(const ReplyHead& head, const ErrorReply& reply) {
  FlatBufferBuilder builder;
  const auto sentence = add_text(builder, reply.problem.sentence);
  const auto limit = add_text(builder, reply.problem.limit.name);
  return finish(
      builder, head,
      wire::CreateError(builder, static_cast<wire::ErrorCode>(reply.problem.code), sentence,
                        reply.sequence_expected, limit, reply.problem.limit.value));
}

Frame encode_hello_reply(const ReplyHead& head, const HelloReply& reply) {
  FlatBufferBuilder builder;
  const auto server = add_text(builder, reply.server);
  const Position& origin = reply.space.origin;
  const wire::Vec3 origin_wire(origin[0], origin[1], origin[2]);
  const Limits& limits = reply.limits;
  const auto runs_at = add_runs(builder, reply.runs);
  const auto results = add_text(builder, reply.results);
  return finish(
      builder, head,
      wire::CreateHelloReply(
          builder, reply.session, reply.resumed, reply.last_sequence, reply.epoch, server,
          static_cast<wire::Space>(reply.space.space), reply.space.resolution_m, &origin_wire,
          reply.manual_ticks, limits.frame_bytes_max, limits.rows_max, limits.credit_rows,
          limits.credit_bytes, limits.k_max, limits.questions_max, limits.text_bytes_max,
          reply.session_idle_ms, limits.unanswered_max, limits.names_asked_max, limits.dimension,
          static_cast<wire::Metric>(limits.metric), limits.page_rows_max, runs_at,
          reply.next_sequence, results));
}

Frame encode_batch_reply(const ReplyHead& head, const BatchReply& reply) {
  check_invariant(reply.first_rejected.size() <= rejected_rows_listed_max,
                  "a reply lists a bounded number of rejected rows");
  FlatBufferBuilder builder;
  std::vector<Offset<wire::ReasonCount>> reasons;
  reasons.reserve(reply.reasons.size());
  for (const ReasonCount& each : reply.reasons) {
    const auto limit = add_text(builder, each.limit.name);
    reasons.push_back(wire::CreateReasonCount(builder, static_cast<wire::RowReason>(each.reason),
                                              each.count, limit, each.limit.value));
  }
  std::vector<wire::RejectedRow> rows;
  rows.reserve(reply.first_rejected.size());
  for (const RejectedRow& row : reply.first_rejected)
    rows.emplace_back(row.index, static_cast<wire::RowReason>(row.reason));
  std::vector<std::uint32_t> columns;
  if (std::ranges::any_of(reply.first_rejected, [](const RejectedRow& row) {
        return row.column != RejectedRow::no_column;
      }))
    for (const RejectedRow& row : reply.first_rejected) columns.push_back(row.column);
  const auto reasons_at = builder.CreateVector(reasons);
  const auto rows_at = builder.CreateVectorOfStructs(rows);
  const auto columns_at = add_array(builder, std::span<const std::uint32_t>(columns));
  return finish(builder, head,
                wire::CreateBatchReply(builder, reply.accepted, reply.late, reply.rejected,
                                       reasons_at, rows_at, columns_at));
}

Frame encode_done(const ReplyHead& head, const Done& reply) {
  FlatBufferBuilder builder;
  return finish(builder, head, wire::CreateDone(builder, reply.sequence));
}

Frame encode_stats(const ReplyHead& head, const Stats& reply) {
  FlatBufferBuilder builder;
  std::vector<Offset<wire::Counter>> counters;
  for (const Counter& counter : reply.counters) {
    const auto name = add_text(builder, counter.name);
    counters.push_back(wire::CreateCounter(builder, name, counter.value));
  }
  return finish(builder, head, wire::CreateStats(builder, builder.CreateVector(counters)));
}

Frame encode_tick_done(const ReplyHead& head, const TickDone& reply) {
  FlatBufferBuilder builder;
  return finish(builder, head,
                wire::CreateTickDone(builder, to_number(reply.tick), reply.tau_us,
                                     reply.object_count, reply.list_count, reply.removal_count,
                                     reply.build_ms, reply.search_ms, reply.diff_ms));
}

Frame encode_names(const ReplyHead& head, const Names& reply) {
  FlatBufferBuilder builder;
  const auto texts_at = add_texts(builder, reply.texts);
  return finish(builder, head, wire::CreateNames(builder, reply.epoch, reply.name_count, texts_at));
}

Frame encode_streams(const ReplyHead& head, const Streams& reply) {
  FlatBufferBuilder builder;
  std::vector<Offset<wire::StreamInfo>> streams;
  streams.reserve(reply.streams.size());
  for (const StreamInfo& stream : reply.streams) {
    const auto name = add_text(builder, stream.name);
    streams.push_back(wire::CreateStreamInfo(builder, name, static_cast<wire::ReportOn>(stream.on),
                                             stream.with.distance, stream.with.position,
                                             stream.with.tags, stream.query_count,
                                             stream.subscription_count, stream.sequence));
  }
  const auto streams_at = builder.CreateVector(streams);
  return finish(
      builder, head,
      wire::CreateStreams(builder, reply.epoch, reply.next_page, reply.stream_count, streams_at));
}

Frame encode_queries(const ReplyHead& head, const Queries& reply) {
  FlatBufferBuilder builder;
  const auto queries = add_queries(builder, reply.queries);
  return finish(
      builder, head,
      wire::CreateQueries(builder, reply.epoch, reply.next_page, reply.query_count, queries));
}

Frame encode_objects(const ReplyHead& head, const Objects& reply) {
  FlatBufferBuilder builder;
  const auto ids = add_array(builder, reply.ids);
  const auto times_us = add_array(builder, reply.times_us);
  const auto positions = add_array(builder, reply.positions);
  const auto tags = add_array(builder, reply.tags);
  const auto names = reply.names.empty() ? 0 : add_texts(builder, reply.names);
  const auto missing_ids = add_array(builder, reply.missing_ids);
  return finish(builder, head,
                wire::CreateObjects(builder, reply.epoch, reply.next_page, reply.object_count, ids,
                                    times_us, positions, tags, names, missing_ids));
}

Frame encode_snapshot_page(const ReplyHead& head, const SnapshotHead& page,
                           const ListSource& lists) {
  FlatBufferBuilder builder(chunk_bytes(lists) + head_bytes);
  const ReportWith with = carried_columns(lists);
  const auto chunk = add_lists(builder, lists);
  const auto stream = add_text(builder, page.stream);
  const auto runs_at = add_runs(builder, page.runs);
  return finish(
      builder, head,
      wire::CreateSnapshotPage(builder, stream, page.epoch, to_number(page.tick), page.tau_us,
                               page.sequence, page.next_page, page.list_count, chunk, with.distance,
                               with.position, with.tags, runs_at, page.place));
}

Frame encode_neighbors(const ReplyHead& head, const NeighborsHead& answer, const ListSource& lists,
                       std::span<const std::uint32_t> unknown) {
  FlatBufferBuilder builder(chunk_bytes(lists) + unknown.size_bytes() + head_bytes);
  const auto chunk = add_lists(builder, lists);
  const auto unknown_at = add_array(builder, unknown);
  return finish(builder, head,
                wire::CreateNeighbors(builder, answer.epoch, to_number(answer.tick), answer.tau_us,
                                      chunk, unknown_at));
}

void set_place(Frame& frame, std::uint64_t place) {
  auto* octets = reinterpret_cast<std::uint8_t*>(frame.mutable_bytes().data());
  auto* root = flatbuffers::GetMutableRoot<flatbuffers::Table>(octets);
  const bool is_set = root->SetField<std::uint64_t>(wire::Reply::VT_PLACE, place, 0);
  check_invariant(is_set, "a reply whose place is set has one");
}

}  // namespace starling::protocol
