// One branch for vectors in each way between wire and tables: see served_space.hpp.
#include "stream/served_space.hpp"

#include <string>

#include "knn/base/assert.hpp"

namespace starling::stream {

using protocol::RowReason;

ServedSpace::ServedSpace(const SpaceOptions& options) : options_(options) {
  if (!is_vector()) lattice_.emplace(options);
}

Filter ServedSpace::to_filter(const protocol::QuerySpec& query) const {
  return {.tags = query.tags,
          .distance_sq_max = is_vector() ? ordered_within(options_.metric, query.distance_max_m)
                                         : lattice_->to_distance_sq(query.distance_max_m),
          .age_us_max = query.age_max_us};
}

std::optional<PlaceFault> ServedSpace::place(const protocol::QuerySpec& query,
                                             LatticePoint& position,
                                             std::vector<float>& components) const {
  if (!is_vector()) {
    const PositionError error = lattice_->to_lattice(query.position, position);
    if (error == PositionError::none) return std::nullopt;
    return PlaceFault{.reason = to_reason(error),
                      .sentence = "its position is refused: " + std::string(to_string(error))};
  }
  components.resize(query.vector.size());
  const auto fault =
      prepare_vectors(options_.metric, {query.vector, options_.dimension}, components);
  if (!fault) return std::nullopt;
  return PlaceFault{.reason = to_reason(fault->reason),
                    .column = fault->column,
                    .sentence = "its vector is refused: component " +
                                std::to_string(fault->column) + " (from 0) " +
                                std::string(sentence_of(fault->reason))};
}

protocol::ListSource ServedSpace::source_of(std::span<const QueryReport> reports,
                                            const ReportWith& with) const {
  return {.reports = reports,
          .with = with,
          .lattice = lattice_ ? &*lattice_ : nullptr,
          .metric = options_.metric};
}

RowReason to_reason(PositionError error) {
  switch (error) {
    case PositionError::none:
      return RowReason::none;
    case PositionError::not_finite:
      return RowReason::position_not_finite;
    case PositionError::out_of_range:
      return RowReason::position_out_of_range;
    case PositionError::longitude_out_of_range:
      return RowReason::longitude_out_of_range;
    case PositionError::latitude_out_of_range:
      return RowReason::latitude_out_of_range;
  }
  assertion_failed("every position error has a reason");
}

RowReason to_reason(VectorFault::Reason reason) {
  switch (reason) {
    case VectorFault::Reason::not_a_number:
    case VectorFault::Reason::infinite:
      return RowReason::component_not_finite;
    case VectorFault::Reason::too_large:
      return RowReason::component_too_large;
    case VectorFault::Reason::negative:
      return RowReason::component_negative;
  }
  assertion_failed("every vector fault has a reason");
}

}  // namespace starling::stream
