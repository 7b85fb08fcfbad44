// SPDX-License-Identifier: Apache-2.0
// The space that a server serves. It converts between the wire and the tables: it rounds positions
// to the lattice, prepares vectors for the metric, and gives lists to the encoder. No other class
// of stream/ asks whether the space has positions or vectors. Decode workers, the encoder and the
// loop share one object, which never changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/prepared_rows.hpp"

namespace starling::stream {

/// Why a row, query or question has no place in the space.
struct PlaceFault {
  protocol::RowReason reason = protocol::RowReason::none;
  std::uint32_t column = protocol::RejectedRow::no_column;  ///< the component of a vector
  /// Part of a sentence: "its vector is refused: component 3 (from 0) is negative, ...".
  std::string sentence{};
};

class ServedSpace {
 public:
  /// Throws std::invalid_argument as Lattice does.
  explicit ServedSpace(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// "a row" or "a vector of dimension 128", for sentences.
  std::string row_text() const;
  /// The bytes of a row's vector on the wire and in the tables; 0 if rows have positions.
  std::uint64_t vector_bytes() const {
    return is_vector() ? options_.dimension * sizeof(float) : 0;
  }
  /// The number of vectors that fit in `bytes`; the largest std::uint64_t if rows have positions.
  std::uint64_t rows_that_fit(std::uint64_t bytes) const;

  /// Returns a RowSet<ObjectUpdate> on the lattice, or a VectorRowSet of prepared vectors.
  PreparedRows place(const protocol::UpdateBatch& batch) const;

  Filter to_filter(const protocol::QuerySpec& query) const;

  /// Sets the `position` or `components` of a fixed anchor. Returns std::nullopt, or why the anchor
  /// has no place in the space.
  std::optional<PlaceFault> place(const protocol::QuerySpec& query, LatticePoint& position,
                                  std::vector<float>& components) const;

  /// Returns a view of the lists, for encoding. The reports and this object must outlive the view.
  protocol::ListSource source_of(std::span<const QueryReport> reports,
                                 const ReportWith& with) const;

 private:
  bool is_vector() const { return options_.is_vector(); }

  SpaceOptions options_;
  std::optional<Lattice> lattice_;
};

protocol::RowReason to_reason(PositionError error);
protocol::RowReason to_reason(VectorFault::Reason reason);

}  // namespace starling::stream
