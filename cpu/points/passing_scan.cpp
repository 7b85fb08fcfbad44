// SPDX-License-Identifier: Apache-2.0
// Computes the ranks of a block of objects, then tests these objects for one filter after the
// other: see passing_scan.hpp. Compiled once per instruction set.
#include "starling/cpu/points/passing_scan.hpp"

#include <algorithm>
#include <array>

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/points/passing_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "starling/cpu/simd/packer-inl.hpp"

#ifndef STARLING_CPU_PASSING_BLOCK
#define STARLING_CPU_PASSING_BLOCK
namespace starling::cpu {

/// A part of the objects. It is so small that it stays in the first-level cache, together with the
/// slots that are found.
struct PassingBlock {
  static constexpr std::size_t objects_max = 1024;
  static constexpr std::size_t padding = 16;  ///< SIMD code reads and writes full vectors

  Slot first = 0;
  std::size_t count = 0;
  std::array<std::uint32_t, objects_max + padding> tags;
  std::array<std::int32_t, objects_max + padding> ranks;  ///< [object]; 0 after the last object
  std::array<Slot, objects_max + padding> found;
};

}  // namespace starling::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

// Writes the slots that pass to block.found, and returns their number.
std::size_t find_passing_in(PassingBlock& block, const PassingTest& test) {
  const hn::CappedTag<std::uint32_t, PassingBlock::padding> u;
  const hn::RebindToSigned<decltype(u)> d;
  const auto care = hn::Set(u, test.care);
  const auto required = hn::Set(u, test.required);
  const auto too_low = hn::Set(d, test.least_rank - 1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < block.count; i += hn::Lanes(u)) {
    const auto tags_pass = hn::Eq(hn::And(hn::LoadU(u, &block.tags[i]), care), required);
    const auto ranks_pass = hn::Gt(hn::LoadU(d, &block.ranks[i]), too_low);
    const auto pass = hn::And(tags_pass, hn::RebindMask(u, ranks_pass));
    if (hn::AllFalse(u, pass)) continue;
    const Packer packer(u, pass);
    packer.store(u, hn::Iota(u, static_cast<std::uint32_t>(block.first + i)), &block.found[count]);
    count += packer.count();
  }
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(find_passing_in);

namespace {

void load(const ObjectSnapshot& objects, std::span<const std::int64_t> oldest_us,
          PassingBlock& block) {
  const auto positions = objects.positions().subspan(block.first, block.count);
  const auto times_us = objects.times_us().subspan(block.first, block.count);
  std::ranges::copy(objects.tags().subspan(block.first, block.count), block.tags.begin());
  for (std::size_t i = 0; i < block.count; ++i) block.ranks[i] = positions[i].x == nowhere ? 0 : 1;
  if (!oldest_us.empty())
    for (std::size_t i = 0; i < block.count; ++i)
      if (block.ranks[i] != 0) block.ranks[i] = rank_of(times_us[i], oldest_us);
  std::fill_n(block.ranks.begin() + block.count, PassingBlock::padding, 0);
}

}  // namespace

void PassingScan::run(const ObjectSnapshot& objects, std::span<const PassingTest> tests,
                      std::span<const std::int64_t> oldest_us, ThreadPool& pool) {
  slices_ = pool.threads();
  found_.resize(slices_ * tests.size());
  const std::size_t slots = objects.slot_count();
  pool.run(slices_, [&](std::size_t slice, unsigned) {
    const auto found = std::span(found_).subspan(slice * tests.size(), tests.size());
    for (std::vector<Slot>& of_test : found) of_test.clear();
    PassingBlock block;
    const std::size_t end = slots * (slice + 1) / slices_;
    for (std::size_t i = slots * slice / slices_; i < end; i += PassingBlock::objects_max) {
      block.first = static_cast<Slot>(i);
      block.count = std::min(PassingBlock::objects_max, end - i);
      load(objects, oldest_us, block);
      for (std::size_t test = 0; test < tests.size(); ++test) {
        const std::size_t count = HWY_DYNAMIC_DISPATCH(find_passing_in)(block, tests[test]);
        if (count > 0)
          found[test].insert(found[test].end(), block.found.begin(),
                             block.found.begin() + static_cast<std::ptrdiff_t>(count));
      }
    }
  });
}

void PassingScan::append_slots(std::size_t test, std::vector<Slot>& slots) const {
  const std::size_t tests = found_.size() / slices_;
  for (std::size_t slice = 0; slice < slices_; ++slice) {
    const std::vector<Slot>& found = found_[slice * tests + test];
    slots.insert(slots.end(), found.begin(), found.end());
  }
}

std::uint64_t PassingScan::bytes_used() const {
  std::uint64_t bytes = 0;
  for (const std::vector<Slot>& found : found_) bytes += found.capacity() * sizeof(Slot);
  return bytes;
}

}  // namespace starling::cpu
#endif
