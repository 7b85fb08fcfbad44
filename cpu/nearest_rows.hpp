// The nearest rows that one thread has met for each of some queries. A query's candidates gather in
// a buffer behind a gate that lets pass only what may still be among its k nearest; a full buffer
// is cut to k, which lowers the gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "knn/vectors.hpp"

namespace starling::cpu {

class NearestRows {
 public:
  /// So many rows at most are added between two calls of make_room.
  static constexpr std::size_t rows_at_once_max = 64;

  /// Forgets everything. Query 0 is not its own neighbour `first_self`, nor query 1 the row after
  /// it; no_row: all rows are neighbours.
  void start(std::size_t queries, std::uint32_t k, VectorRow first_self);

  /// The rows added from here on are `next_row` and later ones, until the next call. A row that
  /// ties with the last of k is let pass only if it may be smaller.
  void go_on_from(VectorRow next_row);

  /// A row with this score or a larger one is not among the k nearest.
  float gate(std::size_t query) const { return gates_[query]; }

  void add(std::size_t query, float score, VectorRow row) {
    if (row == selves_[query]) return;
    keys_[query * room_ + counts_[query]++] = key_of(score, row);
  }

  /// After rows were added, `next_row` being the next.
  void make_room(std::size_t query, VectorRow next_row) {
    if (counts_[query] + rows_at_once_max > room_) cut(query, next_row);
  }

  /// Takes over what another thread has met for this query.
  void merge(std::size_t query, const NearestRows& other);

  /// Writes the list, padded as VectorSearcher::search has it. Nothing is added to it afterwards.
  void write(std::size_t query, std::span<VectorNeighbor> list);

 private:
  /// Orders as (score, row) does, and holds both.
  static std::uint64_t key_of(float score, VectorRow row);
  static VectorNeighbor neighbor_of(std::uint64_t key);

  void cut(std::size_t query, VectorRow next_row);
  void keep_k(std::size_t query);
  void set_gate(std::size_t query, VectorRow next_row);

  std::size_t k_ = 1;
  std::size_t room_ = 0;             ///< for keys, by query
  std::vector<std::uint64_t> keys_;  ///< room_ by query, of which counts_ are in use, in no order
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> bounds_;  ///< the k-th least key at the last cut; all ones before
  std::vector<float> gates_;
  std::vector<std::uint64_t> selves_;
};

}  // namespace starling::cpu
