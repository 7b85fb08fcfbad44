// Requests to bytes and back. The client encodes, the server decodes; neither function does I/O,
// and any thread may call them.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// The message must stay below 2 GiB, FlatBuffers' limit; a server's frame_bytes_max is lower.
Frame encode_request(const RequestHead& head, const RequestBody& body);

/// Addresses an encoded request, whose session is not 0, to another one; for resends to a server
/// that has forgotten the first.
void set_session(Frame& frame, std::uint64_t session);

struct DecodedRequest {
  RequestHead head{};  ///< as far as it could be read: zeros if the frame is no request at all
  std::optional<Problem> problem{};
  bool sequenced = false;  ///< the body is of a sequenced kind, even if there is a problem
  RequestBody body{};      ///< views into the frame; unread if there is a problem
};

/// Verifies everything about the request that doesn't depend on the server's state: structure,
/// version, lengths, limits, texts, k. Numbers that concern one row alone, such as a coordinate
/// that is NaN, are left to the lattice and the tables, which reject that row.
DecodedRequest decode_request(const AlignedBytes& frame, const Limits& limits);

}  // namespace starling::protocol
