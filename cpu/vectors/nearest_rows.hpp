// SPDX-License-Identifier: Apache-2.0
// Holds the nearest rows that one thread has found for each query of a block. Each query has a
// buffer of candidates and a *gate*: only a row with a score below the gate can be among the k
// nearest. A full buffer is cut to k candidates, which lowers the gate. PanelSearch owns
// NearestRows for each thread, and the scan fills them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

class NearestRows {
 public:
  static constexpr std::size_t rows_at_once_max = 16;

  /// Clears everything. Query i skips the row `first_self` + i. If `first_self` is no_row, no query
  /// skips a row.
  void start(std::size_t queries, std::uint32_t k, VectorRow first_self);

  /// Sets the row that one query skips.
  void pass_over(std::size_t query, VectorRow self) { selves_[query] = self; }
  /// Restricts a query to the rows whose bit in `mask` is 1. Bit i % 64 of word i / 64 belongs to
  /// row i.
  void choose_from(std::size_t query, const std::uint64_t* mask) { masks_[query] = mask; }
  const std::uint64_t* mask(std::size_t query) const { return masks_[query]; }

  /// Call before rows are added in ascending order from `next_row` on. Sets the gates. A row with
  /// the same score as the k-th candidate passes the gate only if its number may be smaller than
  /// that of the candidate.
  void go_on_from(VectorRow next_row);

  /// Returns the gate: a row with this score or a larger score is not among the k nearest.
  float gate(std::size_t query) const { return gates_[query]; }

  /// Adds a row below the gate. At most rows_at_once_max rows may be added between two calls of
  /// make_room.
  void add(std::size_t query, float score, VectorRow row) {
    if (row == selves_[query]) return;
    keys_[query * room_ + counts_[query]++] = key_of(score, row);
  }

  /// Makes room for rows_at_once_max more rows. The rows added afterwards are `next_row` or later
  /// rows.
  void make_room(std::size_t query, VectorRow next_row) {
    if (counts_[query] + rows_at_once_max > room_) cut(query, next_row);
  }

  /// Adds to query 0 the candidates that query `others_query` has in `other`.
  void add_all(const NearestRows& other, std::size_t others_query);

  /// Writes the query's list. If there are fewer than k rows, fills the remaining entries as
  /// VectorSearcher::search does. No rows may be added afterwards.
  void write(std::size_t query, std::span<VectorNeighbor> list);

 private:
  /// Returns a key made of score and row. Keys have the order of (score, row).
  static std::uint64_t key_of(float score, VectorRow row) {
    return std::uint64_t{ordered_of(score)} << 32 | row;
  }
  static VectorNeighbor neighbor_of(std::uint64_t key);

  void cut(std::size_t query, VectorRow next_row);
  void keep_k(std::size_t query);
  void set_gate(std::size_t query, VectorRow next_row);

  std::size_t k_ = 1;
  std::size_t room_ = 0;             ///< the number of keys that each query has room for
  std::vector<std::uint64_t> keys_;  ///< room_ keys for each query; the first counts_ are used
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> bounds_;  ///< the k-th key at the last cut; at first 2^64 - 1
  std::vector<float> gates_;
  std::vector<std::uint64_t> selves_;
  std::vector<const std::uint64_t*> masks_;  ///< nullptr: all rows
};

}  // namespace starling::cpu
