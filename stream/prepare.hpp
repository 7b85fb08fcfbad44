// What a decode worker does to a request: verify, decode, take credit, convert rows to the space.
// Nothing here depends on the server's changing state; any thread may call it.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "knn/engine/engine.hpp"
#include "knn/tables/object_table.hpp"
#include "knn/words/query.hpp"
#include "protocol/wire/request_codec.hpp"
#include "stream/served_space.hpp"
#include "stream/sockets/command_socket.hpp"
#include "stream/state/credit_ledger.hpp"

namespace starling::stream {

/// A batch's rows in the space. `reasons` has one entry a row of the wire; `rows` holds those
/// whose reason is none, in order.
template <class Row>
struct RowSet {
  std::vector<Row> rows;
  std::vector<protocol::RowReason> reasons;
  /// Empty, or one a row of the wire: the component of a vector that was at fault.
  std::vector<std::uint32_t> columns;
};

struct VectorRowSet : RowSet<VectorUpdate> {
  std::vector<float> components;  ///< of `rows`, prepared
};

using PreparedRows =
    std::variant<std::monostate, RowSet<ObjectUpdate>, VectorRowSet, RowSet<TagUpdate>,
                 RowSet<ObjectRemoval>, RowSet<QueryDefinition>>;

struct PreparedRequest {
  ReceivedBytes received;
  protocol::AlignedBytes frame;
  protocol::DecodedRequest request;     ///< views into the frame
  PreparedRows rows;                    ///< of a batch of positions, tags, removals or queries
  std::vector<OneShotQuery> questions;  ///< of GetNeighbors; whom they follow is yet to be found
  Credit credit;                        ///< taken from the session's, to be given back
};

/// Where there is no memory for it, the request's problem says so; its credit is still to be given
/// back.
PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const ServedSpace& space, CreditLedger& ledger);

}  // namespace starling::stream
