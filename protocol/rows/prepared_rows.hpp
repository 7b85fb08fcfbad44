// SPDX-License-Identifier: Apache-2.0
// The rows of a batch after decoding, in the form that the tables take. A row that cannot be
// converted is left out, and the reason is noted. prepare.cpp and served_space.cpp make
// PreparedRows, mostly on decode workers. The families of requests apply them to the tables.
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

namespace starling::protocol {

template <class Row>
struct RowSet {
  std::vector<Row> rows;           ///< the rows that are not rejected, in the batch's order
  std::vector<RowReason> reasons;  ///< one for each row of the batch
  /// For each row of the batch: the index of the invalid component of its vector, or no_column.
  /// Empty if no row has an invalid component.
  std::vector<std::uint32_t> columns;

  /// Notes that a row is rejected. `row` is the row's index in the batch.
  void reject(std::size_t row, RowReason reason, std::uint32_t column = RejectedRow::no_column) {
    reasons[row] = reason;
    if (column == RejectedRow::no_column) return;
    columns.resize(reasons.size(), RejectedRow::no_column);
    columns[row] = column;
  }
};

struct VectorRowSet : RowSet<VectorUpdate> {
  std::uint32_t dimension = 1;
  std::vector<float> components;  ///< the vectors of `rows`, prepared for the metric

  VectorsView vectors() const { return {components, dimension}; }
};

/// std::monostate means that the request has no rows, or that its rows need no conversion.
using PreparedRows =
    std::variant<std::monostate, RowSet<ObjectUpdate>, VectorRowSet, RowSet<TagUpdate>,
                 RowSet<ObjectRemoval>, RowSet<QueryDefinition>>;

}  // namespace starling::protocol
