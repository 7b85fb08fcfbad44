// SPDX-License-Identifier: Apache-2.0
// Says which scores of a row of the matrix the method "threshold" samples, and how many keys the
// method keeps for a query. russica_method.cu plans with these numbers; tests build rows that the
// sample misses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace starling::gpu {

/// The tuning numbers of the method. They come from a model: the sample and the kept keys should
/// both be short compared with a row of the matrix. A sample of s scores of n lets about k n / s
/// keys pass. With s = 4 sqrt(n k) about sqrt(n k) / 4 keys pass. The method was measured with
/// these numbers (docs/vector-methods.md); others were not tried.
struct ThresholdTuning {
  static constexpr std::uint32_t quad = 4;  ///< neighbouring columns, which one load reads
  static constexpr unsigned quads_in_flight = 4;
  /// Each thread of a cutoff block has this many groups of scores.
  static constexpr unsigned groups = quad * quads_in_flight;
  static constexpr unsigned cutoff_threads_min = 128;
  static constexpr unsigned cutoff_threads_max = 512;
  /// The least number of keys for which a query has room, unless there are fewer columns.
  static constexpr std::uint32_t room_min = 1024;
  static constexpr unsigned compact_threads = 256;
  /// Columns of a thread; all loads are in flight at once.
  static constexpr unsigned compact_columns = 16;
  static constexpr std::uint32_t compact_subset = compact_threads * compact_columns;
  static constexpr unsigned select_threads = 256;
  static constexpr unsigned select_in_flight = 4;
  static constexpr std::uint32_t select_chunk = select_threads * select_in_flight;
};

/// A sample of a row of the matrix. The quads of the row are divided into strata, and the sample
/// has one quad of each stratum. So the sample spreads over the whole row and has no column twice.
struct RowSample {
  std::uint32_t quads = 0;    ///< quads of the row; the last quad may reach beyond the last column
  std::uint32_t stratum = 1;  ///< quads of a stratum; the last stratum may have fewer
  std::uint32_t strata = 0;

  /// Returns the quad of stratum i that is in the sample. Its place in the stratum depends on a
  /// hash of i, so the sample has no period.
  constexpr std::uint32_t quad_of(std::uint32_t i) const {
    const std::uint32_t begin = i * stratum;
    const std::uint32_t width = stratum < quads - begin ? stratum : quads - begin;
    const std::uint32_t hash = i * 0x9e3779b1u;
    return begin + static_cast<std::uint32_t>(std::uint64_t{hash} * width >> 32);
  }
};

/// Returns the least number of quads in a sample. A row with fewer quads is sampled whole.
inline std::uint32_t sampled_quads(std::uint32_t columns, std::uint32_t k) {
  return static_cast<std::uint32_t>(
      std::sqrt(static_cast<double>(columns) * static_cast<double>(k)));
}

/// Returns the sample of a row with `columns` columns, at least 1. It is the whole row if the row
/// has fewer than twice sampled_quads() quads.
inline RowSample sample_of(std::uint32_t columns, std::uint32_t k) {
  RowSample sample;
  sample.quads = (columns - 1) / ThresholdTuning::quad + 1;
  sample.stratum = std::max(sample.quads / sampled_quads(columns, k), 1u);
  sample.strata = (sample.quads - 1) / sample.stratum + 1;
  return sample;
}

/// Returns the number of keys for which a query has room: about eight times as many as are likely
/// to pass. The number does not fall if there are more columns.
inline std::uint32_t kept_room(std::uint32_t columns, std::uint32_t k) {
  return std::min(columns,
                  std::max({ThresholdTuning::room_min, 4 * k, 2 * sampled_quads(columns, k)}));
}

}  // namespace starling::gpu
