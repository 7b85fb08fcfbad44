// SPDX-License-Identifier: Apache-2.0
// The space that a server serves. ServedSpace rounds the positions of requests to the lattice,
// prepares the vectors of requests for the metric, and makes the lists ready for encoding. Most of
// stream/ calls it instead of distinguishing positions from vectors. Decode workers, the encoder
// and the loop share one ServedSpace, which never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/rectangle.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// Why the position or vector of a row, query or question is invalid in the space.
struct PlaceFault {
  RowReason reason = RowReason::none;
  std::uint32_t column = RejectedRow::no_column;  ///< the invalid component
  /// A part of a sentence, such as "its vector is refused: component 3 (from 0) is negative, ...".
  std::string sentence{};
};

class ServedSpace {
 public:
  /// Throws std::invalid_argument if the space has positions and Lattice refuses the options.
  explicit ServedSpace(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// Returns words for an error message: "a row" or, for example, "a vector of dimension 128".
  std::string row_text() const;
  /// Returns the bytes of a row's vector on the wire and in the tables; 0 if rows have positions.
  std::uint64_t vector_bytes() const {
    return is_vector() ? options_.dimension * sizeof(float) : 0;
  }
  /// Returns the number of vectors that fit in `bytes`; the largest std::uint64_t if rows have
  /// positions.
  std::uint64_t rows_that_fit(std::uint64_t bytes) const;

  /// Converts the rows. Returns a RowSet<ObjectUpdate> with positions on the lattice, or a
  /// VectorRowSet with prepared vectors.
  PreparedRows place(const UpdateBatch& batch) const;

  Filter to_filter(const QuerySpec& query) const;

  /// Converts the fixed anchor of `query`: sets `position` or `components`. Returns std::nullopt,
  /// or why the anchor is invalid.
  std::optional<PlaceFault> place(const QuerySpec& query, LatticePoint& position,
                                  std::vector<float>& components) const;

  /// Returns the query in the form that clients receive: without its lease, and with the position
  /// or vector that the server uses.
  QuerySpec spec_of(const QueryDefinition& query) const;

  /// Returns the position of a lattice point as lists carry it; std::nullopt in a vector space.
  std::optional<Position> position_of(const LatticePoint& point) const;
  /// Do not call in a vector space. The result refers to this ServedSpace.
  LatticeRectangle on_lattice(const Rectangle& rectangle) const;
  /// Returns the number of objects that can be compared with a rectangle in about 0.3 ms.
  std::size_t objects_walked_max() const;

  /// Returns a view of the lists in `reports`, for encoding. `reports` and this ServedSpace must
  /// outlive the view.
  ListSource source_of(std::span<const QueryReport> reports, const ReportWith& with) const;

 private:
  bool is_vector() const { return options_.is_vector(); }
  double to_distance(const Filter& filter) const;

  SpaceOptions options_;
  std::optional<Lattice> lattice_;
};

RowReason to_reason(PositionError error);
RowReason to_reason(VectorFault::Reason reason);

}  // namespace starling::protocol
