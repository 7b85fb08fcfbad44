// SPDX-License-Identifier: Apache-2.0
// Implements NearestRows. A candidate is one 64-bit key made of its score and row. A cut sorts the
// keys of a buffer with SIMD and keeps the first k.
#include "starling/cpu/vectors/nearest_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "starling/cpu/simd/key_sort.hpp"

namespace starling::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t no_bound = ~std::uint64_t{0};

// The cost of a cut is proportional to the number of keys that it sorts. A buffer has room for at
// least 2 k keys, so at least k rows are added between two cuts.
constexpr std::size_t rows_between_cuts_min = 128;

}  // namespace

void NearestRows::start(std::size_t queries, std::uint32_t k, VectorRow first_self) {
  k_ = k;
  room_ = k_ + std::max(k_, rows_between_cuts_min) + rows_at_once_max;
  if (keys_.size() < queries * room_) keys_.resize(queries * room_);
  counts_.assign(queries, 0);
  bounds_.assign(queries, no_bound);
  gates_.assign(queries, infinity);
  selves_.assign(queries, no_row);
  masks_.assign(queries, nullptr);
  if (first_self == no_row) return;
  for (std::size_t query = 0; query < queries; ++query) selves_[query] = first_self + query;
}

void NearestRows::go_on_from(VectorRow next_row) {
  for (std::size_t query = 0; query < gates_.size(); ++query) set_gate(query, next_row);
}

void NearestRows::add_all(const NearestRows& other, std::size_t others_query) {
  const std::uint64_t* const keys = other.keys_.data() + others_query * other.room_;
  for (const std::uint64_t key : std::span(keys, other.counts_[others_query])) {
    if (key > bounds_[0]) continue;
    keys_[counts_[0]++] = key;
    make_room(0, 0);
  }
}

void NearestRows::write(std::size_t query, std::span<VectorNeighbor> list) {
  keep_k(query);
  const std::uint64_t* const keys = keys_.data() + query * room_;
  const auto rest = std::transform(keys, keys + counts_[query], list.begin(), neighbor_of);
  std::fill(rest, list.end(), VectorNeighbor{infinity, no_row});
}

VectorNeighbor NearestRows::neighbor_of(std::uint64_t key) {
  return {score_of_ordered(static_cast<std::uint32_t>(key >> 32)), static_cast<VectorRow>(key)};
}

void NearestRows::cut(std::size_t query, VectorRow next_row) {
  keep_k(query);
  bounds_[query] = keys_[query * room_ + k_ - 1];
  set_gate(query, next_row);
}

// A selection of the k smallest keys by std::nth_element is not faster than this sort of all keys.
void NearestRows::keep_k(std::size_t query) {
  sort_keys(std::span(keys_).subspan(query * room_, counts_[query]));
  counts_[query] = std::min(counts_[query], k_);
}

void NearestRows::set_gate(std::size_t query, VectorRow next_row) {
  if (bounds_[query] == no_bound) return;
  const VectorNeighbor bound = neighbor_of(bounds_[query]);
  gates_[query] = next_row > bound.row ? bound.score : std::nextafter(bound.score, infinity);
}

}  // namespace starling::cpu
