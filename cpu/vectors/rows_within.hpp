// SPDX-License-Identifier: Apache-2.0
// Holds the rows that a thread has found within the bounds of the queries of a block. The bound of
// a query is VectorQuery::score_max. PanelSearch and RadiusScan own RowsWithin objects, and the
// scan fills them. RowsWithin has the functions of NearestRows that the scan calls.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "starling/knn/vectors/store.hpp"

namespace starling::cpu {

class RowsWithin {
 public:
  /// Clears everything except the matches. In later matches, VectorMatch::query of queries[i] is
  /// `first_query` + i. A query without a mask uses the mask `all`.
  void start(std::span<const VectorQuery> queries, const VectorMasks& masks,
             const std::uint64_t* all, std::uint32_t first_query) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    first_query_ = first_query;
    gates_.clear();
    masks_.clear();
    for (const VectorQuery& query : queries) {
      gates_.push_back(std::nextafter(query.score_max, infinity));
      masks_.push_back(query.mask == no_mask ? all : masks.of(query.mask).data());
    }
  }

  /// Does the same for `queries` queries with one bound and without masks. Matches begin at query
  /// 0.
  void start(std::size_t queries, float score_max) {
    first_query_ = 0;
    gates_.assign(queries, std::nextafter(score_max, std::numeric_limits<float>::infinity()));
    masks_.assign(queries, nullptr);
  }

  /// Returns the gate: a row with this score or a larger score is too far away.
  float gate(std::size_t query) const { return gates_[query]; }
  /// Returns the mask of the query; nullptr: all rows.
  const std::uint64_t* mask(std::size_t query) const { return masks_[query]; }

  void add(std::size_t query, float score, VectorRow row) {
    matches_.push_back({first_query_ + static_cast<std::uint32_t>(query), {score, row}});
  }
  void make_room(std::size_t /*query*/, VectorRow /*next_row*/) {}

  std::vector<VectorMatch>& matches() { return matches_; }

 private:
  std::uint32_t first_query_ = 0;
  std::vector<float> gates_;
  std::vector<const std::uint64_t*> masks_;
  std::vector<VectorMatch> matches_;
};

}  // namespace starling::cpu
