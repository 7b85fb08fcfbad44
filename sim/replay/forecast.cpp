// SPDX-License-Identifier: Apache-2.0
// Counts rows in a bounded number of buckets of time, which become wider as the trace becomes
// longer: see forecast.hpp.
#include "starling/sim/replay/forecast.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "starling/sim/replay/replay.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t buckets_max = 8192;
constexpr std::uint64_t far_rows_divisor = 100;  // far rows are at most 1 % of all rows

std::uint64_t span_us(std::int64_t from_us, std::int64_t to_us) {
  return static_cast<std::uint64_t>(to_us) - static_cast<std::uint64_t>(from_us);
}

}  // namespace

Forecast::Forecast(std::int64_t tick_us, bool in_file_order)
    : tick_us_(tick_us), in_file_order_(in_file_order) {}

void Forecast::add(const TraceRow& row) {
  if (rows_++ == 0) first_row_us_ = oldest_us_ = newest_us_ = row.time_us;
  oldest_us_ = std::min(oldest_us_, row.time_us);
  newest_us_ = std::max(newest_us_, row.time_us);
  const auto [first, is_new] = first_us_.try_emplace(row.id, row.time_us);
  if (!is_new) first->second = std::min(first->second, row.time_us);
  count(row.time_us);
}

void Forecast::count(std::int64_t time_us) {
  const std::int64_t tick = first_tick_us(time_us, tick_us_) / tick_us_;
  Bucket& bucket = buckets_.try_emplace(tick >> shift_, Bucket{0, time_us, time_us}).first->second;
  ++bucket.rows;
  bucket.oldest_us = std::min(bucket.oldest_us, time_us);
  bucket.newest_us = std::max(bucket.newest_us, time_us);
  while (buckets_.size() > buckets_max) widen();
}

void Forecast::widen() {
  ++shift_;
  Buckets wider;
  for (const auto& [index, bucket] : buckets_) {
    Bucket& sum =
        wider.try_emplace(index >> 1, Bucket{0, bucket.oldest_us, bucket.newest_us}).first->second;
    sum.rows += bucket.rows;
    sum.oldest_us = std::min(sum.oldest_us, bucket.oldest_us);
    sum.newest_us = std::max(sum.newest_us, bucket.newest_us);
  }
  buckets_ = std::move(wider);
}

std::int64_t Forecast::start_us() const {
  return first_tick_us(in_file_order_ ? first_row_us_ : oldest_us_, tick_us_);
}

std::int64_t Forecast::end_us() const {
  return std::max(start_us(), first_tick_us(newest_us_, tick_us_));
}

std::uint64_t Forecast::ticks_between(std::int64_t from_us, std::int64_t to_us) const {
  return to_us <= from_us ? 0 : span_us(from_us, to_us) / static_cast<std::uint64_t>(tick_us_);
}

std::uint64_t Forecast::ticks() const {
  return ticks_between(start_us(), end_us()) + 1;
}

std::uint64_t Forecast::ticks_with_rows_max() const {
  const std::uint64_t bucket_ticks = std::uint64_t{1} << shift_;
  return buckets_.size() < ticks() / bucket_ticks ? buckets_.size() * bucket_ticks : ticks();
}

std::uint64_t Forecast::lists_of_objects() const {
  std::uint64_t lists = 0;
  for (const auto& [id, time_us] : first_us_)
    lists += ticks_between(std::max(start_us(), first_tick_us(time_us, tick_us_)), end_us()) + 1;
  return lists;
}

std::vector<FarRows> Forecast::far_rows() const {
  std::vector<Bucket> sorted;
  sorted.reserve(buckets_.size());
  for (const auto& [index, bucket] : buckets_) sorted.push_back(bucket);
  std::ranges::sort(sorted, {}, &Bucket::oldest_us);
  std::span<const Bucket> others = sorted;
  const std::uint64_t rows_max = rows_ / far_rows_divisor;

  // Removes from one end of `others` the largest group of rows that is far from the rest.
  const auto take = [&](bool is_after) -> std::optional<FarRows> {
    std::optional<FarRows> far;
    std::size_t far_buckets = 0;
    std::uint64_t rows = 0;
    for (std::size_t taken = 1; taken < others.size(); ++taken) {
      const std::size_t last = others.size() - taken;
      const Bucket& end = is_after ? others[last] : others[taken - 1];
      const Bucket& next = is_after ? others[last - 1] : others[taken];
      rows += end.rows;
      if (rows > rows_max) break;
      const std::uint64_t gap_us = is_after ? span_us(next.newest_us, end.oldest_us)
                                            : span_us(end.newest_us, next.oldest_us);
      const std::uint64_t rest_us = is_after ? span_us(others.front().oldest_us, next.newest_us)
                                             : span_us(next.oldest_us, others.back().newest_us);
      if (gap_us < rest_us) continue;
      far_buckets = taken;
      if (is_after)
        far = FarRows{true,           rows,
                      end.oldest_us,  others.back().newest_us,
                      next.newest_us, ticks_between(next.newest_us, others.back().newest_us)};
      else
        far = FarRows{
            false,         rows,           others.front().oldest_us,
            end.newest_us, next.oldest_us, ticks_between(others.front().oldest_us, next.oldest_us)};
    }
    others = is_after ? others.first(others.size() - far_buckets) : others.subspan(far_buckets);
    return far;
  };

  // Far rows at the end can hide those at the start, so the start is tried again without the end.
  std::optional<FarRows> before = take(false);
  const std::optional<FarRows> after = take(true);
  if (!before) before = take(false);
  std::vector<FarRows> found;
  if (before) found.push_back(*before);
  if (after) found.push_back(*after);
  return found;
}

}  // namespace starling::sim
