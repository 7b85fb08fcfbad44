// SPDX-License-Identifier: Apache-2.0
// The rows of a batch between the wire and the tables: the rows that have a place in the space, and
// for each other row the reason of its rejection. Decode workers make PreparedRows (see prepare.cpp
// and served_space.cpp), and RequestHandler applies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::stream {

template <class Row>
struct RowSet {
  std::vector<Row> rows;                     ///< the rows whose reason is none, in order
  std::vector<protocol::RowReason> reasons;  ///< one for each row of the batch; none: not rejected
  /// For each row of the batch: the component of its vector that is at fault, or no_column. Empty
  /// if no row has such a component.
  std::vector<std::uint32_t> columns;

  /// `row` is the row's index in the batch.
  void reject(std::size_t row, protocol::RowReason reason,
              std::uint32_t column = protocol::RejectedRow::no_column) {
    reasons[row] = reason;
    if (column == protocol::RejectedRow::no_column) return;
    columns.resize(reasons.size(), protocol::RejectedRow::no_column);
    columns[row] = column;
  }
};

struct VectorRowSet : RowSet<VectorUpdate> {
  std::uint32_t dimension = 1;
  std::vector<float> components;  ///< the vectors of `rows`, prepared for the metric

  VectorsView vectors() const { return {components, dimension}; }
};

/// monostate: the request has no rows, or its rows need no preparation.
using PreparedRows =
    std::variant<std::monostate, RowSet<ObjectUpdate>, VectorRowSet, RowSet<TagUpdate>,
                 RowSet<ObjectRemoval>, RowSet<QueryDefinition>>;

}  // namespace starling::stream
