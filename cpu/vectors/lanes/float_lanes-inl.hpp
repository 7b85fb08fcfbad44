// SPDX-License-Identifier: Apache-2.0
// SIMD vectors of floats with a fused multiply-add that rounds once on every instruction set.
// scan.cpp and rates.cpp include this file once per instruction set.
#if defined(STARLING_CPU_FLOAT_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_FLOAT_LANES_INL_HPP
#undef STARLING_CPU_FLOAT_LANES_INL_HPP
#else
#define STARLING_CPU_FLOAT_LANES_INL_HPP
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::CappedTag<float, 16>;
using FloatLanes = hn::Vec<FloatTag>;
inline constexpr std::size_t lanes = hn::MaxLanes(FloatTag());

HWY_INLINE FloatLanes all_lanes(float value) {
  return hn::Set(FloatTag(), value);
}
HWY_INLINE FloatLanes load_lanes(const float* from) {
  return hn::LoadU(FloatTag(), from);
}
HWY_INLINE void store_lanes(FloatLanes values, float* to) {
  hn::StoreU(values, FloatTag(), to);
}
HWY_INLINE FloatLanes subtract(FloatLanes a, FloatLanes b) {
  return hn::Sub(a, b);
}
HWY_INLINE FloatLanes multiply_add(FloatLanes a, FloatLanes b, FloatLanes sum) {
  return hn::MulAdd(a, b, sum);
}
HWY_INLINE FloatLanes add(FloatLanes a, FloatLanes b) {
  return hn::Add(a, b);
}
HWY_INLINE FloatLanes multiply(FloatLanes a, FloatLanes b) {
  return hn::Mul(a, b);
}
HWY_INLINE FloatLanes divide(FloatLanes a, FloatLanes b) {
  return hn::Div(a, b);
}
HWY_INLINE FloatLanes absolute(FloatLanes values) {
  return hn::Abs(values);
}
HWY_INLINE FloatLanes least(FloatLanes a, FloatLanes b) {
  return hn::Min(a, b);
}
HWY_INLINE FloatLanes greatest(FloatLanes a, FloatLanes b) {
  return hn::Max(a, b);
}
/// Returns `yes` in the lanes in which `values` is less than `limit`, and `no` in the others.
HWY_INLINE FloatLanes select_below(FloatLanes values, FloatLanes limit, FloatLanes yes,
                                   FloatLanes no) {
  return hn::IfThenElse(hn::Lt(values, limit), yes, no);
}
/// Divides each value by a power of two 2^e, so that the quotient is in [base, 2 base). Returns the
/// quotients and writes each e to `exponents`. The values must be normal and positive.
HWY_INLINE FloatLanes divide_by_power(FloatLanes values, float base, FloatLanes& exponents) {
  const hn::RebindToSigned<FloatTag> tag;
  const auto bits = hn::BitCast(tag, values);
  const auto powers = hn::ShiftRight<23>(hn::Sub(bits, hn::BitCast(tag, all_lanes(base))));
  exponents = hn::ConvertTo(FloatTag(), powers);
  return hn::BitCast(FloatTag(), hn::Sub(bits, hn::ShiftLeft<23>(powers)));
}
HWY_INLINE bool any_below(FloatLanes values, FloatLanes limit) {
  return !hn::AllFalse(FloatTag(), hn::Lt(values, limit));
}
/// Returns a mask. Bit i is set if lane i of `values` is less than lane i of `limit`.
HWY_INLINE std::uint32_t lanes_below(FloatLanes values, FloatLanes limit) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(FloatTag(), hn::Lt(values, limit), bytes);
  return bytes[0] | std::uint32_t{bytes[1]} << 8;
}

#else

// Plain arrays with std::fma, for two kinds of instruction sets. The first kind has no fused
// multiply-add: Highway would multiply and then add, which rounds twice. The second kind has
// vectors whose length is known only at run time. Such vectors cannot be elements of arrays.
inline constexpr std::size_t lanes = 4;
struct FloatLanes {
  float lane[lanes];
};

template <class Function>
HWY_INLINE FloatLanes each_lane(const Function& function) {
  FloatLanes values;
  for (std::size_t i = 0; i < lanes; ++i) values.lane[i] = function(i);
  return values;
}
HWY_INLINE FloatLanes all_lanes(float value) {
  return each_lane([&](std::size_t) { return value; });
}
HWY_INLINE FloatLanes load_lanes(const float* from) {
  return each_lane([&](std::size_t i) { return from[i]; });
}
HWY_INLINE void store_lanes(const FloatLanes& values, float* to) {
  std::copy_n(values.lane, lanes, to);
}
HWY_INLINE FloatLanes subtract(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return a.lane[i] - b.lane[i]; });
}
HWY_INLINE FloatLanes multiply_add(const FloatLanes& a, const FloatLanes& b,
                                   const FloatLanes& sum) {
  return each_lane([&](std::size_t i) { return std::fma(a.lane[i], b.lane[i], sum.lane[i]); });
}
HWY_INLINE FloatLanes add(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
}
HWY_INLINE FloatLanes multiply(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return a.lane[i] * b.lane[i]; });
}
HWY_INLINE FloatLanes divide(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return a.lane[i] / b.lane[i]; });
}
HWY_INLINE FloatLanes absolute(const FloatLanes& values) {
  return each_lane([&](std::size_t i) { return std::fabs(values.lane[i]); });
}
HWY_INLINE FloatLanes least(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return std::min(a.lane[i], b.lane[i]); });
}
HWY_INLINE FloatLanes greatest(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return std::max(a.lane[i], b.lane[i]); });
}
HWY_INLINE FloatLanes select_below(const FloatLanes& values, const FloatLanes& limit,
                                   const FloatLanes& yes, const FloatLanes& no) {
  return each_lane(
      [&](std::size_t i) { return values.lane[i] < limit.lane[i] ? yes.lane[i] : no.lane[i]; });
}
HWY_INLINE FloatLanes divide_by_power(const FloatLanes& values, float base, FloatLanes& exponents) {
  return each_lane([&](std::size_t i) {
    const auto bits = std::bit_cast<std::int32_t>(values.lane[i]);
    const std::int32_t power = (bits - std::bit_cast<std::int32_t>(base)) >> 23;
    exponents.lane[i] = static_cast<float>(power);
    return std::bit_cast<float>(bits - power * (1 << 23));
  });
}
HWY_INLINE std::uint32_t lanes_below(const FloatLanes& values, const FloatLanes& limit) {
  std::uint32_t below = 0;
  for (std::size_t i = 0; i < lanes; ++i)
    below |= std::uint32_t{values.lane[i] < limit.lane[i]} << i;
  return below;
}
HWY_INLINE bool any_below(const FloatLanes& values, const FloatLanes& limit) {
  return lanes_below(values, limit) != 0;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
