#include "cpu/nearest_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace starling::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t no_bound = ~std::uint64_t{0};
constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;

// A cut costs as much as it keeps: a buffer twice as long spreads that over k rows.
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
  if (first_self == no_row) return;
  for (std::size_t query = 0; query < queries; ++query) selves_[query] = first_self + query;
}

void NearestRows::go_on_from(VectorRow next_row) {
  for (std::size_t query = 0; query < gates_.size(); ++query) set_gate(query, next_row);
}

void NearestRows::merge(std::size_t query, const NearestRows& other) {
  const std::uint64_t* const begin = other.keys_.data() + query * other.room_;
  for (const std::uint64_t key : std::span(begin, other.counts_[query])) {
    if (key > bounds_[query]) continue;
    keys_[query * room_ + counts_[query]++] = key;
    make_room(query, 0);
  }
}

void NearestRows::write(std::size_t query, std::span<VectorNeighbor> list) {
  if (counts_[query] > k_) keep_k(query);
  std::uint64_t* const begin = keys_.data() + query * room_;
  std::uint64_t* const end = begin + counts_[query];
  std::sort(begin, end);
  const auto rest = std::transform(begin, end, list.begin(), neighbor_of);
  std::fill(rest, list.end(), VectorNeighbor{infinity, no_row});
}

// Floats of one sign order as their bits do, and those below zero the other way round.
std::uint64_t NearestRows::key_of(float score, VectorRow row) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t ordered = (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
  return std::uint64_t{ordered} << 32 | row;
}

VectorNeighbor NearestRows::neighbor_of(std::uint64_t key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t bits = (ordered & sign_bit) != 0 ? ordered & ~sign_bit : ~ordered;
  return {std::bit_cast<float>(bits), static_cast<VectorRow>(key)};
}

void NearestRows::cut(std::size_t query, VectorRow next_row) {
  keep_k(query);
  bounds_[query] = keys_[query * room_ + k_ - 1];
  set_gate(query, next_row);
}

// The last of those kept is the largest.
void NearestRows::keep_k(std::size_t query) {
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(query * room_);
  std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(k_ - 1),
                   begin + static_cast<std::ptrdiff_t>(counts_[query]));
  counts_[query] = k_;
}

void NearestRows::set_gate(std::size_t query, VectorRow next_row) {
  if (bounds_[query] == no_bound) return;
  const VectorNeighbor bound = neighbor_of(bounds_[query]);
  gates_[query] = next_row > bound.row ? bound.score : std::nextafter(bound.score, infinity);
}

}  // namespace starling::cpu
