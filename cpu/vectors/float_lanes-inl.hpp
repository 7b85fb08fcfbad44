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
HWY_INLINE FloatLanes least(FloatLanes a, FloatLanes b) {
  return hn::Min(a, b);
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
HWY_INLINE FloatLanes least(const FloatLanes& a, const FloatLanes& b) {
  return each_lane([&](std::size_t i) { return std::min(a.lane[i], b.lane[i]); });
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
