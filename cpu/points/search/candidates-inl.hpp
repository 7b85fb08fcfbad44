// SPDX-License-Identifier: Apache-2.0
// The objects gathered for a search, and decisions from their estimated distances, before exact
// distances are computed. grid_search.cpp includes this file once per instruction set.
#if defined(STARLING_CPU_CANDIDATES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_CANDIDATES_INL_HPP
#undef STARLING_CPU_CANDIDATES_INL_HPP
#else
#define STARLING_CPU_CANDIDATES_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <hwy/highway.h>

#include "starling/cpu/points/search/ranking-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

struct Candidates {
  const float* estimates;  ///< estimated squared distances; readable for two vectors past the end
  const std::int32_t* gaps[3];  ///< [axis]: the candidate's coordinate minus the query's
  const std::int32_t* slots;
  std::size_t count;

  /// Returns the exact squared distance of candidate i.
  template <std::size_t dimensions>
  std::uint64_t distance_sq(std::size_t i) const {
    std::uint64_t sum = 0;
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      const std::int64_t gap = gaps[axis][i];
      sum += static_cast<std::uint64_t>(gap * gap);
    }
    return sum;
  }
};

/// Returns a mask for one vector of candidates from `first` on: the candidates whose estimates are
/// at most `limit`.
HWY_INLINE hn::Mask<FloatLanes> within(float limit, const Candidates& candidates,
                                       std::size_t first) {
  const FloatLanes f;
  return hn::And(hn::Le(hn::LoadU(f, candidates.estimates + first), hn::Set(f, limit)),
                 hn::FirstN(f, candidates.count - first));
}

inline std::size_t count_within(float limit, const Candidates& candidates) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < candidates.count; i += hn::Lanes(FloatLanes()))
    count += hn::CountTrue(FloatLanes(), within(limit, candidates, i));
  return count;
}

/// Returns a limit on estimates. It is close to the k-th smallest estimate and not below the
/// estimates of the k nearest candidates. Returns `limit` if there are fewer than k candidates. On
/// a plane the number of objects within a distance grows with the square of the distance. Linear
/// interpolation on squared distances therefore comes close in two or three steps.
inline float limit_near(std::size_t k, const Candidates& candidates, float limit) {
  constexpr int steps_max = 5;
  const std::size_t slack = 4 + k / 8;
  float low = 0;
  float high = limit;
  std::size_t count_low = 0;
  std::size_t count_high = candidates.count;
  for (int step = 0; step < steps_max && count_high > k + slack; ++step) {
    const float share =
        (static_cast<float>(k - count_low) + 2.0f) / static_cast<float>(count_high - count_low);
    const float middle = low + (high - low) * share;
    if (!(middle > low && middle < high)) break;
    const std::size_t count = count_within(middle, candidates);
    (count >= k ? high : low) = middle;
    (count >= k ? count_high : count_low) = count;
  }
  // If at least k objects have estimates up to `high`, the k-th distance is within widened(high).
  return count_high >= k ? std::min(limit, widened(high)) : limit;
}

/// For each candidate of two vectors, the number of candidates with smaller estimates. Two vectors
/// are counted at a time, because the additions for one vector must wait for each other.
struct TwoCounts {
  hn::Vec<Lanes> first, second;
};
HWY_INLINE TwoCounts count_smaller(const Candidates& candidates, hn::Vec<FloatLanes> first,
                                   hn::Vec<FloatLanes> second) {
  const Lanes d;
  const FloatLanes f;
  auto of_first = hn::Zero(d);
  auto of_second = hn::Zero(d);
  for (std::size_t i = 0; i < candidates.count; ++i) {
    const auto other = hn::Set(f, candidates.estimates[i]);
    // A true lane of a mask becomes the number -1.
    of_first = hn::Sub(of_first, hn::VecFromMask(d, hn::RebindMask(d, hn::Lt(other, first))));
    of_second = hn::Sub(of_second, hn::VecFromMask(d, hn::RebindMask(d, hn::Lt(other, second))));
  }
  return {of_first, of_second};
}

/// Writes the indexes of the candidates to `order`, sorted by estimate. Returns false if there are
/// too many candidates, if estimates tie, or if the estimates do not determine the k nearest with
/// certainty.
inline bool order_by_estimates(const Candidates& candidates, std::size_t k,
                               std::span<std::uint8_t, few> order) {
  const Lanes d;
  const FloatLanes f;
  const std::size_t count = candidates.count;
  if (count > few) return false;
  HWY_ALIGN std::int32_t ranks[few + 2 * lanes_max];
  for (std::size_t block = 0; block < count; block += 2 * hn::Lanes(f)) {
    const std::size_t second = block + hn::Lanes(f);
    const TwoCounts smaller = count_smaller(candidates, hn::LoadU(f, candidates.estimates + block),
                                            hn::LoadU(f, candidates.estimates + second));
    hn::Store(smaller.first, d, ranks + block);
    hn::Store(smaller.second, d, ranks + second);
  }
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    order[static_cast<std::size_t>(ranks[i])] = static_cast<std::uint8_t>(i);
    sum += static_cast<std::size_t>(ranks[i]);
  }
  const bool has_ties = 2 * sum != count * (count - 1);
  if (has_ties) return false;
  return count <= k || candidates.estimates[order[k]] > widened(candidates.estimates[order[k - 1]]);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
