// SPDX-License-Identifier: Apache-2.0
// The names of metrics, faults in rows, the preparation of rows in float64, and conversions between
// scores and distances: see metric.hpp.
#include "starling/knn/words/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "starling/knn/base/usage.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/row_preparation.hpp"

namespace starling {
namespace {

constexpr std::array<std::pair<Metric, std::string_view>, all_metrics.size()> metric_names{{
    {Metric::l2, "l2"},
    {Metric::cosine, "cosine"},
    {Metric::pearson, "pearson"},
    {Metric::hellinger, "hellinger"},
    {Metric::inner_product, "inner-product"},
    {Metric::l1, "l1"},
    {Metric::chebyshev, "chebyshev"},
    {Metric::jensen_shannon, "jensen-shannon"},
    {Metric::kullback_leibler, "kullback-leibler"},
}};

std::optional<VectorFault::Reason> fault_of(Metric metric, float component) {
  using Reason = VectorFault::Reason;
  if (std::isnan(component)) return Reason::not_a_number;
  if (std::isinf(component)) return Reason::infinite;
  if (std::fabs(component) > component_max) return Reason::too_large;
  if (component < 0 && !allows_negatives(metric)) return Reason::negative;
  return std::nullopt;
}

double sum_of(std::span<const float> row) {
  double sum = 0;
  for (const float component : row) sum += component;
  return sum;
}

double mean_of(std::span<const float> row) {
  // If all components are equal, the row has no direction. Its mean is then returned exactly,
  // because a rounding error would give the row a direction.
  if (std::all_of(row.begin(), row.end(), [&](float other) { return other == row[0]; }))
    return row[0];
  return sum_of(row) / static_cast<double>(row.size());
}

double length_of(std::span<const float> row, double less) {
  double square_sum = 0;
  for (const float component : row) {
    const double part = component - less;
    square_sum += part * part;
  }
  return std::sqrt(square_sum);
}

std::optional<VectorFault> fault_in(Metric metric, VectorsView raw, VectorRow number) {
  const std::span<const float> row = raw.row(number);
  for (std::uint32_t column = 0; column < raw.dimension; ++column)
    if (const auto reason = fault_of(metric, row[column]))
      return VectorFault{number, column, *reason};
  return std::nullopt;
}

void check_prepared(const char* function, VectorsView raw, std::size_t prepared) {
  check_usage(raw.dimension >= 1, function, ": the dimension is 0");
  check_usage(prepared == raw.components.size(), function, ": there are ", raw.components.size(),
              " raw components, but room for ", prepared, " prepared ones");
}

std::optional<VectorFault> prepare_one(Metric metric, VectorsView raw, VectorRow number,
                                       std::span<float> prepared) {
  if (const auto fault = fault_in(metric, raw, number)) return fault;
  const std::span<const float> row = raw.row(number);
  prepare_components(metric, measure_row(metric, row), row,
                     prepared.subspan(std::size_t{number} * raw.dimension, raw.dimension));
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Metric metric) {
  for (const auto& [named, name] : metric_names)
    if (named == metric) return name;
  return "";
}

std::optional<Metric> metric_named(std::string_view name) {
  for (const auto& [metric, named] : metric_names)
    if (named == name) return metric;
  return std::nullopt;
}

bool allows_negatives(Metric metric) {
  return metric != Metric::hellinger && metric != Metric::jensen_shannon &&
         metric != Metric::kullback_leibler;
}

std::string_view sentence_of(VectorFault::Reason reason) {
  switch (reason) {
    case VectorFault::Reason::not_a_number:
      return "is not a number";
    case VectorFault::Reason::infinite:
      return "is infinite";
    case VectorFault::Reason::too_large:
      return "is beyond 2^56, the limit that keeps sums finite";
    case VectorFault::Reason::negative:
      return "is negative, which this metric does not allow";
  }
  return "";
}

std::string sentence_of(const VectorFault& fault) {
  return "component " + std::to_string(fault.column + 1) + " " +
         std::string(sentence_of(fault.reason));
}

RowMeasure measure_row(Metric metric, std::span<const float> raw) {
  switch (metric) {
    case Metric::cosine:
      return {0, length_of(raw, 0)};
    case Metric::pearson: {
      const double mean = mean_of(raw);
      return {mean, length_of(raw, mean)};
    }
    case Metric::jensen_shannon:
    case Metric::kullback_leibler:
      return {0, sum_of(raw)};
    case Metric::hellinger:
    case Metric::l2:
    case Metric::inner_product:
    case Metric::l1:
    case Metric::chebyshev:
      break;
  }
  return {};
}

std::optional<VectorFault> find_fault(Metric metric, VectorsView raw) {
  check_usage(raw.dimension >= 1, "find_fault: the dimension is 0");
  for (VectorRow number = 0; number < raw.rows(); ++number)
    if (const auto fault = fault_in(metric, raw, number)) return fault;
  return std::nullopt;
}

std::optional<VectorFault> prepare_vectors(Metric metric, VectorsView raw,
                                           std::span<float> prepared) {
  check_prepared("prepare_vectors", raw, prepared.size());
  for (VectorRow number = 0; number < raw.rows(); ++number)
    if (const auto fault = prepare_one(metric, raw, number, prepared)) return fault;
  return std::nullopt;
}

std::size_t prepare_each(Metric metric, VectorsView raw, std::span<float> prepared,
                         std::span<std::optional<VectorFault>> faults) {
  check_prepared("prepare_each", raw, prepared.size());
  check_usage(faults.size() == raw.rows(), "prepare_each: `faults` has ", faults.size(),
              " entries; ", raw.rows(), " rows need one each");
  std::size_t faulty = 0;
  for (VectorRow number = 0; number < raw.rows(); ++number) {
    faults[number] = prepare_one(metric, raw, number, prepared);
    if (faults[number]) ++faulty;
  }
  return faulty;
}

double distance_of(Metric metric, float score) {
  const auto exact = static_cast<double>(score);
  switch (metric) {
    case Metric::l2:
      return std::sqrt(exact);
    case Metric::hellinger:
      return std::sqrt(exact / 2);
    case Metric::cosine:
    case Metric::pearson:
      return exact / 2;
    case Metric::jensen_shannon:
      return std::sqrt(exact / 4);
    case Metric::inner_product:
    case Metric::l1:
    case Metric::chebyshev:
    case Metric::kullback_leibler:
      return exact;
  }
  return exact;
}

// distance_of is monotonic in the score, rounding included, so a binary search finds the last score
// that is within the distance.
RankKey key_within(Metric metric, double distance) {
  if (std::isnan(distance)) throw std::invalid_argument("a distance must be a number");
  if (distance == std::numeric_limits<double>::infinity()) return Filter::any_distance;
  const float least = metric == Metric::inner_product ? -std::numeric_limits<float>::max() : 0.0f;
  std::uint64_t low = ordered_of(least);  // every score below `low` is within `distance`
  std::uint64_t high = std::uint64_t{ordered_of(std::numeric_limits<float>::max())} + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (distance_of(metric, score_of_ordered(static_cast<std::uint32_t>(middle))) <= distance)
      low = middle + 1;
    else
      high = middle;
  }
  return RankKey{low - 1};
}

}  // namespace starling
