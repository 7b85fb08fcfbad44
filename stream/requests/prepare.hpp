// SPDX-License-Identifier: Apache-2.0
// Prepares a request for the loop: verifies and decodes the frame, takes credit, and converts the
// rows to lattice positions or prepared vectors. Server calls prepare_request on a decode worker,
// or on the loop if the request is short. The function reads no state of the loop, so any thread
// may call it.
#pragma once

#include <memory>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/access/principal.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/peer.hpp"

namespace starling::stream {

struct PreparedRequest {
  std::shared_ptr<const Principal> principal;  ///< the sender; null: no longer in the keys file
  ReceivedBytes received;
  protocol::AlignedBytes frame;
  protocol::DecodedRequest request;     ///< decoded `frame`; points into it
  protocol::PreparedRows rows;          ///< rows of a batch of updates, tags, removals or queries
  std::vector<OneShotQuery> questions;  ///< questions of GetNeighbors; the loop sets `object` later
  Credit credit;                        ///< credit of the session, which must be given back
  std::int64_t decoded_us = 0;          ///< what its decoding has cost
  std::int64_t beside_us = 0;           ///< the same with its reading
};

/// Returns the prepared request. If the request must be refused, request.problem of the result says
/// why, for example that the principal lacks a right, that memory has run out, or that a batch's
/// session is unknown. Rows that the principal may not send are rejected (rights.hpp). The caller
/// must give `credit` of the result back in every case.
PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const protocol::ServedSpace& space, CreditLedger& ledger,
                                std::shared_ptr<const Principal> principal);

/// Returns the problem of a request whose session does not exist or has ended.
protocol::Problem unknown_session();

}  // namespace starling::stream
