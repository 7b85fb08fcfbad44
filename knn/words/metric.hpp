// SPDX-License-Identifier: Apache-2.0
// Vectors of float32 components: the metrics, how rows are prepared for them, and the total order
// of answers. Every searcher, reader and oracle of vectors includes this file.
#pragma once

#include <array>
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

/// A metric defines how rows are prepared and what the distance of two rows is. Each row is
/// prepared once: in float64, in a fixed order of operations, then rounded to float32. Exact
/// answers are defined on the prepared rows (docs/vectors.md). Below, x and y are two rows before
/// preparation, and s is the sum of the squared differences of their components after preparation.
/// p and q are the prepared rows of the query and of the candidate.
enum class Metric : std::uint8_t {
  l2,             ///< prepared: unchanged; distance: sqrt(s)
  cosine,         ///< prepared: x / |x|, a zero row unchanged; distance: s / 2
  pearson,        ///< prepared: x minus its mean, then as cosine; distance: s / 2
  hellinger,      ///< prepared: sqrt(x), negatives are refused; distance: sqrt(s / 2)
  inner_product,  ///< prepared: unchanged; distance: -(x . y), which may be negative
  l1,             ///< prepared: unchanged; distance: the sum of |x - y|
  chebyshev,      ///< prepared: unchanged; distance: the largest |x - y|
  /// prepared: x / sum of x, a zero row unchanged, negatives are refused; distance: the square root
  /// of the mean of KL(p, m) and KL(q, m), where m = (p + q) / 2
  jensen_shannon,
  /// prepared: as for jensen_shannon; distance: KL(p, q), the sum of p ln(p / q) - p + q. Not
  /// symmetric: the query is p. A component of q that is 0 counts as 2^-126 in the logarithm.
  kullback_leibler,
};

/// All metrics, in the order of the enumeration.
inline constexpr std::array<Metric, 9> all_metrics{
    Metric::l2,        Metric::cosine,         Metric::pearson,
    Metric::hellinger, Metric::inner_product,  Metric::l1,
    Metric::chebyshev, Metric::jensen_shannon, Metric::kullback_leibler};

/// Returns the name that users write: "l2", "inner-product", "jensen-shannon" and so on.
std::string_view name_of(Metric metric);
/// Returns the metric with this name, or std::nullopt if no metric has it.
std::optional<Metric> metric_named(std::string_view name);
/// Returns false if the metric refuses negative components.
bool allows_negatives(Metric metric);

inline constexpr std::uint32_t dimension_max = 4096;
inline constexpr std::uint32_t vector_k_max = 2048;

/// The largest absolute value that a component may have. With this limit no sum overflows:
/// dimension_max * (2 * 2^56)^2 = 2^126.
inline constexpr float component_max = 0x1p56f;

/// The index of a row in its array. An array has fewer than 2^31 rows.
using VectorRow = std::uint32_t;
inline constexpr VectorRow no_row = ~VectorRow{0};
inline constexpr std::uint32_t vector_rows_max = (std::uint32_t{1} << 31) - 1;

/// Rows stored one after another, without gaps. Owns nothing.
struct VectorsView {
  std::span<const float> components;  ///< rows() * dimension numbers
  std::uint32_t dimension = 1;        ///< 1 to dimension_max

  std::uint32_t rows() const { return static_cast<std::uint32_t>(components.size() / dimension); }
  std::span<const float> row(VectorRow number) const {
    return components.subspan(std::size_t{number} * dimension, dimension);
  }
};

/// The first component of a row that a metric does not allow, and the reason.
struct VectorFault {
  enum class Reason : std::uint8_t { not_a_number, infinite, too_large, negative };
  VectorRow row = 0;
  std::uint32_t column = 0;
  Reason reason = Reason::not_a_number;
};

/// Returns the end of a sentence, such as "is not a number" or "is infinite".
std::string_view sentence_of(VectorFault::Reason reason);

/// Returns a sentence that names the component, counted from 1: "component 3 is not a number".
std::string sentence_of(const VectorFault& fault);

/// Returns the first fault of rows that are not prepared, or std::nullopt if there is no fault.
std::optional<VectorFault> find_fault(Metric metric, VectorsView raw);

/// Prepares all rows of `raw` into `prepared`, which has the same size and may be the same memory.
/// Returns the first fault, or std::nullopt if there is no fault. After a fault the content of
/// `prepared` is unspecified.
std::optional<VectorFault> prepare_vectors(Metric metric, VectorsView raw,
                                           std::span<float> prepared);

/// The same as prepare_vectors, but does not stop at a fault: prepares all rows without a fault.
/// Writes one entry of `faults` for each row: its first fault, or std::nullopt. The prepared
/// components of a faulty row are unspecified. Returns the number of faulty rows.
std::size_t prepare_each(Metric metric, VectorsView raw, std::span<float> prepared,
                         std::span<std::optional<VectorFault>> faults);

/// One entry of a vector's neighbour list. The comparison of two entries is the total order of all
/// answers: the smaller score comes first; if scores are equal, the smaller row.
///
/// The score is computed from prepared rows in float32, component after component, with rounding to
/// nearest and with subnormals: s = 0; for each j: t = x[j] - y[j], s = fma(t, t, s). recipe.hpp
/// has the sums of inner_product, l1, chebyshev, jensen_shannon and kullback_leibler. Every
/// searcher computes exactly this sum, so that all searchers give the same bits
/// (docs/decisions/0006-vector-sums.md).
struct VectorNeighbor {
  float score = 0;  ///< never NaN, never -0
  VectorRow row = no_row;
  auto operator<=>(const VectorNeighbor&) const = default;
};

/// Returns the metric's distance for a score: the number that users read.
double distance_of(Metric metric, float score);

/// Maps a score to an unsigned number with the same order: the nearest row has the smallest number.
/// In a vector space Neighbor::key holds this number. The bits of positive floats already have the
/// order of the floats; the bits of negative floats have the reverse order.
constexpr std::uint32_t ordered_of(float score) {
  constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}
/// The inverse of ordered_of.
constexpr float score_of_ordered(std::uint32_t ordered) {
  constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
  return std::bit_cast<float>((ordered & sign_bit) != 0 ? ordered & ~sign_bit : ~ordered);
}
constexpr RankKey rank_key_of(float score) {
  return RankKey{ordered_of(score)};
}
/// Returns the score of a neighbour's key. Call only for keys of a vector space.
constexpr float score_of(RankKey key) {
  return score_of_ordered(static_cast<std::uint32_t>(to_number(key)));
}

/// Returns the largest ordered score whose distance is at most `distance`: the value for
/// Filter::key_max in a vector space. If no score is that near, returns a number below every score.
/// For infinity it returns Filter::any_distance. `distance` may be negative for inner_product.
/// Throws std::invalid_argument for NaN.
RankKey key_within(Metric metric, double distance);

}  // namespace starling
