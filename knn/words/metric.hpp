// Vectors of float32 components: the metrics, how rows are prepared for them, and the total order
// of answers. What every searcher, reader and oracle of vectors shares.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "starling/knn/words/types.hpp"

namespace starling {

/// What makes vectors near. Rows are prepared once, in float64 in a fixed order, and rounded to
/// float32; the truth is defined on the prepared rows (docs/vectors.md).
enum class Metric : std::uint8_t {
  l2,             ///< prepared: as it is; distance sqrt(s), s the sum of (x - y)^2
  cosine,         ///< prepared: x / |x|, a zero row as it is; distance s / 2
  pearson,        ///< prepared: x less its mean, then as cosine; distance s / 2
  hellinger,      ///< prepared: sqrt(x), nothing negative; distance sqrt(s / 2)
  inner_product,  ///< prepared: as it is; distance -(x . y), which may be negative
};

/// "l2", "cosine", "pearson", "hellinger", "inner-product".
std::string_view name_of(Metric metric);
std::optional<Metric> metric_named(std::string_view name);

inline constexpr std::uint32_t dimension_max = 4096;
inline constexpr std::uint32_t vector_k_max = 2048;

/// No component is larger, so that no sum overflows: 4096 * (2 * 2^56)^2 = 2^126.
inline constexpr float component_max = 0x1p56f;

/// A row's number in its array. Fewer than 2^31 rows.
using VectorRow = std::uint32_t;
inline constexpr VectorRow no_row = ~VectorRow{0};
inline constexpr std::uint32_t vector_rows_max = (std::uint32_t{1} << 31) - 1;

/// Rows one behind the other, without gaps. Owns nothing.
struct VectorsView {
  std::span<const float> components;  ///< rows() * dimension
  std::uint32_t dimension = 1;        ///< 1 to dimension_max

  std::uint32_t rows() const { return static_cast<std::uint32_t>(components.size() / dimension); }
  std::span<const float> row(VectorRow number) const {
    return components.subspan(std::size_t{number} * dimension, dimension);
  }
};

/// The first component that a metric has no place for.
struct VectorFault {
  enum class Reason : std::uint8_t { not_a_number, infinite, too_large, negative };
  VectorRow row = 0;
  std::uint32_t column = 0;
  Reason reason = Reason::not_a_number;
};

/// "is not a number", "is infinite", "is beyond 2^56 ...", "is negative, ...".
std::string_view sentence_of(VectorFault::Reason reason);

/// The same of one component among others: "component 3 is not a number", counted from 1.
std::string sentence_of(const VectorFault& fault);

/// Prepares all rows of `raw` into `prepared`, of the same size; they may be the same memory. On a
/// fault, what `prepared` holds means nothing.
std::optional<VectorFault> prepare_vectors(Metric metric, VectorsView raw,
                                           std::span<float> prepared);

/// The same for rows that may be bad, each of which is refused by itself: `faults` has an entry a
/// row. What `prepared` holds of a row with a fault means nothing. Returns how many have one.
std::size_t prepare_each(Metric metric, VectorsView raw, std::span<float> prepared,
                         std::span<std::optional<VectorFault>> faults);

/// One entry of a vector's neighbour list. The order of the members is the total order of all
/// answers: least score first, ties by the smaller row.
///
/// The score is computed from prepared rows in float32, component after component, rounding to
/// nearest, subnormals kept: s = 0; for each j: t = x[j] - y[j], s = fma(t, t, s). For
/// inner_product: s = fma(x[j], y[j], s), and the score is 0 - s. Every searcher does just that, so
/// that all give the same bits (docs/decisions/0006-vector-sums.md).
struct VectorNeighbor {
  float score = 0;  ///< never NaN, never -0
  VectorRow row = no_row;
  auto operator<=>(const VectorNeighbor&) const = default;
};

/// What a user is told: of a score, the distance by the metric.
double distance_of(Metric metric, float score);

/// Unsigned numbers in the order of their scores, so that the least is the nearest: what
/// Neighbor::key holds in a vector space. Floats of one sign order as their bits do, and
/// those below zero the other way round.
constexpr std::uint32_t ordered_of(float score) {
  constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}
constexpr float score_of_ordered(std::uint32_t ordered) {
  constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
  return std::bit_cast<float>((ordered & sign_bit) != 0 ? ordered & ~sign_bit : ~ordered);
}
constexpr RankKey rank_key_of(float score) {
  return RankKey{ordered_of(score)};
}
/// Only for a neighbour's key in a vector space.
constexpr float score_of(RankKey key) {
  return score_of_ordered(static_cast<std::uint32_t>(to_number(key)));
}

/// The largest ordered score whose distance is at most `distance`: what Filter::key_max
/// holds in a vector space. Less than every score if there is none; Filter::any_distance for
/// infinity. Distances of inner products may be negative. NaN throws std::invalid_argument.
RankKey key_within(Metric metric, double distance);

}  // namespace starling
