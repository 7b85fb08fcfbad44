// SPDX-License-Identifier: Apache-2.0
// The space that a server serves, between the wire's numbers and the tables': positions go onto its
// lattice, vectors are prepared for its metric, and lists go back. Nothing else in stream/ knows
// whether the space is one of positions or of vectors. Decode workers, the encoder and the loop
// share one; it never changes.
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

/// Why a row has no place in the space.
struct PlaceFault {
  protocol::RowReason reason = protocol::RowReason::none;
  std::uint32_t column = protocol::RejectedRow::no_column;  ///< of a vector
  /// "its vector is refused: component 3 (from 0) is negative, ...".
  std::string sentence{};
};

class ServedSpace {
 public:
  /// Throws std::invalid_argument as Lattice does.
  explicit ServedSpace(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// "a row", or "a vector of dimension 128".
  std::string row_text() const;
  /// What a row's vector takes on the wire and in the tables; 0 where rows have positions.
  std::uint64_t vector_bytes() const {
    return is_vector() ? options_.dimension * sizeof(float) : 0;
  }
  /// The number of vectors that fit `bytes`; where rows have positions, as many as can be counted.
  std::uint64_t rows_that_fit(std::uint64_t bytes) const;

  /// Sets of ObjectUpdate on the lattice, or of prepared VectorUpdate.
  PreparedRows place(const protocol::UpdateBatch& batch) const;

  Filter to_filter(const protocol::QuerySpec& query) const;

  /// A fixed anchor's position or components; nothing, or why there is no place for it.
  std::optional<PlaceFault> place(const protocol::QuerySpec& query, LatticePoint& position,
                                  std::vector<float>& components) const;

  /// To be encoded. What it shows must live as long as it does.
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
