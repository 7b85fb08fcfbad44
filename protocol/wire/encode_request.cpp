// SPDX-License-Identifier: Apache-2.0
// Writes each request as a FlatBuffer of the table Request: see request_codec.hpp.
#include <cstddef>
#include <type_traits>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/wire/query_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<wire::Hello> add(FlatBufferBuilder& builder, const Hello& hello) {
  const auto client = add_text(builder, hello.client);
  const auto key = add_text(builder, hello.key);
  return wire::CreateHello(builder, client, key, hello.resume_session, hello.first_sequence);
}

Offset<wire::UpdateBatch> add(FlatBufferBuilder& builder, const UpdateBatch& batch) {
  const auto ids = add_array(builder, batch.ids);
  const auto times = add_array(builder, batch.times_us);
  const auto coordinates = add_array(builder, batch.coordinates);
  const auto coordinates_f32 = add_array(builder, batch.coordinates_f32);
  const auto tags = add_array(builder, batch.tags);
  const auto labels = add_array(builder, batch.labels);
  const auto values = add_array(builder, batch.values);
  const auto row_columns = add_array(builder, batch.row_columns);
  return wire::CreateUpdateBatch(builder, ids, times, batch.components, coordinates,
                                 coordinates_f32, tags, batch.dimension, labels, values,
                                 row_columns);
}

Offset<wire::UpdateTags> add(FlatBufferBuilder& builder, const UpdateTags& batch) {
  const auto ids = add_array(builder, batch.ids);
  const auto times = add_array(builder, batch.times_us);
  const auto set = add_array(builder, batch.set);
  const auto clear = add_array(builder, batch.clear);
  return wire::CreateUpdateTags(builder, ids, times, set, clear);
}

Offset<wire::RemoveObjects> add(FlatBufferBuilder& builder, const RemoveObjects& batch) {
  const auto ids = add_array(builder, batch.ids);
  const auto times = add_array(builder, batch.times_us);
  return wire::CreateRemoveObjects(builder, ids, times);
}

Offset<wire::PutNames> add(FlatBufferBuilder& builder, const PutNames& batch) {
  std::vector<Offset<flatbuffers::String>> texts;
  texts.reserve(batch.texts.size());
  for (const std::string_view text : batch.texts)
    texts.push_back(builder.CreateString(text.data(), text.size()));
  const auto ids = add_array(builder, batch.ids);
  return wire::CreatePutNames(builder, ids, builder.CreateVector(texts));
}

Offset<wire::PutStream> add(FlatBufferBuilder& builder, const PutStream& stream) {
  const auto name = add_text(builder, stream.name);
  return wire::CreatePutStream(builder, name, static_cast<wire::ReportOn>(stream.on),
                               stream.with.distance, stream.with.position, stream.with.tags);
}

Offset<wire::PutQueries> add(FlatBufferBuilder& builder, const PutQueries& batch) {
  const auto stream = add_text(builder, batch.stream);
  return wire::CreatePutQueries(builder, stream, add_queries(builder, batch.queries));
}

Offset<wire::RemoveQueries> add(FlatBufferBuilder& builder, const RemoveQueries& batch) {
  const auto stream = add_text(builder, batch.stream);
  return wire::CreateRemoveQueries(builder, stream, add_array(builder, batch.ids));
}

Offset<wire::GetSnapshot> add(FlatBufferBuilder& builder, const GetSnapshot& request) {
  const auto stream = add_text(builder, request.stream);
  return wire::CreateGetSnapshot(builder, stream, add_array(builder, request.query_ids),
                                 request.page);
}

Offset<wire::GetNeighbors> add(FlatBufferBuilder& builder, const GetNeighbors& request) {
  return wire::CreateGetNeighbors(builder, add_queries(builder, request.questions),
                                  request.at_us.has_value(), request.at_us.value_or(0));
}

Offset<wire::GetStats> add(FlatBufferBuilder& builder, const GetStats&) {
  return wire::CreateGetStats(builder);
}

Offset<wire::AdvanceTick> add(FlatBufferBuilder& builder, const AdvanceTick& request) {
  return wire::CreateAdvanceTick(builder, request.tau_us);
}

Offset<wire::ReportReceived> add(FlatBufferBuilder& builder, const ReportReceived& report) {
  const auto stream = add_text(builder, report.stream);
  return wire::CreateReportReceived(builder, stream, report.epoch, report.sequence, report.lost);
}

Offset<wire::GetNames> add(FlatBufferBuilder& builder, const GetNames& request) {
  return wire::CreateGetNames(builder, add_array(builder, request.object_ids));
}

Offset<wire::ListStreams> add(FlatBufferBuilder& builder, const ListStreams& request) {
  return wire::CreateListStreams(builder, request.page, request.rows_max);
}

Offset<wire::ListQueries> add(FlatBufferBuilder& builder, const ListQueries& request) {
  const auto stream = add_text(builder, request.stream);
  return wire::CreateListQueries(builder, stream, request.page, request.rows_max);
}

Offset<wire::RemoveStream> add(FlatBufferBuilder& builder, const RemoveStream& request) {
  return wire::CreateRemoveStream(builder, add_text(builder, request.name));
}

Offset<wire::GetObjects> add(FlatBufferBuilder& builder, const GetObjects& request) {
  const auto ids = add_array(builder, request.object_ids);
  const auto& [x_min, y_min, x_max, y_max] = request.rectangle.value_or(Rectangle{});
  const wire::Rectangle rectangle(x_min, y_min, x_max, y_max);
  return wire::CreateGetObjects(builder, ids, request.rectangle ? &rectangle : nullptr,
                                request.page, request.rows_max);
}

Offset<wire::EndSession> add(FlatBufferBuilder& builder, const EndSession&) {
  return wire::CreateEndSession(builder);
}

/// Returns the initial size of the builder's buffer. For an UpdateBatch, the buffer is then large
/// enough and does not grow. A buffer that has grown may be half empty, and the client keeps the
/// buffer until the reply comes.
template <class Body>
std::size_t bytes_expected(const Body& body) {
  constexpr std::size_t bytes_besides = 512;
  if constexpr (std::is_same_v<Body, UpdateBatch>) return bytes_besides + array_bytes(body);
  return bytes_besides;
}

template <class Table>
constexpr auto body_type_of(Offset<Table>) {
  return wire::RequestBodyTraits<Table>::enum_value;
}

}  // namespace

Frame encode_request(const RequestHead& head, const RequestBody& body) {
  return std::visit(
      [&](const auto& each) {
        FlatBufferBuilder builder(bytes_expected(each));
        const auto table = add(builder, each);
        builder.Finish(wire::CreateRequest(builder, protocol_version, head.request_id, head.session,
                                           head.sequence, body_type_of(table), table.Union()),
                       request_identifier);
        return Frame(builder.Release());
      },
      body);
}

void set_session(Frame& frame, std::uint64_t session) {
  auto* octets = reinterpret_cast<std::uint8_t*>(frame.mutable_bytes().data());
  auto* root = flatbuffers::GetMutableRoot<flatbuffers::Table>(octets);
  const bool is_set = root->SetField<std::uint64_t>(wire::Request::VT_SESSION, session, 0);
  check_invariant(is_set, "a request to resend has a session");
}

}  // namespace starling::protocol
