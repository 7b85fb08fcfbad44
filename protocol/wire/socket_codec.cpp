// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the messages that only a WebSocket carries: see socket_codec.hpp.
#include "starling/protocol/wire/socket_codec.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "starling/protocol/wire/check.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;

constexpr const char* socket_request_identifier = "STWS";
constexpr const char* view_tick_identifier = "STVT";
constexpr const char* view_raster_identifier = "STVR";
constexpr std::uint64_t least_bytes_per_s = 10'000;
constexpr std::uint32_t most_raster_side = 1024;

bool has_identifier(std::span<const std::byte> message, const char* identifier) {
  constexpr std::size_t at = 4;
  constexpr std::size_t size = 4;
  return message.size() >= at + size && std::memcmp(message.data() + at, identifier, size) == 0;
}

Problem bad_view(std::string sentence) {
  return {ErrorCode::bad_value, std::move(sentence)};
}

std::optional<Problem> check_area(const Rectangle& rectangle, Space space) {
  if (space == Space::vector)
    return bad_view(
        "A View shows objects on a map, and vectors have no place on one; this server's space is "
        "vector.");
  if (auto problem = check_rectangle(rectangle, space)) return problem;
  for (const double edge : {rectangle.x_min, rectangle.y_min, rectangle.x_max, rectangle.y_max})
    if (!std::isfinite(edge)) return bad_view("An edge of a View's rectangle is infinite.");
  const bool has_area = rectangle.x_min != rectangle.x_max && rectangle.y_min != rectangle.y_max &&
                        std::isfinite(rectangle.x_max - rectangle.x_min) &&
                        std::isfinite(rectangle.y_max - rectangle.y_min);
  if (has_area) return std::nullopt;
  return bad_view("The width and the height of a View's rectangle must be greater than 0.");
}

std::optional<Problem> check_view(const View& view, Space space) {
  constexpr float most_ticks_per_s = 1000;
  if (auto problem = check_area(view.rectangle, space)) return problem;
  if (!(view.ticks_per_s > 0 && view.ticks_per_s <= most_ticks_per_s))
    return bad_view("ticks_per_s of a View must be more than 0 and at most 1000.");
  if (view.bytes_per_s < least_bytes_per_s)
    return bad_view("bytes_per_s of a View must be at least " + std::to_string(least_bytes_per_s) +
                    ".");
  if (view.objects_max > View::most_objects)
    return bad_view("objects_max of a View must be at most " + std::to_string(View::most_objects) +
                    "; with more objects it gets rasters.");
  const std::uint32_t columns = view.raster_columns;
  const std::uint32_t rows = view.raster_rows;
  if (columns == 0 || rows == 0 || columns > most_raster_side || rows > most_raster_side ||
      columns * rows > View::most_cells)
    return bad_view("raster_columns and raster_rows of a View must be 1 to 1024, and at most " +
                    std::to_string(View::most_cells) + " multiplied.");
  return std::nullopt;
}

std::optional<Problem> read_body(const wire::SocketRequest& root, Space space, SocketBody& body) {
  // The verifier allows a type without a body.
  if (root.body_type() != wire::SocketBody::NONE && root.body() == nullptr)
    return Problem{ErrorCode::malformed, "The SocketRequest has a body type but no body."};
  switch (root.body_type()) {
    case wire::SocketBody::View: {
      const wire::View& table = *root.body_as_View();
      const wire::Rectangle* edges = table.rectangle();
      if (edges == nullptr) return bad_view("A View needs a rectangle.");
      View view{.rectangle = {edges->x_min(), edges->y_min(), edges->x_max(), edges->y_max()},
                .ticks_per_s = table.ticks_per_s(),
                .bytes_per_s = table.bytes_per_s(),
                .objects_max = table.objects_max(),
                .raster_columns = table.raster_columns(),
                .raster_rows = table.raster_rows()};
      body = view;
      return check_view(view, space);
    }
    case wire::SocketBody::EndView:
      body = EndView{};
      return std::nullopt;
    case wire::SocketBody::Follow:
      body = Follow{to_view(root.body_as_Follow()->stream())};
      return check_stream_name(to_view(root.body_as_Follow()->stream()));
    case wire::SocketBody::EndFollow:
      body = EndFollow{to_view(root.body_as_EndFollow()->stream())};
      return check_stream_name(to_view(root.body_as_EndFollow()->stream()));
    case wire::SocketBody::NONE:
      break;
  }
  return Problem{ErrorCode::unknown_request,
                 "The SocketRequest has no body, or one that this server does not know."};
}

template <class Table>
ViewHead head_of(const Table& table) {
  const wire::Rectangle* edges = table.rectangle();
  return {.view = table.view(),
          .number = table.number(),
          .epoch = table.epoch(),
          .tick = Tick{table.tick()},
          .tau_us = table.tau_us(),
          .rectangle = edges == nullptr ? Rectangle{}
                                        : Rectangle{edges->x_min(), edges->y_min(), edges->x_max(),
                                                    edges->y_max()},
          .object_count = table.object_count(),
          .in_view = table.in_view()};
}

wire::Rectangle to_wire(const Rectangle& rectangle) {
  return {rectangle.x_min, rectangle.y_min, rectangle.x_max, rectangle.y_max};
}

DecodedView read_tick(const wire::ViewTick& table) {
  DecodedView view{.head = head_of(table)};
  ViewChanges changes{.is_whole = table.is_whole(),
                      .left = to_span(table.left()),
                      .entered = to_span(table.entered()),
                      .entered_ids = to_span(table.entered_ids()),
                      .entered_xy = to_span(table.entered_xy()),
                      .entered_tags = to_span(table.entered_tags()),
                      .moved = to_span(table.moved()),
                      .moved_xy = to_span(table.moved_xy()),
                      .tagged = to_span(table.tagged()),
                      .tags = to_span(table.tags())};
  if (table.entered_names() != nullptr)
    for (const auto* name : *table.entered_names()) view.names.push_back(to_view(name));
  const std::size_t entered = changes.entered.size();
  const bool fits = changes.entered_ids.size() == entered &&
                    changes.entered_xy.size() == 2 * entered &&
                    changes.entered_tags.size() == entered &&
                    (view.names.empty() || view.names.size() == entered) &&
                    changes.moved_xy.size() == 2 * changes.moved.size() &&
                    changes.tags.size() == changes.tagged.size();
  if (!fits)
    view.problem = malformed("The arrays of a ViewTick do not fit together.");
  else
    view.problem = check_alignment(table.entered_ids());
  view.body = changes;
  return view;
}

DecodedView read_raster(const wire::ViewRaster& table) {
  DecodedView view{.head = head_of(table)};
  const ViewCells cells{
      .columns = table.columns(), .rows = table.rows(), .counts = to_span(table.counts())};
  if (cells.counts.size() != std::uint64_t{cells.columns} * cells.rows)
    view.problem = malformed("A ViewRaster has another number of counts than cells.");
  view.body = cells;
  return view;
}

}  // namespace

SocketMessageKind kind_of(std::span<const std::byte> message) {
  if (has_identifier(message, request_identifier)) return SocketMessageKind::request;
  if (has_identifier(message, socket_request_identifier)) return SocketMessageKind::socket_request;
  return SocketMessageKind::other;
}

DecodedSocketRequest decode_socket_request(const AlignedBytes& frame, Space space) {
  constexpr std::size_t tables_max = 2;
  DecodedSocketRequest request;
  const auto* root =
      verified_root<wire::SocketRequest>(frame.bytes(), socket_request_identifier, tables_max);
  if (root == nullptr) {
    request.problem = malformed(
        "The message is not a FlatBuffer of the table SocketRequest with the file identifier "
        "STWS.");
    return request;
  }
  request.request_id = root->request_id();
  if (root->version() != protocol_version)
    request.problem = {ErrorCode::wrong_version, "The request is of protocol version " +
                                                     std::to_string(root->version()) +
                                                     "; this server speaks version " +
                                                     std::to_string(protocol_version) + "."};
  else
    request.problem = read_body(*root, space, request.body);
  return request;
}

Frame encode_view_tick(const ViewHead& head, const ViewChanges& changes) {
  FlatBufferBuilder builder;
  const auto names = changes.entered_names.empty() ? 0 : add_texts(builder, changes.entered_names);
  const auto left = add_array(builder, changes.left);
  const auto entered = add_array(builder, changes.entered);
  const auto ids = add_array(builder, changes.entered_ids);
  const auto entered_xy = add_array(builder, changes.entered_xy);
  const auto entered_tags = add_array(builder, changes.entered_tags);
  const auto moved = add_array(builder, changes.moved);
  const auto moved_xy = add_array(builder, changes.moved_xy);
  const auto tagged = add_array(builder, changes.tagged);
  const auto tags = add_array(builder, changes.tags);
  const wire::Rectangle rectangle = to_wire(head.rectangle);
  builder.Finish(
      wire::CreateViewTick(builder, protocol_version, head.view, head.number, head.epoch,
                           to_number(head.tick), head.tau_us, &rectangle, head.object_count,
                           head.in_view, changes.is_whole, left, entered, ids, entered_xy,
                           entered_tags, names, moved, moved_xy, tagged, tags),
      view_tick_identifier);
  return Frame(builder.Release());
}

Frame encode_view_raster(const ViewHead& head, const ViewCells& cells) {
  FlatBufferBuilder builder;
  const auto counts = add_array(builder, cells.counts);
  const wire::Rectangle rectangle = to_wire(head.rectangle);
  builder.Finish(
      wire::CreateViewRaster(builder, protocol_version, head.view, head.number, head.epoch,
                             to_number(head.tick), head.tau_us, &rectangle, head.object_count,
                             head.in_view, cells.columns, cells.rows, counts),
      view_raster_identifier);
  return Frame(builder.Release());
}

Frame encode_socket_request(std::uint64_t request_id, const SocketBody& body) {
  FlatBufferBuilder builder;
  const auto finish = [&](wire::SocketBody type, flatbuffers::Offset<void> table) {
    builder.Finish(wire::CreateSocketRequest(builder, protocol_version, request_id, type, table),
                   socket_request_identifier);
  };
  if (const auto* view = std::get_if<View>(&body)) {
    const wire::Rectangle rectangle = to_wire(view->rectangle);
    finish(wire::SocketBody::View,
           wire::CreateView(builder, &rectangle, view->ticks_per_s, view->bytes_per_s,
                            view->objects_max, view->raster_columns, view->raster_rows)
               .Union());
  } else if (const auto* follow = std::get_if<Follow>(&body)) {
    const auto stream = add_text(builder, follow->stream);
    finish(wire::SocketBody::Follow, wire::CreateFollow(builder, stream).Union());
  } else if (const auto* end = std::get_if<EndFollow>(&body)) {
    const auto stream = add_text(builder, end->stream);
    finish(wire::SocketBody::EndFollow, wire::CreateEndFollow(builder, stream).Union());
  } else {
    finish(wire::SocketBody::EndView, wire::CreateEndView(builder).Union());
  }
  return Frame(builder.Release());
}

DecodedView decode_view(const AlignedBytes& frame) {
  constexpr std::size_t tables_max = 1;
  const bool is_tick = has_identifier(frame.bytes(), view_tick_identifier);
  if (is_tick) {
    if (const auto* table =
            verified_root<wire::ViewTick>(frame.bytes(), view_tick_identifier, tables_max))
      return read_tick(*table);
  } else if (const auto* table = verified_root<wire::ViewRaster>(
                 frame.bytes(), view_raster_identifier, tables_max)) {
    return read_raster(*table);
  }
  return {.problem = malformed("The message is neither a ViewTick nor a ViewRaster.")};
}

}  // namespace starling::protocol
