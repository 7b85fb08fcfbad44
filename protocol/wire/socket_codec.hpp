// SPDX-License-Identifier: Apache-2.0
// The messages that only a WebSocket carries: requests about the socket itself, which the server
// decodes, and the contents of a view, which the server encodes. protocol/README.md describes all
// of them for clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "starling/knn/words/rectangle.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"

namespace starling::protocol {

/// Asks for the objects in a rectangle, or for a raster of their counts if there are too many.
struct View {
  static constexpr std::uint32_t most_objects = 200'000;
  static constexpr std::uint32_t most_cells = 1u << 18;

  Rectangle rectangle{};
  float ticks_per_s = 10;
  std::uint64_t bytes_per_s = 8'000'000;
  std::uint32_t objects_max = 50'000;
  std::uint16_t raster_columns = 256;
  std::uint16_t raster_rows = 256;
};

struct EndView {};
struct Follow {
  std::string_view stream{};
};
struct EndFollow {
  std::string_view stream{};
};

using SocketBody = std::variant<View, EndView, Follow, EndFollow>;

struct DecodedSocketRequest {
  std::uint64_t request_id = 0;  ///< 0: the frame is not a SocketRequest
  std::optional<Problem> problem{};
  SocketBody body{};  ///< points into the frame; do not use it if there is a problem
};

/// The table of a client's message: Request, SocketRequest or another. kind_of() reads it from the
/// file identifier.
enum class SocketMessageKind : std::uint8_t { other, request, socket_request };
SocketMessageKind kind_of(std::span<const std::byte> message);

/// Decodes a request about the socket, and checks all that does not depend on the server's state.
DecodedSocketRequest decode_socket_request(const AlignedBytes& frame, Space space);

/// The fields that ViewTick and ViewRaster have in common.
struct ViewHead {
  std::uint64_t view = 0;    ///< the request id of the View
  std::uint64_t number = 0;  ///< number of the message in its view, counted from 1
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  Rectangle rectangle{};
  std::uint64_t object_count = 0;
  std::uint64_t in_view = 0;
};

/// What has changed in the view since its last message. Spans whose names end in _xy have two
/// numbers for each slot.
struct ViewChanges {
  bool is_whole = false;
  std::span<const Slot> left{};
  std::span<const Slot> entered{};
  std::span<const std::uint64_t> entered_ids{};
  std::span<const std::uint16_t> entered_xy{};
  std::span<const std::uint32_t> entered_tags{};
  std::span<const std::string_view> entered_names{};  ///< empty: no object has a name
  std::span<const Slot> moved{};
  std::span<const std::uint16_t> moved_xy{};
  std::span<const Slot> tagged{};
  std::span<const std::uint32_t> tags{};
};

struct ViewCells {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  std::span<const std::uint32_t> counts{};
};

Frame encode_view_tick(const ViewHead& head, const ViewChanges& changes);
Frame encode_view_raster(const ViewHead& head, const ViewCells& cells);

// Tests and benchmarks call the functions below, as clients.

Frame encode_socket_request(std::uint64_t request_id, const SocketBody& body);

struct DecodedView {
  std::optional<Problem> problem{};
  ViewHead head{};
  std::variant<ViewChanges, ViewCells> body{};  ///< points into the frame; holds no names
  std::vector<std::string_view> names{};        ///< names of the entered objects; may be empty
};

/// Decodes a ViewTick or a ViewRaster.
DecodedView decode_view(const AlignedBytes& frame);

}  // namespace starling::protocol
