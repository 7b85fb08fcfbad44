// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes requests. The client encodes, the server decodes. These functions do no I/O,
// and any thread may call them.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// The message must be shorter than 2 GiB, the limit of FlatBuffers. A server's frame_bytes_max is
/// lower.
Frame encode_request(const RequestHead& head, const RequestBody& body);

/// Addresses an encoded request to another session, to resend the request to a server that has
/// forgotten the old session. The old session must not be 0.
void set_session(Frame& frame, std::uint64_t session);

struct DecodedRequest {
  RequestHead head{};  ///< as far as it can be read; zeros if the frame is not a request
  std::optional<Problem> problem{};
  bool sequenced = false;  ///< whether the body's type is sequenced, also if there is a problem
  RequestBody body{};      ///< points into the frame; not complete if there is a problem
};

/// Verifies everything about the request that does not depend on the server's state: structure,
/// version, lengths, limits, texts, k. Does not check the values of single rows, for example
/// whether a coordinate is NaN: the lattice and the tables do that and reject the row.
DecodedRequest decode_request(const AlignedBytes& frame, const Limits& limits);

}  // namespace starling::protocol
