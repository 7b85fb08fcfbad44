// SPDX-License-Identifier: Apache-2.0
// Implements CandidateRows. A candidate is a key of 64 bits; keys have the order of (upper bound,
// row). A cut sorts the keys with SIMD and keeps the first k. A later key stays if its lower bound
// is not above the reach of the k-th upper bound.
#include "starling/cpu/vectors/candidate_rows.hpp"

#include <algorithm>

#include "starling/cpu/simd/key_sort.hpp"

namespace starling::cpu {
namespace {

// A cut sorts the whole buffer. To keep cuts rare, max(k, this number) rows are added between two
// cuts.
constexpr std::size_t rows_between_cuts_min = 96;
// After a cut, a buffer may hold max(k, this number) rows in addition to the first k. The bounds do
// not decide whether these rows are among the k nearest.
constexpr std::size_t doubtful_rows_min = 512;

constexpr float no_row_passes = -std::numeric_limits<float>::infinity();

}  // namespace

void CandidateRows::start(const ScoreInterval& interval, const ShadowPanels& corpus,
                          const ShadowTiles& queries, std::uint32_t k, VectorRow first_self) {
  interval_ = &interval;
  corpus_ = &corpus;
  queries_ = &queries;
  k_ = k;
  first_self_ = first_self;
  const std::size_t count = queries.queries();
  room_ = k_ + std::max(k_, doubtful_rows_min) + std::max(k_, rows_between_cuts_min);
  if (keys_.size() < count * room_) keys_.resize(count * room_);
  counts_.assign(count, 0);
  cuts_at_.assign(count, k_ + std::max(k_, rows_between_cuts_min));
  reaches_.assign(count, infinity);
  limits_.assign(count, std::numeric_limits<float>::max());
  has_failed_.assign(count, 0);
  failures_ = 0;
}

void CandidateRows::go_on_with(const ShadowMaxima& maxima) {
  maxima_ = maxima;
  for (std::size_t query = 0; query < limits_.size(); ++query)
    if (!has_failed(query)) set_limit(query);
}

void CandidateRows::add(std::size_t query, VectorRow row, std::int32_t product) {
  if (first_self_ != no_row && row == first_self_ + query) return;
  const Shadow& x = queries_->shadow(query);
  const Shadow& y = corpus_->shadow(row);
  const double middle = interval_->middle(x, y, product);
  const double half_width = interval_->half_width(x, y);
  if (middle - half_width > reaches_[query]) return;
  const float above = ScoreInterval::above(middle + half_width);
  add_key(query, std::uint64_t{ordered_of(above)} << 32 | row);
}

void CandidateRows::add_all(const CandidateRows& other, std::size_t query) {
  if (other.has_failed(query)) fail(query);
  const std::uint64_t* const keys = other.keys_.data() + query * other.room_;
  for (const std::uint64_t key : std::span(keys, other.counts_[query])) {
    if (has_failed(query)) return;
    add_key(query, key);
  }
}

std::span<const std::uint64_t> CandidateRows::finish(std::size_t query) {
  cut(query);
  return std::span(keys_).subspan(query * room_, counts_[query]);
}

void CandidateRows::add_key(std::size_t query, std::uint64_t key) {
  keys_[query * room_ + counts_[query]++] = key;
  if (counts_[query] < cuts_at_[query]) return;
  cut(query);
  cuts_at_[query] = counts_[query] + std::max(k_, rows_between_cuts_min);
  if (cuts_at_[query] > room_)
    fail(query);
  else
    set_limit(query);
}

void CandidateRows::cut(std::size_t query) {
  const std::span<std::uint64_t> keys = std::span(keys_).subspan(query * room_, counts_[query]);
  if (keys.size() <= k_) return;
  sort_keys(keys);
  const auto above = [](std::uint64_t key) {
    return score_of_ordered(static_cast<std::uint32_t>(key >> 32));
  };
  const double reach = interval_->reach(above(keys[k_ - 1]));
  const Shadow& x = queries_->shadow(query);
  const auto rest = std::remove_if(
      keys.begin() + static_cast<std::ptrdiff_t>(k_), keys.end(), [&](std::uint64_t key) {
        const Shadow& y = corpus_->shadow(static_cast<VectorRow>(key));
        return ScoreInterval::below(above(key), interval_->half_width(x, y)) > reach;
      });
  counts_[query] = static_cast<std::size_t>(rest - keys.begin());
  reaches_[query] = reach;
}

void CandidateRows::set_limit(std::size_t query) {
  limits_[query] = interval_->limit(queries_->shadow(query), maxima_, reaches_[query]);
}

void CandidateRows::fail_all() {
  for (std::size_t query = 0; query < has_failed_.size(); ++query) fail(query);
}

void CandidateRows::fail(std::size_t query) {
  if (has_failed(query)) return;
  ++failures_;
  has_failed_[query] = 1;
  counts_[query] = 0;
  reaches_[query] = -infinity;
  limits_[query] = no_row_passes;
}

}  // namespace starling::cpu
