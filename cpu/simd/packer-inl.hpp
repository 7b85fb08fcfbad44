// SPDX-License-Identifier: Apache-2.0
// A Packer moves the lanes that are set in a mask to the front of a vector. One Packer serves
// several vectors. Highway's Compress is slower, because it computes the permutation of the lanes
// from the mask anew for each vector. For vectors of 4 and 8 lanes, Compress of Highway 1.0.3 also
// has its table in a local array, which GCC 12 copies to the stack at each call. grid_search.cpp
// and passing_scan.cpp include this file once per instruction set.
#if defined(STARLING_CPU_PACKER_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_PACKER_INL_HPP
#undef STARLING_CPU_PACKER_INL_HPP
#else
#define STARLING_CPU_PACKER_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "starling/cpu/simd/pack_tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The lanes that are set in a mask, for vectors of up to 16 lanes of 32 bits.
class Packer {
  using Bits = hn::CappedTag<std::uint32_t, 16>;

 public:
  template <class D>
  HWY_INLINE Packer(D d, hn::Mask<D> mask) : mask_(hn::RebindMask(Bits(), mask)) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    bits_ = bytes[0];
    count_ = hn::CountTrue(d, mask);
  }

  std::size_t count() const { return count_; }

  /// Stores to `to`, one after another, the lanes of `values` that are set in the mask. Writes a
  /// whole vector; the lanes past count() are arbitrary.
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> values, hn::TFromD<D>* to) const {
#if HWY_TARGET == HWY_AVX2
    const hn::Rebind<std::uint8_t, Bits> bytes;
    const auto lanes = hn::PromoteTo(Bits(), hn::Load(bytes, pack_8[bits_].lanes));
    hn::StoreU(hn::TableLookupLanes(values, hn::IndicesFromVec(d, lanes)), d, to);
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_NEON
    const hn::Repartition<std::uint8_t, D> bytes;
    const auto packed =
        hn::TableLookupBytes(hn::BitCast(bytes, values), hn::Load(bytes, pack_4[bits_].bytes));
    hn::StoreU(hn::BitCast(d, packed), d, to);
#else
    hn::StoreU(hn::Compress(values, hn::RebindMask(d, mask_)), d, to);
#endif
  }

 private:
  hn::Mask<Bits> mask_;
  std::size_t bits_ = 0;  // the mask's bits for the first 8 lanes
  std::size_t count_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
