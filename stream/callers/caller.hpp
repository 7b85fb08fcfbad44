// SPDX-License-Identifier: Apache-2.0
// The sender of a request. The functions that carry out and answer the request take it.
#pragma once

#include <memory>
#include <string_view>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/access/principal.hpp"
#include "starling/stream/state/peer.hpp"

namespace starling::stream {

/// The peer that sent a request and gets the reply, and the head of its request.
struct Caller {
  Peer peer;
  protocol::RequestHead head;
  /// The principal of the connection when the request came. Not null if the request is carried out.
  std::shared_ptr<const Principal> principal{};
  std::string_view request{};  ///< the request's name in the schema

  protocol::ReplyHead reply_head() const { return {head.request_id, head.sequence, 0}; }
};

}  // namespace starling::stream
