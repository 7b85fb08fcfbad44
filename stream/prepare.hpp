// SPDX-License-Identifier: Apache-2.0
// What a decode worker does to a request: verify, decode, take credit, convert rows to the space.
// Nothing here depends on the server's changing state; any thread may call it.
#pragma once

#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/prepared_rows.hpp"
#include "starling/stream/served_space.hpp"
#include "starling/stream/sockets/command_socket.hpp"
#include "starling/stream/state/credit_ledger.hpp"

namespace starling::stream {

struct PreparedRequest {
  ReceivedBytes received;
  protocol::AlignedBytes frame;
  protocol::DecodedRequest request;  ///< views into the frame
  PreparedRows rows;                 ///< of a batch of positions, tags, removals or queries
  std::vector<OneShotQuery>
      questions;  ///< of GetNeighbors; the slots of followed objects are unset
  Credit credit;  ///< taken from the session's, to be given back
};

/// Without memory for the request, or without a session of its number, its problem says so. Its
/// credit is still to be given back.
PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const ServedSpace& space, CreditLedger& ledger);

/// For a request of a session that does not exist, or not any more.
protocol::Problem unknown_session();

}  // namespace starling::stream
