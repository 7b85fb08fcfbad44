// The space that a server serves, between the wire's numbers and the tables': positions go onto its
// lattice, vectors are prepared for its metric, and lists go back. Decode workers, the encoder and
// the loop share one; it never changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "knn/tables/processor.hpp"
#include "knn/words/filter.hpp"
#include "knn/words/lattice.hpp"
#include "knn/words/metric.hpp"
#include "knn/words/query.hpp"
#include "protocol/wire/errors.hpp"
#include "protocol/wire/list_chunk.hpp"
#include "protocol/wire/messages.hpp"

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
  bool is_vector() const { return options_.is_vector(); }
  /// Not of vectors.
  const Lattice& lattice() const { return *lattice_; }

  Filter to_filter(const protocol::QuerySpec& query) const;

  /// A fixed anchor's position or components; nothing, or why there is no place for it.
  std::optional<PlaceFault> place(const protocol::QuerySpec& query, LatticePoint& position,
                                  std::vector<float>& components) const;

  /// To be encoded. What it shows must live as long as it does.
  protocol::ListSource source_of(std::span<const QueryReport> reports,
                                 const ReportWith& with) const;

 private:
  SpaceOptions options_;
  std::optional<Lattice> lattice_;
};

protocol::RowReason to_reason(PositionError error);
protocol::RowReason to_reason(VectorFault::Reason reason);

}  // namespace starling::stream
