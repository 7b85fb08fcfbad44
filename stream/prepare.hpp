// What a decode worker does to a request: verify, decode, take credit, convert rows to the lattice.
// Nothing here depends on the server's changing state; any thread may call it.
#pragma once

#include <variant>
#include <vector>

#include "knn/lattice.hpp"
#include "knn/object_table.hpp"
#include "knn/query.hpp"
#include "protocol/request_codec.hpp"
#include "stream/command_socket.hpp"
#include "stream/credit_ledger.hpp"

namespace starling::stream {

/// A batch's rows on the lattice. `reasons` has one entry a row of the wire; `rows` holds those
/// whose reason is none, in order.
template <class Row>
struct RowSet {
  std::vector<Row> rows;
  std::vector<protocol::RowReason> reasons;
};

using PreparedRows = std::variant<std::monostate, RowSet<ObjectUpdate>, RowSet<TagUpdate>,
                                  RowSet<ObjectRemoval>, RowSet<QueryDefinition>>;

struct PreparedRequest {
  ReceivedBytes received;
  protocol::AlignedBytes frame;
  protocol::DecodedRequest request;  ///< views into the frame
  PreparedRows rows;                 ///< of a batch of positions, tags, removals or queries
  Credit credit;                     ///< taken from the session's, to be given back
};

/// Where there is no memory for it, the request's problem says so; its credit is still to be given
/// back.
PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const Lattice& lattice, CreditLedger& ledger);

protocol::RowReason to_reason(PositionError error);

/// All but a fixed anchor's position, which may have no place on the lattice.
Filter to_filter(const protocol::QuerySpec& query, const Lattice& lattice);

}  // namespace starling::stream
