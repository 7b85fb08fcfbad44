// SPDX-License-Identifier: Apache-2.0
// Prepares a request for the loop: verifies and decodes the frame, takes credit, and converts the
// rows to the space. Server calls prepare_request on a decode worker, or on the loop for a short
// request. The function reads no state of the loop, so any thread may call it.
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
  protocol::DecodedRequest request;     ///< views into the frame
  PreparedRows rows;                    ///< of a batch of updates, tags, removals or queries
  std::vector<OneShotQuery> questions;  ///< of GetNeighbors; the loop sets the followed objects
  Credit credit;                        ///< taken from the session; the loop gives it back
};

/// The result's request.problem says what is wrong with the request, including a lack of memory and
/// an unknown session. The caller gives the credit back in every case.
PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const ServedSpace& space, CreditLedger& ledger);

/// The refusal of a request whose session does not exist, or has ended.
protocol::Problem unknown_session();

}  // namespace starling::stream
