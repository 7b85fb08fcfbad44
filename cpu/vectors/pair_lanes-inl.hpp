// SPDX-License-Identifier: Apache-2.0
// SIMD lanes that each hold a pair of 16-bit integers, and functions that multiply such pairs and
// sum the products exactly in 32 bits. shadow_scan.cpp includes this file once per instruction set.
#if defined(STARLING_CPU_PAIR_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_PAIR_LANES_INL_HPP
#undef STARLING_CPU_PAIR_LANES_INL_HPP
#else
#define STARLING_CPU_PAIR_LANES_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "starling/cpu/vectors/shadows.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;
using IntegerTag = hn::CappedTag<std::int32_t, 16>;
using ComponentTag = hn::Repartition<std::int16_t, IntegerTag>;
using ScoreTag = hn::RebindToFloat<IntegerTag>;
using PairLanes = hn::Vec<ComponentTag>;
using IntegerLanes = hn::Vec<IntegerTag>;
inline constexpr std::size_t pair_lanes = hn::MaxLanes(IntegerTag());

HWY_INLINE IntegerLanes zero_integers() {
  return hn::Zero(IntegerTag());
}
HWY_INLINE PairLanes load_pairs(const ShadowPair* from) {
  return hn::LoadU(ComponentTag(), &from[0][0]);
}
/// Returns the pair at `from` in all lanes.
HWY_INLINE PairLanes all_pairs(const ShadowPair* from) {
  std::int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return hn::BitCast(ComponentTag(), hn::Set(IntegerTag(), pair));
}
/// Multiplies the components of `a` with those of `b` and adds each product to `first` or `second`.
/// On x86 `first` receives all products, and the compiler removes `second`. On NEON one of them
/// receives the products of the low lanes, and the other receives the products of the high lanes.
HWY_INLINE void add_products(PairLanes a, PairLanes b, IntegerLanes& first, IntegerLanes& second) {
  first = hn::ReorderWidenMulAccumulate(IntegerTag(), a, b, first, second);
}
/// Returns for each lane the sum of all products of its pairs. `first` and `second` come from
/// add_products.
HWY_INLINE IntegerLanes total(IntegerLanes first, IntegerLanes second) {
  return hn::RearrangeToOddPlusEven(first, second);
}
HWY_INLINE void store_integers(IntegerLanes values, std::int32_t* to) {
  hn::StoreU(values, IntegerTag(), to);
}
/// Returns a mask. Bit i is set if bases[i] - scale * scales[i] * p <= limit, where p is lane i of
/// `products`.
HWY_INLINE std::uint32_t lanes_within(IntegerLanes products, float scale, const float* scales,
                                      const float* bases, float limit) {
  const ScoreTag tag;
  const auto scaled = hn::Mul(hn::LoadU(tag, scales), hn::ConvertTo(tag, products));
  const auto values = hn::NegMulAdd(hn::Set(tag, scale), scaled, hn::LoadU(tag, bases));
  const auto within = hn::Le(values, hn::Set(tag, limit));
  if (HWY_LIKELY(hn::AllFalse(tag, within))) return 0;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, within, bytes);
  return bytes[0] | std::uint32_t{bytes[1]} << 8;
}

#else

// Plain arrays, for instruction sets that have no vectors or whose vectors have a length that is
// known only at run time.
inline constexpr std::size_t pair_lanes = 4;
struct PairLanes {
  ShadowPair lane[pair_lanes];
};
struct IntegerLanes {
  std::int32_t lane[pair_lanes];
};

HWY_INLINE IntegerLanes zero_integers() {
  return {};
}
HWY_INLINE PairLanes load_pairs(const ShadowPair* from) {
  PairLanes values;
  std::memcpy(values.lane, from, sizeof(values.lane));
  return values;
}
HWY_INLINE PairLanes all_pairs(const ShadowPair* from) {
  PairLanes values;
  for (ShadowPair& lane : values.lane) std::memcpy(lane, from, sizeof(lane));
  return values;
}
HWY_INLINE void add_products(const PairLanes& a, const PairLanes& b, IntegerLanes& first,
                             IntegerLanes& /*second*/) {
  for (std::size_t i = 0; i < pair_lanes; ++i)
    first.lane[i] += a.lane[i][0] * b.lane[i][0] + a.lane[i][1] * b.lane[i][1];
}
HWY_INLINE IntegerLanes total(const IntegerLanes& first, const IntegerLanes& /*second*/) {
  return first;
}
HWY_INLINE void store_integers(const IntegerLanes& values, std::int32_t* to) {
  std::copy_n(values.lane, pair_lanes, to);
}
HWY_INLINE std::uint32_t lanes_within(const IntegerLanes& products, float scale,
                                      const float* scales, const float* bases, float limit) {
  std::uint32_t within = 0;
  for (std::size_t i = 0; i < pair_lanes; ++i) {
    const float scaled = scales[i] * static_cast<float>(products.lane[i]);
    within |= std::uint32_t{bases[i] - scale * scaled <= limit} << i;
  }
  return within;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
