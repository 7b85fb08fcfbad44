// SPDX-License-Identifier: Apache-2.0
// Collects candidates for each query of a block: the rows that may be among the k nearest, judged
// by their shadows. scan_shadows adds rows, and FilteredSearch computes the scores of the rows that
// remain. Each query has a buffer of candidates. From a full buffer, the rows that cannot be among
// the k nearest are removed.
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
  /// `first_self` + i. If `first_self` is no_row, no query skips a row. `interval`, `corpus` and
  /// `queries` must live until the last call of finish.
  void start(const ScoreInterval& interval, const ShadowPanels& corpus, const ShadowTiles& queries,
             std::uint32_t k, VectorRow first_self);

  /// Sets the largest square and the largest error of the rows that are added until the next call.
  void go_on_with(const ShadowMaxima& maxima);

  /// Returns the query's ScoreInterval::limit. A row is no candidate if the number that the scan
  /// computes for it is above the limit.
  float limit(std::size_t query) const { return limits_[query]; }

  /// Adds a row whose number in the scan was not above the limit. `product` is the product of the
  /// shadows of the query and the row.
  void add(std::size_t query, VectorRow row, std::int32_t product);

  /// Adds to `query` the candidates of the same query in `other`. If the query has failed in
  /// `other`, it fails here, too.
  void add_all(const CandidateRows& other, std::size_t query);

  /// Returns true if the query has failed: its buffer was full of rows that the shadows cannot tell
  /// apart, or fail_all was called. A failed query has no candidates and accepts none.
  bool has_failed(std::size_t query) const { return has_failed_[query] != 0; }
  std::size_t failures() const { return failures_; }
  void fail_all();

  /// Drops the candidates that cannot be among the k nearest. Returns the keys of the remaining
  /// candidates, in any order. The low 32 bits of a key are the row.
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
  std::vector<std::uint64_t> keys_;  ///< room_ keys for each query: (upper bound, row)
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> cuts_at_;  ///< the count at which the buffer is cut next
  std::vector<double> reaches_;       ///< ScoreInterval::reach of the k-th smallest upper bound
  std::vector<float> limits_;
  std::vector<std::uint8_t> has_failed_;
  std::size_t failures_ = 0;
};

}  // namespace starling::cpu
