// SPDX-License-Identifier: Apache-2.0
// Rounds rows of float64 to float32 with less loss. If rows are far from 0 and near each other, an
// offset is first subtracted from them (docs/vectors.md). `starling knn` and libstarling.so use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/base/poll.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling {

/// Returns whether distances stay the same if the same row is subtracted from all rows.
constexpr bool ignores_offset(Metric metric) {
  return metric == Metric::l2 || metric == Metric::l1 || metric == Metric::chebyshev;
}

/// Chooses the offset of a corpus: one number for each component, 0 where nothing is gained.
///
/// The spread of a component is its largest number minus its smallest, and its magnitude is its
/// smallest absolute value. A component has an offset if all its numbers have one sign and the
/// spread is at most the magnitude. If float32 holds all its numbers, the spread must be at most
/// 1/256 of the magnitude, and the rows must not come from text, which has no type. The offset is
/// the middle of the spread, rounded to a multiple of a power of two. This power is more than 1/16
/// and at most 1/8 of the spread. If the spread is 0, the offset is the number itself.
///
/// So numbers minus their offset are exact in float64 and no larger than before. They are exact in
/// float32 if they are multiples of a power of two that is at least 2^-24 of the spread.
class OffsetChoice {
 public:
  OffsetChoice(Metric metric, std::uint32_t dimension, bool is_text = false);

  /// Adds rows of the corpus to those from which the offset is chosen.
  void see(std::span<const double> rows);
  /// Returns whether any component may have an offset. Once false, it stays false.
  bool is_open() const { return is_open_; }
  /// Returns the offset for the rows seen, `dimension` numbers; empty if all are 0.
  std::vector<double> offset() const;

 private:
  struct Range {
    double least = 0;
    double most = 0;
    bool has_rows = false;
    bool is_allowed = true;  ///< no number is NaN or beyond component_max
    bool is_float32 = true;  ///< float32 holds all numbers
    double gain() const;
  };

  std::vector<Range> ranges_;
  bool is_text_;
  bool is_open_;
};

/// Rounds each number to the nearest float32. A finite number beyond float32 becomes the largest
/// float32 of its sign.
void round_to_float32(std::span<const double> numbers, std::span<float> rounded);

/// Subtracts an offset from `rounded` rows; an empty `offset` changes nothing. `rows` are the rows
/// before rounding, so that each difference is rounded only once. If `rows` is empty, subtracts the
/// offset from `rounded` itself.
void subtract_offset(std::span<const double> offset, std::span<const double> rows,
                     std::span<float> rounded);

/// Counts the rows that rounding made equal to a different row.
class MergedRows {
 public:
  explicit MergedRows(std::uint32_t dimension) : dimension_(dimension) {}

  /// Adds rows with their rounded rows.
  void add(std::span<const double> rows, std::span<const float> rounded);
  /// Replaces the rounded rows of all added rows.
  void replace_rounded(std::span<const float> rounded);
  std::uint64_t count(Poll poll = {}) const;

 private:
  struct Hashes {
    std::uint64_t rounded = 0;
    std::uint64_t row = 0;
    auto operator<=>(const Hashes&) const = default;
  };

  std::uint32_t dimension_;
  bool has_rounded_ = false;  ///< a row differs from its rounded row
  std::vector<Hashes> hashes_;
};

}  // namespace starling
