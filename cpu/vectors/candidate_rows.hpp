// SPDX-License-Identifier: Apache-2.0
// The rows that may be among the k nearest of each query of a block, judged by their shadows.
// scan_shadows adds rows, and FilteredSearch computes the scores of those that remain. Each query
// has a buffer of candidates; a full buffer loses the rows that cannot be among the k nearest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "starling/cpu/vectors/score_interval.hpp"
#include "starling/cpu/vectors/shadows.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

class CandidateRows {
 public:
  /// Clears everything. Query i has the shadow `queries.shadow(i)` and skips the row
  /// `first_self` + i; no_row: no query skips a row. All arguments must live as long as rows are
  /// added.
  void start(const ScoreInterval& interval, const ShadowPanels& corpus, const ShadowTiles& queries,
             std::uint32_t k, VectorRow first_self);

  /// Announces that the rows added until the next call have these maxima.
  void go_on_with(const ShadowMaxima& maxima);

  /// Returns the limit of ScoreInterval::limit: a row above it is no candidate.
  float limit(std::size_t query) const { return limits_[query]; }

  /// Adds a row, of which the scan knows that it is not above the limit. `product` is the product
  /// of the two shadows.
  void add(std::size_t query, VectorRow row, std::int32_t product);

  /// Adds the candidates of the same query of another object.
  void add_all(const CandidateRows& other, std::size_t query);

  /// Whether the buffer was full of rows that the shadows cannot tell apart. The query has no
  /// candidates any more and accepts none.
  bool has_failed(std::size_t query) const { return has_failed_[query] != 0; }
  std::size_t failures() const { return failures_; }
  void fail_all();

  /// Drops what cannot be among the k nearest. Returns the rest, in any order; the low 32 bits are
  /// the row.
  std::span<const std::uint64_t> finish(std::size_t query);

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  void add_key(std::size_t query, std::uint64_t key);
  void cut(std::size_t query);
  void set_limit(std::size_t query);
  void fail(std::size_t query);

  const ScoreInterval* interval_ = nullptr;
  const ShadowPanels* corpus_ = nullptr;
  const ShadowTiles* queries_ = nullptr;
  std::size_t k_ = 1;
  std::uint64_t first_self_ = no_row;
  ShadowMaxima maxima_;
  std::size_t room_ = 0;             ///< the number of keys that each query has room for
  std::vector<std::uint64_t> keys_;  ///< room_ keys for each query: upper bound of the value, row
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> cuts_at_;  ///< the count at which the buffer is cut next
  std::vector<double> reaches_;       ///< ScoreInterval::reach of the k-th smallest upper bound
  std::vector<float> limits_;
  std::vector<std::uint8_t> has_failed_;
  std::size_t failures_ = 0;
};

}  // namespace starling::cpu
