// SPDX-License-Identifier: Apache-2.0
// Sorts keys that consist of a cell and an index. The objects of a crowded cell are sorted again by
// a finer grid of their own. A crowd of objects at one point is sorted by id. See place_sort.hpp.
#include "starling/cpu/points/index/place_sort.hpp"

#include <algorithm>
#include <bit>

namespace starling::cpu {
namespace {

// A bucket of about 128 objects is sorted in the first-level cache, and is large enough to amortise
// the call of the SIMD sort.
constexpr std::size_t bucket_objects = 128;
constexpr int bucket_bits_max = 14;

}  // namespace

std::span<const PlacedObject> PlaceSort::sort(const PointSet& points, const ObjectSnapshot& objects,
                                              const CellGrid& grid, std::size_t crowd,
                                              BucketScatter& scatter, ThreadPool& pool) {
  objects_ = &objects;
  dimensions_ = grid.dimensions();
  crowd_ = crowd;
  scratches_.resize(pool.threads());
  const auto wanted = static_cast<int>(std::bit_width(points.count / bucket_objects));
  const int bucket_bits = std::min(wanted, bucket_bits_max);
  const int shift = grid.cell_bits() - bucket_bits;
  const std::size_t buckets = std::size_t{1} << bucket_bits;
  const auto find = [&](std::span<const LatticePoint> positions, std::span<std::uint32_t> found) {
    for (std::size_t i = 0; i < positions.size(); ++i)
      found[i] = static_cast<std::uint32_t>(
          positions[i].x == nowhere ? buckets : std::uint64_t{grid.cell(positions[i])} >> shift);
  };
  placed_.resize(points.count);
  scatter.run(
      points, buckets, find,
      [&](std::uint32_t place, const LatticePoint& position, Slot slot) {
        placed_[place] = {position, slot};
      },
      pool);
  pool.run(scatter.bucket_count(), [&](std::size_t bucket, unsigned thread) {
    const auto run = std::span(placed_).subspan(scatter.begin(bucket), scatter.size(bucket));
    if (run.size() > 1) sort_run(run, grid, scratches_[thread]);
  });
  return placed_;
}

void PlaceSort::sort_run(std::span<PlacedObject> run, const CellGrid& grid, Scratch& scratch) {
  scratch.keys.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i)
    scratch.keys[i] = (std::uint64_t{grid.cell(run[i].position)} << 32) | i;
  sort_keys(scratch.keys);
  scratch.sorted.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i)
    scratch.sorted[i] = run[static_cast<std::uint32_t>(scratch.keys[i])];
  std::ranges::copy(scratch.sorted, run.begin());

  for (std::size_t begin = 0; begin < run.size();) {
    const std::uint32_t cell = grid.cell(run[begin].position);
    std::size_t end = begin + 1;
    while (end < run.size() && grid.cell(run[end].position) == cell) ++end;
    if (end - begin > crowd_) refine(run.subspan(begin, end - begin), scratch);
    begin = end;
  }
}

void PlaceSort::refine(std::span<PlacedObject> run, Scratch& scratch) {
  Box box;
  for (const PlacedObject& object : run) box.add(object.position);
  const CellGrid grid(box, dimensions_);
  if (!grid.is_one_point()) {
    sort_run(run, grid, scratch);
    return;
  }
  sort_by_id(run, scratch);
}

void PlaceSort::sort_by_id(std::span<PlacedObject> run, Scratch& scratch) const {
  // The type hwy::K64V64 is meant for this, but the sort of Highway 1.0.3 loses some of its values.
  scratch.ids.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i)
    scratch.ids[i] = {.lo = i, .hi = to_number(objects_->id(run[i].slot))};
  sort_keys(scratch.ids);
  scratch.sorted.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) scratch.sorted[i] = run[scratch.ids[i].lo];
  std::ranges::copy(scratch.sorted, run.begin());
}

}  // namespace starling::cpu
