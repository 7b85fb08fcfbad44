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

/// Encodes a request. The frame must be shorter than 2 GiB, which is the limit of FlatBuffers. A
/// server's frame_bytes_max is lower than that.
Frame encode_request(const RequestHead& head, const RequestBody& body);

/// Replaces the session in an encoded request. A client needs this to resend a request to a server
/// that has forgotten the old session. The old session must not be 0.
void set_session(Frame& frame, std::uint64_t session);

struct DecodedRequest {
  RequestHead head{};  ///< what can be read of the head; zeros if the frame is not a request
  std::optional<Problem> problem{};
  /// True if the body's type is known and sequenced (see is_sequenced). It may be true even if
  /// there is a problem.
  bool sequenced = false;
  /// A hash of the frame without its request id and session, if the request is sequenced. A request
  /// that is sent again has the same hash.
  std::uint64_t hash = 0;
  RequestBody body{};  ///< points into the frame; do not use it if there is a problem
};

/// Decodes a request. Checks everything that does not depend on the server's state: structure,
/// version, lengths, limits, texts, k. Does not check the values of single rows, for example
/// whether a coordinate is NaN. The lattice and the tables check these values and reject bad rows.
DecodedRequest decode_request(const AlignedBytes& frame, const Limits& limits);

}  // namespace starling::protocol
