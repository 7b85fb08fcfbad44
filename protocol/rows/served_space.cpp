// SPDX-License-Identifier: Apache-2.0
// Converts positions in one set of functions and vectors in another: see served_space.hpp.
#include "starling/protocol/rows/served_space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "starling/knn/base/assert.hpp"

namespace starling::protocol {

namespace {

constexpr std::size_t rows_at_once = 256;  // few enough that their points stay in the L1 cache

/// Converts points.size() rows of the batch, beginning with row `first`.
void to_lattice(const UpdateBatch& batch, std::size_t first, const Lattice& lattice,
                std::span<LatticePoint> points, std::span<PositionError> errors) {
  const std::size_t begin = first * batch.components;
  const std::size_t count = points.size() * batch.components;
  if (batch.coordinates.empty())
    lattice.to_lattice(batch.coordinates_f32.subspan(begin, count), batch.components, points,
                       errors);
  else
    lattice.to_lattice(batch.coordinates.subspan(begin, count), batch.components, points, errors);
}

/// Gives each row of the set its entries of the batch's tags, labels and values. Call it for a
/// batch with `row_columns`.
template <class Row>
void give_columns(const UpdateBatch& batch, RowSet<Row>& set) {
  std::size_t tags = 0;
  std::size_t labels = 0;
  std::size_t values = 0;
  auto next = set.rows.begin();
  for (std::size_t i = 0; i < batch.row_columns.size(); ++i) {
    const std::uint8_t columns = batch.row_columns[i];
    Row rejected;
    Row& row = set.reasons[i] == RowReason::none ? *next++ : rejected;
    row.has_tags = (columns & tags_column) != 0;
    if (row.has_tags) row.tags = batch.tags[tags++];
    if constexpr (std::is_same_v<Row, VectorUpdate>) {
      row.has_label = (columns & label_column) != 0;
      row.has_value = (columns & value_column) != 0;
      if (row.has_label) row.label = batch.labels[labels++];
      if (row.has_value) row.value = batch.values[values++];
    }
  }
}

RowSet<ObjectUpdate> place_positions(const UpdateBatch& batch, const Lattice& lattice) {
  const std::size_t row_count = batch.ids.size();
  const bool has_tags = !batch.tags.empty() && batch.row_columns.empty();
  RowSet<ObjectUpdate> set;
  set.rows.reserve(row_count);
  set.reasons.resize(row_count);
  std::array<LatticePoint, rows_at_once> points;
  std::array<PositionError, rows_at_once> errors;
  for (std::size_t first = 0; first < row_count; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, row_count - first);
    to_lattice(batch, first, lattice, std::span(points).first(count),
               std::span(errors).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      if (errors[i] != PositionError::none) {
        set.reject(row, to_reason(errors[i]));
        continue;
      }
      // Write each field in place. Copying a complete ObjectUpdate would load several fields with
      // one wide instruction, and this load would stall until the stores to the single fields have
      // finished.
      ObjectUpdate& update = set.rows.emplace_back();
      update.id = ObjectId{batch.ids[row]};
      update.time_us = batch.times_us[row];
      update.position = points[i];
      update.tags = has_tags ? batch.tags[row] : 0;
      update.has_tags = has_tags;
    }
  }
  if (!batch.row_columns.empty()) give_columns(batch, set);
  return set;
}

/// Clamps a finite number beyond float32's range, so that the row is refused as too large and not
/// as infinite.
float to_float32(double value) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (std::isfinite(value)) value = std::clamp(value, -largest, largest);
  return static_cast<float>(value);
}

std::vector<float> components_of(const UpdateBatch& batch) {
  if (batch.coordinates.empty())
    return {batch.coordinates_f32.begin(), batch.coordinates_f32.end()};
  std::vector<float> components(batch.coordinates.size());
  std::ranges::transform(batch.coordinates, components.begin(), to_float32);
  return components;
}

VectorRowSet place_vectors(const UpdateBatch& batch, const SpaceOptions& space) {
  const std::size_t row_count = batch.ids.size();
  const bool is_each = batch.row_columns.empty();  // each row has the columns that the batch has
  const bool has_tags = is_each && !batch.tags.empty();
  const bool has_labels = is_each && !batch.labels.empty();
  const bool has_values = is_each && !batch.values.empty();
  VectorRowSet set;
  set.dimension = space.dimension;
  set.reasons.resize(row_count);
  set.rows.reserve(row_count);
  set.components = components_of(batch);
  std::vector<std::optional<VectorFault>> faults(row_count);
  prepare_each(space.metric, {set.components, space.dimension}, set.components, faults);
  for (std::size_t row = 0; row < row_count; ++row) {
    if (faults[row]) {
      set.reject(row, to_reason(faults[row]->reason), faults[row]->column);
      continue;
    }
    // Move the vector to the front, over the vectors of rejected rows.
    if (set.rows.size() < row)
      std::copy_n(set.components.data() + row * space.dimension, space.dimension,
                  set.components.data() + set.rows.size() * space.dimension);
    set.rows.push_back({.id = ObjectId{batch.ids[row]},
                        .time_us = batch.times_us[row],
                        .label = has_labels ? batch.labels[row] : no_label,
                        .value = has_values ? batch.values[row] : no_value,
                        .tags = has_tags ? batch.tags[row] : 0,
                        .has_tags = has_tags,
                        .has_label = has_labels,
                        .has_value = has_values});
  }
  if (!batch.row_columns.empty()) give_columns(batch, set);
  set.components.resize(set.rows.size() * space.dimension);
  return set;
}

}  // namespace

ServedSpace::ServedSpace(const SpaceOptions& options) : options_(options) {
  if (!is_vector()) lattice_.emplace(options);
}

std::string ServedSpace::row_text() const {
  return is_vector() ? "a vector of dimension " + std::to_string(options_.dimension) : "a row";
}

std::uint64_t ServedSpace::rows_that_fit(std::uint64_t bytes) const {
  if (vector_bytes() == 0) return std::numeric_limits<std::uint64_t>::max();
  return bytes / vector_bytes();
}

PreparedRows ServedSpace::place(const UpdateBatch& batch) const {
  if (is_vector()) return place_vectors(batch, options_);
  return place_positions(batch, *lattice_);
}

Filter ServedSpace::to_filter(const QuerySpec& query) const {
  return {.tags = query.tags,
          .key_max = is_vector() ? key_within(options_.metric, query.distance_max_m)
                                 : RankKey{lattice_->to_distance_sq(query.distance_max_m)},
          .age_us_max = query.age_max_us};
}

std::optional<PlaceFault> ServedSpace::place(const QuerySpec& query, LatticePoint& position,
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

QuerySpec ServedSpace::spec_of(const QueryDefinition& query) const {
  QuerySpec spec{.id = query.id,
                 .k = query.k,
                 .anchor = query.anchor.kind,
                 .object = query.anchor.object,
                 .tags = query.filter.tags,
                 .age_max_us = query.filter.age_us_max,
                 .subject = query.subject,
                 .vote = query.vote,
                 .regress = query.regress};
  if (query.filter.key_max != Filter::any_distance) spec.distance_max_m = to_distance(query.filter);
  if (query.anchor.kind != AnchorKind::fixed) return spec;
  spec.position = position_of(query.anchor.position).value_or(Position{});
  spec.vector = query.components;
  return spec;
}

/// Returns the greatest distance that passes the filter. Returns minus infinity if the filter's
/// limit is below the score of every inner product, so that nothing passes.
double ServedSpace::to_distance(const Filter& filter) const {
  if (!is_vector()) return lattice_->to_metres(filter.key_max);
  const double distance = distance_of(options_.metric, score_of(filter.key_max));
  return std::isnan(distance) ? -std::numeric_limits<double>::infinity() : distance;
}

std::optional<Position> ServedSpace::position_of(const LatticePoint& point) const {
  if (is_vector()) return std::nullopt;
  return lattice_->to_position(point);
}

LatticeRectangle ServedSpace::on_lattice(const Rectangle& rectangle) const {
  check_invariant(lattice_.has_value(), "a vector space has no rectangles");
  return {*lattice_, rectangle};
}

std::size_t ServedSpace::objects_walked_max() const {
  // Geodetic positions take longer: the latitude of an earth-centred position is found by
  // iteration.
  constexpr std::size_t planar = 8192;
  constexpr std::size_t geodetic = 1024;
  return options_.space == Space::wgs84 ? geodetic : planar;
}

ListSource ServedSpace::source_of(std::span<const QueryReport> reports,
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

}  // namespace starling::protocol
