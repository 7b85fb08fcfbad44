// SPDX-License-Identifier: Apache-2.0
// Rounds rows of float64 to float32 with less loss: rows that lie far from 0 and near each other
// lose an offset first (docs/vectors.md). `starling knn` and libstarling.so call it.
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
/// A component has an offset if all its numbers have one sign and their spread, the largest less
/// the smallest, is at most the smallest magnitude; or, if float32 holds all its numbers, at most
/// 1/256 of it. Text has no type: a component of a text has no offset if float32 holds all its
/// numbers. The offset is the middle of the spread, rounded to a multiple of the power of two
/// that is more than 1/16 and at most 1/8 of the spread; without a spread it is the number itself.
/// So numbers less their offset are exact in float64, no larger than before, and exact in float32
/// if they are multiples of a power of two that is at least 2^-24 of the spread.
class OffsetChoice {
 public:
  OffsetChoice(Metric metric, std::uint32_t dimension, bool is_text = false);

  /// Takes rows of the corpus into account, part after part.
  void see(std::span<const double> rows);
  /// Returns whether a component may have an offset. Once false, it stays false.
  bool is_open() const { return is_open_; }
  /// Returns the offset for the rows seen, `dimension` numbers; empty if all are 0.
  std::vector<double> offset() const;

 private:
  struct Range {
    double least = 0;
    double most = 0;
    bool has_rows = false;
    bool is_allowed = true;  ///< none is beyond component_max or no number
    bool is_float32 = true;  ///< float32 holds all numbers
    double gain() const;
  };

  std::vector<Range> ranges_;
  bool is_text_;
  bool is_open_;
};

/// Rounds each number to the nearest float32; a finite one beyond float32 to the largest.
void round_to_float32(std::span<const double> numbers, std::span<float> rounded);

/// Subtracts an offset (empty: none) from `rounded` rows. `rows` are the rows before rounding, from
/// which the difference is taken and rounded once; empty if `rounded` is what there was.
void subtract_offset(std::span<const double> offset, std::span<const double> rows,
                     std::span<float> rounded);

/// Counts the rows that only rounding has made equal to a row that differs from them.
class MergedRows {
 public:
  explicit MergedRows(std::uint32_t dimension) : dimension_(dimension) {}

  /// Adds rows, and what they are rounded to.
  void add(std::span<const double> rows, std::span<const float> rounded);
  /// Replaces what all added rows are rounded to.
  void replace_rounded(std::span<const float> rounded);
  std::uint64_t count(Poll poll = {}) const;

 private:
  struct Hashes {
    std::uint64_t rounded = 0;
    std::uint64_t row = 0;
    auto operator<=>(const Hashes&) const = default;
  };

  std::uint32_t dimension_;
  bool has_rounded_ = false;  ///< a row differs from what it is rounded to
  std::vector<Hashes> hashes_;
};

}  // namespace starling
