// SPDX-License-Identifier: Apache-2.0
// Decodes requests and refuses invalid ones: see request_codec.hpp. socket_codec.cpp decodes the
// requests that only a WebSocket carries.
#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#include <xxhash.h>

#include "starling/protocol/wire/check.hpp"
#include "starling/protocol/wire/query_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

using Refusal = std::optional<Problem>;

// A wire enum and its C++ enum have the same values; MAX is the last valid value.
static_assert(static_cast<int>(wire::Space::MAX) == static_cast<int>(Space::vector));
static_assert(static_cast<int>(wire::Metric::MAX) == static_cast<int>(all_metrics.back()));
static_assert(static_cast<int>(wire::ReportOn::MAX) == static_cast<int>(ReportOn::distance));
static_assert(static_cast<int>(wire::AnchorKind::MAX) ==
              static_cast<int>(AnchorKind::every_object));
static_assert(static_cast<int>(wire::RegressionWeights::MAX) ==
              static_cast<int>(RegressionWeights::distance));
static_assert(static_cast<int>(wire::ListEvent::MAX) == static_cast<int>(ListEvent::removed));
static_assert(static_cast<int>(wire::ErrorCode::MAX) == static_cast<int>(last_error_code));
static_assert(static_cast<int>(wire::RowReason::MAX) == static_cast<int>(last_row_reason));

ReachedLimit rows_max(const Limits& limits) {
  return {"rows-max", limits.rows_max};
}

ReachedLimit text_bytes_max(const Limits& limits) {
  return {"text-bytes-max", limits.text_bytes_max};
}

Refusal check_dimension(std::uint32_t dimension, const Limits& limits) {
  if (dimension == limits.dimension) return std::nullopt;
  return bad_value("The batch has rows of dimension " + std::to_string(dimension) +
                   "; this server's vectors are of dimension " + std::to_string(limits.dimension) +
                   ".");
}

/// Refuses a batch with fields that are allowed only in a vector space.
Refusal check_no_vectors(const UpdateBatch& batch, Space space) {
  if (batch.dimension != 0)
    return bad_value("The batch has rows of dimension " + std::to_string(batch.dimension) +
                     ", which only a server of vectors takes; this server's space is " +
                     std::string(to_string(space)) + ".");
  for (const auto& [name, size] :
       {std::pair("labels", batch.labels.size()), std::pair("values", batch.values.size())})
    if (size > 0)
      return bad_value("The batch has " + std::string(name) +
                       ", which only vectors have; this server's space is " +
                       std::string(to_string(space)) + ".");
  return std::nullopt;
}

/// Refuses a batch whose rows have a wrong number of components. In wgs84, rows may leave out the
/// altitude.
Refusal check_components(const UpdateBatch& batch, const Limits& limits) {
  const Space space = limits.space;
  if (space == Space::vector) return check_dimension(batch.dimension, limits);
  if (auto refusal = check_no_vectors(batch, space)) return refusal;
  const int components = batch.components;
  const bool fits = components == dimensions(space) || (space == Space::wgs84 && components == 2);
  if (fits) return std::nullopt;
  return bad_value("The batch has " + std::to_string(components) +
                   " components a row; this server's space is " + std::string(to_string(space)) +
                   ", which takes " + (space == Space::wgs84 ? "2 or " : "") +
                   std::to_string(dimensions(space)) + ".");
}

Refusal read(const wire::Hello& table, const Limits& limits, Hello& hello) {
  hello = {.client = to_view(table.client()),
           .key = to_view(table.key()),
           .resume_session = table.resume_session(),
           .first_sequence = table.first_sequence()};
  if (hello.first_sequence == 0) return bad_value("first_sequence is 0; numbers start at 1.");
  if (auto refusal = check_text("The client's name", hello.client, text_bytes_max(limits)))
    return refusal;
  if (hello.key.empty()) return std::nullopt;
  return check_text("The key", hello.key, text_bytes_max(limits));
}

Refusal read(const wire::UpdateBatch& table, const Limits& limits, UpdateBatch& batch) {
  if (auto refusal = check_alignment(table.ids(), table.times_us(), table.coordinates(),
                                     table.labels(), table.values()))
    return refusal;
  batch = {.ids = to_span(table.ids()),
           .times_us = to_span(table.times_us()),
           .components = table.components(),
           .coordinates = to_span(table.coordinates()),
           .coordinates_f32 = to_span(table.coordinates_f32()),
           .tags = to_span(table.tags()),
           .dimension = table.dimension(),
           .labels = to_span(table.labels()),
           .values = to_span(table.values()),
           .row_columns = to_span(table.row_columns())};
  const std::size_t rows = batch.ids.size();
  if (auto refusal = check_row_count("ids", rows, rows_max(limits))) return refusal;
  if (auto refusal = check_same_length("times_us", batch.times_us.size(), rows)) return refusal;
  if (auto refusal = check_components(batch, limits)) return refusal;
  if (auto refusal = check_coordinates(batch)) return refusal;
  return check_row_columns(batch);
}

Refusal read(const wire::UpdateTags& table, const Limits& limits, UpdateTags& batch) {
  if (auto refusal = check_alignment(table.ids(), table.times_us())) return refusal;
  batch = {.ids = to_span(table.ids()),
           .times_us = to_span(table.times_us()),
           .set = to_span(table.set()),
           .clear = to_span(table.clear())};
  const std::size_t rows = batch.ids.size();
  if (auto refusal = check_row_count("ids", rows, rows_max(limits))) return refusal;
  if (auto refusal = check_same_length("times_us", batch.times_us.size(), rows)) return refusal;
  if (auto refusal = check_same_length("set", batch.set.size(), rows)) return refusal;
  return check_same_length("clear", batch.clear.size(), rows);
}

Refusal read(const wire::RemoveObjects& table, const Limits& limits, RemoveObjects& batch) {
  if (auto refusal = check_alignment(table.ids(), table.times_us())) return refusal;
  batch = {.ids = to_span(table.ids()), .times_us = to_span(table.times_us())};
  if (auto refusal = check_row_count("ids", batch.ids.size(), rows_max(limits))) return refusal;
  return check_same_length("times_us", batch.times_us.size(), batch.ids.size());
}

Refusal read(const wire::PutNames& table, const Limits& limits, PutNames& batch) {
  if (auto refusal = check_alignment(table.ids())) return refusal;
  batch.ids = to_span(table.ids());
  const std::size_t text_count = table.texts() == nullptr ? 0 : table.texts()->size();
  if (auto refusal = check_row_count("ids", batch.ids.size(), rows_max(limits))) return refusal;
  if (auto refusal = check_same_length("texts", text_count, batch.ids.size())) return refusal;
  batch.texts.reserve(text_count);
  for (std::size_t row = 0; row < text_count; ++row) {
    const std::string_view text =
        to_view(table.texts()->Get(static_cast<flatbuffers::uoffset_t>(row)));
    if (auto refusal = check_text("The text", text, text_bytes_max(limits)))
      return in_row("Row", row, std::move(refusal));
    batch.texts.push_back(text);
  }
  return std::nullopt;
}

Refusal read(const wire::PutStream& table, const Limits& limits, PutStream& stream) {
  stream = {.name = to_view(table.name()),
            .on = static_cast<ReportOn>(table.on()),
            .with = {.distance = table.with_distance(),
                     .position = table.with_position(),
                     .tags = table.with_tags()}};
  if (table.on() > wire::ReportOn::MAX)
    return bad_value("on is neither membership (0), order (1) nor distance (2).");
  if (stream.with.position && limits.space == Space::vector)
    return bad_value("Lists do not carry vectors; leave with_position out.");
  return check_stream_name(stream.name);
}

/// Checks that a fixed anchor has a vector of the server's dimension in a vector space, and a
/// position in any other space. Refuses vectors, votes and means in a space that is not a vector
/// space.
Refusal check_place(const wire::Query& table, const Limits& limits) {
  const bool is_fixed = table.anchor() == wire::AnchorKind::fixed;
  const std::size_t components = to_span(table.vector()).size();
  if (limits.space == Space::vector) {
    if (!is_fixed || components == limits.dimension) return std::nullopt;
    return Problem{ErrorCode::array_mismatch,
                   "a fixed anchor's vector has " + std::to_string(components) +
                       " components; this server's vectors are of dimension " +
                       std::to_string(limits.dimension) + "."};
  }
  const std::string elsewhere =
      "; this server's space is " + std::string(to_string(limits.space)) + ".";
  if (components > 0) return bad_value("only a server of vectors takes a vector" + elsewhere);
  if (table.vote()) return bad_value("only a server of vectors has labels that vote" + elsewhere);
  if (table.regress() != wire::RegressionWeights::none)
    return bad_value("only a server of vectors has values to take the mean of" + elsewhere);
  if (is_fixed && table.position() == nullptr) return bad_value("a fixed anchor needs a position.");
  return std::nullopt;
}

Refusal read(const wire::Query& table, const Limits& limits, QuerySpec& query) {
  if (table.anchor() > wire::AnchorKind::MAX)
    return bad_value("anchor is neither fixed (0), follow (1) nor every_object (2).");
  if (table.regress() > wire::RegressionWeights::MAX)
    return bad_value("regress is neither none (0), uniform (1) nor distance (2).");
  if (auto refusal = check_place(table, limits)) return refusal;
  query = query_of(table);
  if (limits.space == Space::vector) query.position = {};
  return check_query(query, limits);
}

using QueryTables = flatbuffers::Vector<flatbuffers::Offset<wire::Query>>;

Refusal read(const QueryTables* tables, std::string_view what, const ReachedLimit& count_max,
             const Limits& limits, std::vector<QuerySpec>& queries) {
  if (tables == nullptr) return std::nullopt;
  if (auto refusal = check_row_count("queries", tables->size(), count_max)) return refusal;
  // In a frame, several query tables may share one array. Each decoded query gets a copy of its
  // array, so the frame's length does not limit the memory of the copies. This check does.
  std::uint64_t components = 0;
  for (const wire::Query* table : *tables)
    components += table->vector() == nullptr ? 0 : table->vector()->size();
  if (components > limits.frame_bytes_max / sizeof(float))
    return bad_value("The vectors of all queries have " + std::to_string(components) +
                     " components, more than a frame of " + std::to_string(limits.frame_bytes_max) +
                     " bytes (frame-bytes-max) holds; send fewer queries at a time, each with an "
                     "array of its own.");
  queries.resize(tables->size());
  for (flatbuffers::uoffset_t row = 0; row < tables->size(); ++row) {
    if (auto refusal = read(*tables->Get(row), limits, queries[row]))
      return in_row(what, row, std::move(refusal));
  }
  return std::nullopt;
}

Refusal read(const wire::PutQueries& table, const Limits& limits, PutQueries& batch) {
  batch.stream = to_view(table.stream());
  if (auto refusal = check_stream_name(batch.stream)) return refusal;
  return read(table.queries(), "Query", rows_max(limits), limits, batch.queries);
}

Refusal read(const wire::RemoveQueries& table, const Limits& limits, RemoveQueries& batch) {
  if (auto refusal = check_alignment(table.ids())) return refusal;
  batch = {.stream = to_view(table.stream()), .ids = to_span(table.ids())};
  if (auto refusal = check_stream_name(batch.stream)) return refusal;
  return check_row_count("ids", batch.ids.size(), rows_max(limits));
}

Refusal read(const wire::GetSnapshot& table, const Limits& limits, GetSnapshot& request) {
  if (auto refusal = check_alignment(table.query_ids())) return refusal;
  request = {.stream = to_view(table.stream()),
             .query_ids = to_span(table.query_ids()),
             .page = table.page()};
  if (auto refusal = check_stream_name(request.stream)) return refusal;
  return check_row_count("query_ids", request.query_ids.size(), rows_max(limits));
}

Refusal read(const wire::GetNeighbors& table, const Limits& limits, GetNeighbors& request) {
  if (auto refusal = read(table.questions(), "Question", {"questions-max", limits.questions_max},
                          limits, request.questions))
    return refusal;
  for (const QuerySpec& question : request.questions)
    if (question.anchor == AnchorKind::every_object)
      return bad_value("A one-shot question can't ask for every object; put a query instead.");
  if (table.has_at()) request.at_us = table.at_us();
  return std::nullopt;
}

Refusal read(const wire::GetStats&, const Limits&, GetStats&) {
  return std::nullopt;
}

Refusal read(const wire::AdvanceTick& table, const Limits&, AdvanceTick& request) {
  request.tau_us = table.tau_us();
  return check_tau(request.tau_us);
}

Refusal read(const wire::ReportReceived& table, const Limits&, ReportReceived& report) {
  report = {.stream = to_view(table.stream()),
            .epoch = table.epoch(),
            .sequence = table.sequence(),
            .lost = table.lost()};
  return check_stream_name(report.stream);
}

Refusal read(const wire::GetNames& table, const Limits& limits, GetNames& request) {
  if (auto refusal = check_alignment(table.object_ids())) return refusal;
  request.object_ids = to_span(table.object_ids());
  return check_row_count("object_ids", request.object_ids.size(),
                         {"names-asked-max", limits.names_asked_max});
}

Refusal check_page_rows(std::uint32_t rows, const Limits& limits) {
  const ReachedLimit limit{"page-rows-max", limits.page_rows_max};
  if (rows <= limit.value) return std::nullopt;
  return Problem{ErrorCode::too_many_rows,
                 "rows_max is " + std::to_string(rows) + "; a page has at most " +
                     to_string(limit) + " rows, so ask for fewer, and for the next page.",
                 limit};
}

Refusal read(const wire::ListStreams& table, const Limits& limits, ListStreams& request) {
  request = {.page = table.page(), .rows_max = table.rows_max()};
  return check_page_rows(request.rows_max, limits);
}

Refusal read(const wire::ListQueries& table, const Limits& limits, ListQueries& request) {
  request = {.stream = to_view(table.stream()), .page = table.page(), .rows_max = table.rows_max()};
  if (auto refusal = check_stream_name(request.stream)) return refusal;
  return check_page_rows(request.rows_max, limits);
}

Refusal read(const wire::RemoveStream& table, const Limits&, RemoveStream& request) {
  request.name = to_view(table.name());
  return check_stream_name(request.name);
}

Refusal read(const wire::GetObjects& table, const Limits& limits, GetObjects& request) {
  if (auto refusal = check_alignment(table.object_ids())) return refusal;
  request = {.object_ids = to_span(table.object_ids()),
             .rectangle = {},
             .page = table.page(),
             .rows_max = table.rows_max()};
  if (const wire::Rectangle* edges = table.rectangle())
    request.rectangle = {edges->x_min(), edges->y_min(), edges->x_max(), edges->y_max()};
  if (auto refusal = check_page_rows(request.rows_max, limits)) return refusal;
  if (request.rectangle && !request.object_ids.empty())
    return bad_value("The request has object_ids and a rectangle; send one of them.");
  if (request.rectangle) return check_rectangle(*request.rectangle, limits.space);
  if (request.page != 0)
    return bad_value("page is " + std::to_string(request.page) +
                     ", but objects by their ids have one page; leave page out.");
  return check_row_count("object_ids", request.object_ids.size(),
                         {"page-rows-max", limits.page_rows_max});
}

Refusal read(const wire::EndSession&, const Limits&, EndSession&) {
  return std::nullopt;
}

template <class Body, class Table>
Refusal read_as(const Table* table, const Limits& limits, DecodedRequest& request) {
  if (table == nullptr) return malformed("The request has a body type but no body.");
  auto& body = request.body.emplace<Body>();
  request.sequenced = is_sequenced(request.body);
  return read(*table, limits, body);
}

Refusal read_body(const wire::Request& root, const Limits& limits, DecodedRequest& request) {
  switch (root.body_type()) {
    case wire::RequestBody::Hello:
      return read_as<Hello>(root.body_as_Hello(), limits, request);
    case wire::RequestBody::UpdateBatch:
      return read_as<UpdateBatch>(root.body_as_UpdateBatch(), limits, request);
    case wire::RequestBody::UpdateTags:
      return read_as<UpdateTags>(root.body_as_UpdateTags(), limits, request);
    case wire::RequestBody::RemoveObjects:
      return read_as<RemoveObjects>(root.body_as_RemoveObjects(), limits, request);
    case wire::RequestBody::PutNames:
      return read_as<PutNames>(root.body_as_PutNames(), limits, request);
    case wire::RequestBody::PutStream:
      return read_as<PutStream>(root.body_as_PutStream(), limits, request);
    case wire::RequestBody::PutQueries:
      return read_as<PutQueries>(root.body_as_PutQueries(), limits, request);
    case wire::RequestBody::RemoveQueries:
      return read_as<RemoveQueries>(root.body_as_RemoveQueries(), limits, request);
    case wire::RequestBody::GetSnapshot:
      return read_as<GetSnapshot>(root.body_as_GetSnapshot(), limits, request);
    case wire::RequestBody::GetNeighbors:
      return read_as<GetNeighbors>(root.body_as_GetNeighbors(), limits, request);
    case wire::RequestBody::GetStats:
      return read_as<GetStats>(root.body_as_GetStats(), limits, request);
    case wire::RequestBody::AdvanceTick:
      return read_as<AdvanceTick>(root.body_as_AdvanceTick(), limits, request);
    case wire::RequestBody::ReportReceived:
      return read_as<ReportReceived>(root.body_as_ReportReceived(), limits, request);
    case wire::RequestBody::GetNames:
      return read_as<GetNames>(root.body_as_GetNames(), limits, request);
    case wire::RequestBody::ListStreams:
      return read_as<ListStreams>(root.body_as_ListStreams(), limits, request);
    case wire::RequestBody::ListQueries:
      return read_as<ListQueries>(root.body_as_ListQueries(), limits, request);
    case wire::RequestBody::RemoveStream:
      return read_as<RemoveStream>(root.body_as_RemoveStream(), limits, request);
    case wire::RequestBody::GetObjects:
      return read_as<GetObjects>(root.body_as_GetObjects(), limits, request);
    case wire::RequestBody::EndSession:
      return read_as<EndSession>(root.body_as_EndSession(), limits, request);
    case wire::RequestBody::NONE:
      break;
  }
  return Problem{ErrorCode::unknown_request,
                 "The request's body type " + std::to_string(static_cast<int>(root.body_type())) +
                     " is not one of protocol version " + std::to_string(protocol_version) + "."};
}

/// See DecodedRequest::hash. Skips the request id and the session, in whichever order the frame has
/// them. The frame must be verified.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  const auto& table = *flatbuffers::GetRoot<flatbuffers::Table>(bytes.data());
  const auto end_of = [&](flatbuffers::voffset_t field) {
    const auto* address = table.GetAddressOf(field);
    if (address == nullptr) return std::size_t{0};
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return static_cast<std::size_t>(address - first) + sizeof(std::uint64_t);
  };
  std::array ends{end_of(wire::Request::VT_REQUEST_ID), end_of(wire::Request::VT_SESSION)};
  std::ranges::sort(ends);
  std::uint64_t hash = 0;
  std::size_t at = 0;
  const auto add_until = [&](std::size_t end) {
    if (end > at) hash = XXH3_64bits_withSeed(&bytes[at], end - at, hash);
  };
  for (const std::size_t end : ends) {
    if (end == 0) continue;
    add_until(end - sizeof(std::uint64_t));
    at = end;
  }
  add_until(bytes.size());
  return hash;
}

/// In a frame, several entries of PutQueries may share one table, but each decoded query takes more
/// than ten times the bytes of a small table. This check runs before any memory is taken for the
/// decoded queries. A query with a table of its own, an id and a k takes at least `query_bytes_min`
/// bytes of the frame.
Refusal check_shared_tables(const wire::Request& root, std::size_t frame_bytes) {
  constexpr std::size_t query_bytes_min = 16;
  const auto* body = root.body_as_PutQueries();
  if (body == nullptr || body->queries() == nullptr) return std::nullopt;
  const std::size_t count = body->queries()->size();
  if (count <= frame_bytes / query_bytes_min) return std::nullopt;
  return malformed("The frame has " + std::to_string(frame_bytes) + " bytes, too few for its " +
                   std::to_string(count) +
                   " queries; send a table of its own, with id and k, for each query.");
}

}  // namespace

DecodedRequest decode_request(const AlignedBytes& frame, const Limits& limits) {
  DecodedRequest request;
  const auto bytes = frame.bytes();
  if (bytes.size() > limits.frame_bytes_max) {
    const ReachedLimit limit{"frame-bytes-max", limits.frame_bytes_max};
    request.problem = {ErrorCode::frame_too_large,
                       "The frame has " + std::to_string(bytes.size()) + " bytes; at most " +
                           to_string(limit) + " are allowed, so split it.",
                       limit};
    return request;
  }
  // Besides one table for each query or question, a request has only a few tables.
  const std::size_t tables_max = std::size_t{limits.rows_max} + limits.questions_max + 8;
  const auto* root = verified_root<wire::Request>(bytes, request_identifier, tables_max);
  if (root == nullptr) {
    request.problem = malformed(
        "The frame is not a FlatBuffer of the table Request with the file identifier STRQ, or it "
        "has far more queries than " +
        to_string(rows_max(limits)) + " allows.");
    return request;
  }
  if (root->version() != protocol_version) {
    request.problem = {ErrorCode::wrong_version, "The request is of protocol version " +
                                                     std::to_string(root->version()) +
                                                     "; this server speaks version " +
                                                     std::to_string(protocol_version) + "."};
    return request;
  }
  request.head = {root->request_id(), root->session(), root->sequence()};
  try {
    request.problem = check_shared_tables(*root, bytes.size());
    if (!request.problem) request.problem = read_body(*root, limits, request);
  } catch (const std::bad_alloc&) {
    request.problem = out_of_memory();  // caught here: the reply needs request.head
  }
  if (request.sequenced) request.hash = hash_of(bytes);
  return request;
}

}  // namespace starling::protocol
