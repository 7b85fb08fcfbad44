// The nearest rows that one thread has met for each of some queries. A query's candidates gather in
// a buffer behind a gate that lets pass only what may still be among its k nearest; a full buffer
// is cut to k, which lowers the gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hwy/contrib/sort/vqsort.h>

#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

class NearestRows {
 public:
  static constexpr std::size_t rows_at_once_max = 16;

  /// Forgets everything. Query 0 is not its own neighbour `first_self`, nor query 1 the row after
  /// it; no_row: all rows are neighbours.
  void start(std::size_t queries, std::uint32_t k, VectorRow first_self);

  /// The same of one query, of which `start` said nothing.
  void pass_over(std::size_t query, VectorRow self) { selves_[query] = self; }
  /// Of this query only rows whose bit is 1 are neighbours, bit i % 64 of word i / 64 for row i.
  void choose_from(std::size_t query, const std::uint64_t* mask) { masks_[query] = mask; }
  const std::uint64_t* mask(std::size_t query) const { return masks_[query]; }

  /// The rows added from here on are `next_row` and later ones, in order, until the next call. A
  /// row that ties with the last of k is let pass only if it may be smaller.
  void go_on_from(VectorRow next_row);

  /// A row with this score or a larger one is not among the k nearest.
  float gate(std::size_t query) const { return gates_[query]; }

  /// A row below the gate. Between two calls of make_room come at most rows_at_once_max.
  void add(std::size_t query, float score, VectorRow row) {
    if (row == selves_[query]) return;
    keys_[query * room_ + counts_[query]++] = key_of(score, row);
  }

  /// After rows were added, `next_row` being the next.
  void make_room(std::size_t query, VectorRow next_row) {
    if (counts_[query] + rows_at_once_max > room_) cut(query, next_row);
  }

  /// Adds to query 0 what another has met for one of its queries.
  void add_all(const NearestRows& other, std::size_t others_query);

  /// Writes the list, padded as VectorSearcher::search has it. Nothing is added afterwards.
  void write(std::size_t query, std::span<VectorNeighbor> list);

 private:
  /// Orders as (score, row) does, and holds both.
  static std::uint64_t key_of(float score, VectorRow row) {
    return std::uint64_t{ordered_of(score)} << 32 | row;
  }
  static VectorNeighbor neighbor_of(std::uint64_t key);

  void cut(std::size_t query, VectorRow next_row);
  void keep_k(std::size_t query);
  void set_gate(std::size_t query, VectorRow next_row);

  hwy::Sorter sorter_;
  std::size_t k_ = 1;
  std::size_t room_ = 0;             ///< for keys, by query
  std::vector<std::uint64_t> keys_;  ///< room_ by query, of which counts_ are in use
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> bounds_;  ///< the k-th least key at the last cut; all ones before
  std::vector<float> gates_;
  std::vector<std::uint64_t> selves_;
  std::vector<const std::uint64_t*> masks_;  ///< nullptr: all rows
};

}  // namespace starling::cpu
