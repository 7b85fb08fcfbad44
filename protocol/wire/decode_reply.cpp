// SPDX-License-Identifier: Apache-2.0
// Decodes replies: see reply_codec.hpp. A client verifies everything that a server sends, just as a
// server verifies everything that a client sends.
#include <algorithm>
#include <cmath>
#include <string>

#include "starling/knn/base/times.hpp"
#include "starling/protocol/wire/check.hpp"
#include "starling/protocol/wire/query_codec.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

using Refusal = std::optional<Problem>;

// The most tables that a reply may have. Each counter, stream, query and reason of a rejection is a
// table.
constexpr std::size_t tables_max = 65'536;

// The most reasons in a BatchReply: RowReason is one byte.
constexpr std::size_t reasons_max = 256;

// Longer texts of a server are cut. A sentence and the name of a limit are printed, so they are
// readable.
constexpr std::size_t sentence_bytes_max = 2048;
constexpr std::size_t word_bytes_max = 255;

template <class Table>
ReachedLimit limit_of(const Table& table) {
  return {readable(to_view(table.limit()), word_bytes_max), table.limit_value()};
}

/// Adds up what a client copies. Many tables of a frame may share one text or vector, so the copies
/// could be many times as long as the frame.
class CopiedBytes {
 public:
  /// Returns true if all copies together are longer than a frame may be.
  bool exceed(std::size_t more) {
    bytes_ += more;
    return bytes_ > server_frame_bytes_max;
  }

 private:
  std::size_t bytes_ = 0;
};

Refusal check_time(std::int64_t time_us) {
  if (is_time(time_us)) return std::nullopt;
  return malformed("A time of the server is beyond +-2^61 microseconds.");
}

Refusal check_space(const wire::HelloReply& table) {
  if (table.space() == wire::Space::vector) return std::nullopt;
  const wire::Vec3 zero;
  const wire::Vec3& origin = table.origin() == nullptr ? zero : *table.origin();
  if (table.resolution_m() > 0 && std::isfinite(table.resolution_m()) &&
      std::isfinite(origin.x()) && std::isfinite(origin.y()) && std::isfinite(origin.z()))
    return std::nullopt;
  return malformed("The server's resolution is not a positive number, or its origin no position.");
}

/// A limit of 0 would let a client wait for ever for its turn.
Refusal check_limits(const wire::HelloReply& table) {
  if (table.frame_bytes_max() == 0 || table.rows_max() == 0 || table.credit_rows() == 0 ||
      table.credit_bytes() == 0 || table.unanswered_max() == 0 || table.k_max() == 0 ||
      table.questions_max() == 0 || table.text_bytes_max() == 0)
    return malformed("The server's limits allow no request: one of them is 0.");
  return std::nullopt;
}

Refusal read(const wire::Error& table, ErrorReply& reply) {
  reply = {.problem = {static_cast<ErrorCode>(table.code()),
                       readable(to_view(table.sentence()), sentence_bytes_max), limit_of(table)},
           .sequence_expected = table.sequence_expected()};
  return std::nullopt;
}

Refusal read(const wire::HelloReply& table, HelloReply& reply) {
  if (table.space() > wire::Space::MAX)
    return malformed("The server's space is not one of protocol version 1.");
  if (table.metric() > wire::Metric::MAX)
    return malformed("The server's metric is not one of protocol version 1.");
  if (table.space() == wire::Space::vector &&
      (table.dimension() < 1 || table.dimension() > dimension_max))
    return malformed("The dimension of the server's vectors is " +
                     std::to_string(table.dimension()) + ", which is not 1 to 4096.");
  if (table.session() == 0)
    return malformed("The server gives the session 0, which no session has.");
  if (auto refusal = check_space(table)) return refusal;
  if (auto refusal = check_limits(table)) return refusal;
  if (readable(to_view(table.server()), word_bytes_max) != to_view(table.server()) ||
      readable(to_view(table.results()), word_bytes_max) != to_view(table.results()))
    return malformed("The server's name or results endpoint is not one line of at most 255 bytes.");
  reply = {.session = table.session(),
           .resumed = table.resumed(),
           .last_sequence = table.last_sequence(),
           .epoch = table.epoch(),
           .server = to_view(table.server()),
           .space = {.space = static_cast<Space>(table.space()),
                     .resolution_m = table.resolution_m(),
                     .dimension = table.dimension(),
                     .metric = static_cast<Metric>(table.metric())},
           .manual_ticks = table.manual_ticks(),
           .limits = {.space = static_cast<Space>(table.space()),
                      .dimension = table.dimension(),
                      .metric = static_cast<Metric>(table.metric()),
                      .frame_bytes_max = table.frame_bytes_max(),
                      .rows_max = table.rows_max(),
                      .credit_rows = table.credit_rows(),
                      .credit_bytes = table.credit_bytes(),
                      .unanswered_max = table.unanswered_max(),
                      .k_max = table.k_max(),
                      .questions_max = table.questions_max(),
                      .text_bytes_max = table.text_bytes_max(),
                      .names_asked_max = table.names_asked_max(),
                      .page_rows_max = table.page_rows_max()},
           .session_idle_ms = table.session_idle_ms(),
           .runs = runs_of(table),
           .next_sequence = table.next_sequence(),
           .results = std::string(to_view(table.results()))};
  if (const wire::Vec3* origin = table.origin())
    reply.space.origin = {origin->x(), origin->y(), origin->z()};
  return std::nullopt;
}

Refusal read(const wire::BatchReply& table, BatchReply& reply) {
  reply.accepted = table.accepted();
  reply.late = table.late();
  reply.rejected = table.rejected();
  if (table.reasons() != nullptr && table.reasons()->size() > reasons_max)
    return malformed("A reply has more reasons than a batch can have.");
  if (table.reasons() != nullptr)
    for (const wire::ReasonCount* each : *table.reasons())
      reply.reasons.push_back(
          {static_cast<RowReason>(each->reason()), each->count(), limit_of(*each)});
  if (table.first_rejected() != nullptr &&
      table.first_rejected()->size() > rejected_rows_listed_max)
    return malformed("A reply lists more than 64 rejected rows.");
  if (table.first_rejected() != nullptr)
    for (const wire::RejectedRow* row : *table.first_rejected())
      reply.first_rejected.push_back({row->index(), static_cast<RowReason>(row->reason())});
  const auto columns = to_span(table.rejected_columns());
  if (columns.empty()) return std::nullopt;
  if (columns.size() != reply.first_rejected.size())
    return malformed("A reply's rejected_columns do not have one element for each listed row.");
  for (std::size_t row = 0; row < columns.size(); ++row)
    reply.first_rejected[row].column = columns[row];
  return std::nullopt;
}

Refusal read(const wire::Done& table, Done& reply) {
  reply.sequence = table.sequence();
  return std::nullopt;
}

Refusal read(const wire::SnapshotPage& table, SnapshotPage& reply) {
  reply.head = {.stream = to_view(table.stream()),
                .epoch = table.epoch(),
                .tick = Tick{table.tick()},
                .tau_us = table.tau_us(),
                .sequence = table.sequence(),
                .next_page = table.next_page(),
                .list_count = table.list_count(),
                .with = {.distance = table.with_distance(),
                         .position = table.with_position(),
                         .tags = table.with_tags()},
                .runs = runs_of(table),
                .place = table.place()};
  if (auto refusal = check_time(table.tau_us())) return refusal;
  if (auto refusal = read_lists(table.lists(), reply.lists)) return refusal;
  return check_columns(reply.head.with, reply.lists);
}

Refusal read(const wire::Neighbors& table, Neighbors& reply) {
  reply.head = {.epoch = table.epoch(), .tick = Tick{table.tick()}, .tau_us = table.tau_us()};
  if (auto refusal = check_time(table.tau_us())) return refusal;
  if (auto refusal = read_lists(table.lists(), reply.lists)) return refusal;
  reply.unknown = to_span(table.unknown());
  for (std::size_t i = 0; i < reply.unknown.size(); ++i) {
    const std::uint32_t list = reply.unknown[i];
    if ((i > 0 && list <= reply.unknown[i - 1]) || list >= reply.lists.list_count() ||
        reply.lists.neighbor_count(list) > 0)
      return malformed("A reply's `unknown` are not ascending indexes of empty lists.");
  }
  return std::nullopt;
}

Refusal read(const wire::Stats& table, Stats& reply) {
  if (table.counters() == nullptr) return std::nullopt;
  for (const wire::Counter* counter : *table.counters()) {
    const std::string_view name = to_view(counter->name());
    if (readable(name, word_bytes_max) != name)
      return malformed("The name of a counter is not one line of at most 255 bytes.");
    reply.counters.push_back({name, counter->value()});
  }
  return std::nullopt;
}

Refusal read(const wire::TickDone& table, TickDone& reply) {
  reply = {.tick = Tick{table.tick()},
           .tau_us = table.tau_us(),
           .object_count = table.object_count(),
           .list_count = table.list_count(),
           .removal_count = table.removal_count(),
           .build_ms = table.build_ms(),
           .search_ms = table.search_ms(),
           .diff_ms = table.diff_ms()};
  return check_time(table.tau_us());
}

Refusal read_names(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* table,
                   std::vector<std::string_view>& names) {
  if (table == nullptr) return std::nullopt;
  names.reserve(table->size());
  CopiedBytes copied;
  for (const flatbuffers::String* each : *table) {
    const std::string_view text = to_view(each);
    if (copied.exceed(text.size()))
      return malformed("The names of a reply are longer than a frame may be.");
    if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
      return malformed("A name from the server is not UTF-8 without NUL.");
    names.push_back(text);
  }
  return std::nullopt;
}

Refusal read(const wire::Names& table, Names& reply) {
  reply.epoch = table.epoch();
  reply.name_count = table.name_count();
  return read_names(table.texts(), reply.texts);
}

Refusal read(const wire::Streams& table, Streams& reply) {
  reply = {.epoch = table.epoch(),
           .next_page = table.next_page(),
           .stream_count = table.stream_count(),
           .streams = {}};
  if (table.streams() == nullptr) return std::nullopt;
  for (const wire::StreamInfo* each : *table.streams()) {
    if (each->on() > wire::ReportOn::MAX)
      return malformed("A stream's `on` is not one of protocol version 1.");
    if (check_stream_name(to_view(each->name())))
      return malformed("The name of a stream is not 1 to 255 bytes of UTF-8 without NUL.");
    reply.streams.push_back({.name = to_view(each->name()),
                             .on = static_cast<ReportOn>(each->on()),
                             .with = {.distance = each->with_distance(),
                                      .position = each->with_position(),
                                      .tags = each->with_tags()},
                             .query_count = each->query_count(),
                             .subscription_count = each->subscription_count(),
                             .sequence = each->sequence()});
  }
  return std::nullopt;
}

Refusal read(const wire::Queries& table, Queries& reply) {
  reply = {.epoch = table.epoch(),
           .next_page = table.next_page(),
           .query_count = table.query_count(),
           .queries = {}};
  if (table.queries() == nullptr) return std::nullopt;
  CopiedBytes copied;
  for (const wire::Query* each : *table.queries()) {
    if (each->anchor() > wire::AnchorKind::MAX || each->regress() > wire::RegressionWeights::MAX)
      return malformed("A query's anchor or regress is not one of protocol version 1.");
    if (copied.exceed(to_span(each->vector()).size_bytes()))
      return malformed("The vectors of a page of queries are longer than a frame may be.");
    reply.queries.push_back(query_of(*each));
  }
  return std::nullopt;
}

Refusal read(const wire::Objects& table, Objects& reply) {
  if (auto refusal =
          check_alignment(table.ids(), table.times_us(), table.positions(), table.missing_ids()))
    return refusal;
  reply = {.epoch = table.epoch(),
           .next_page = table.next_page(),
           .object_count = table.object_count(),
           .ids = to_span(table.ids()),
           .times_us = to_span(table.times_us()),
           .positions = to_span(table.positions()),
           .tags = to_span(table.tags()),
           .names = {},
           .missing_ids = to_span(table.missing_ids())};
  if (auto refusal = read_names(table.names(), reply.names)) return refusal;
  const std::size_t rows = reply.ids.size();
  const auto fits = [](std::size_t size, std::size_t wanted) {
    return size == 0 || size == wanted;
  };
  if (reply.times_us.size() != rows || reply.tags.size() != rows ||
      !fits(reply.positions.size(), 3 * rows) || !fits(reply.names.size(), rows))
    return malformed("The arrays of a page of objects do not have one element for each id.");
  if (!std::ranges::all_of(reply.times_us, is_time)) return check_time(time_us_limit + 1);
  if (!std::ranges::all_of(reply.positions, [](double number) { return std::isfinite(number); }))
    return malformed("A position of an object is not a number.");
  return std::nullopt;
}

template <class Body, class Table>
Refusal read_as(const Table* table, ReplyBody& body) {
  if (table == nullptr) return malformed("The reply has a body type but no body.");
  return read(*table, body.emplace<Body>());
}

Refusal read_body(const wire::Reply& root, ReplyBody& body) {
  switch (root.body_type()) {
    case wire::ReplyBody::Error:
      return read_as<ErrorReply>(root.body_as_Error(), body);
    case wire::ReplyBody::HelloReply:
      return read_as<HelloReply>(root.body_as_HelloReply(), body);
    case wire::ReplyBody::BatchReply:
      return read_as<BatchReply>(root.body_as_BatchReply(), body);
    case wire::ReplyBody::Done:
      return read_as<Done>(root.body_as_Done(), body);
    case wire::ReplyBody::SnapshotPage:
      return read_as<SnapshotPage>(root.body_as_SnapshotPage(), body);
    case wire::ReplyBody::Neighbors:
      return read_as<Neighbors>(root.body_as_Neighbors(), body);
    case wire::ReplyBody::Stats:
      return read_as<Stats>(root.body_as_Stats(), body);
    case wire::ReplyBody::TickDone:
      return read_as<TickDone>(root.body_as_TickDone(), body);
    case wire::ReplyBody::Names:
      return read_as<Names>(root.body_as_Names(), body);
    case wire::ReplyBody::Streams:
      return read_as<Streams>(root.body_as_Streams(), body);
    case wire::ReplyBody::Queries:
      return read_as<Queries>(root.body_as_Queries(), body);
    case wire::ReplyBody::Objects:
      return read_as<Objects>(root.body_as_Objects(), body);
    case wire::ReplyBody::NONE:
      break;
  }
  return malformed("The reply's body type is not one of protocol version 1.");
}

}  // namespace

DecodedReply decode_reply(const AlignedBytes& frame) {
  DecodedReply reply;
  const auto* root = verified_root<wire::Reply>(frame.bytes(), reply_identifier, tables_max);
  if (root == nullptr) {
    reply.problem = malformed(
        "The frame is not a FlatBuffer of the table Reply with the file identifier STRP.");
    return reply;
  }
  if (root->version() != protocol_version) {
    reply.problem = {ErrorCode::wrong_version,
                     "The reply is of protocol version " + std::to_string(root->version()) +
                         "; this client speaks version " + std::to_string(protocol_version) + "."};
    return reply;
  }
  reply.head = {root->request_id(), root->sequence(), root->place()};
  reply.problem = read_body(*root, reply.body);
  if (reply.problem) reply.body = {};
  return reply;
}

}  // namespace starling::protocol
