// SPDX-License-Identifier: Apache-2.0
// A parallel, stable scatter of points into buckets. The build of each index starts with a scatter.
// The grid calls it directly, the tree through PlaceSort.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "starling/cpu/points/index/point_set.hpp"
#include "starling/knn/base/headroom.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {

/// The buckets from `first` to `first` + `count` - 1.
struct BucketRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class BucketScatter {
 public:
  /// Calls put(place, position, slot) once for each point, from several threads. The points of a
  /// bucket get consecutive places, in the order of `points`. This holds for any number of threads.
  ///
  /// find(positions, found) writes the bucket of each position to `found`, which is as long as
  /// `positions`. There are `buckets` buckets. The bucket of a dead object is `buckets`.
  template <class Find, class Put>
  void run(const PointSet& points, std::size_t buckets, const Find& find, const Put& put,
           ThreadPool& pool);

  std::size_t bucket_count() const { return begins_.size() - 1; }
  std::uint32_t begin(std::size_t bucket) const { return begins_[bucket]; }
  std::uint32_t size(std::size_t bucket) const { return begins_[bucket + 1] - begins_[bucket]; }

 private:
  // With more groups, a group would spend more time on reading all positions than on writing its
  // own objects.
  static constexpr std::size_t groups_max = 4;
  static constexpr std::size_t positions_at_once = 512;  // they stay in the first-level cache

  template <class Act>
  void for_each_in(const BucketRange& range, std::size_t begin, std::size_t end, const Act& act);
  BucketRange group(std::size_t index, std::size_t groups) const;

  std::vector<std::uint32_t> buckets_;              ///< [position]
  std::vector<std::uint32_t> begins_;               ///< [bucket]
  std::vector<std::vector<std::uint32_t>> places_;  ///< [slice of the points][bucket]
};

// First each thread finds the buckets of one slice of the points, and counts the points of each
// bucket. Then the buckets are divided into groups, and each group is written by its own threads.
// Different groups write to different cache lines, except where two groups meet. Without groups,
// the scatter of workload W3 took twice as long.
template <class Find, class Put>
void BucketScatter::run(const PointSet& points, std::size_t buckets, const Find& find,
                        const Put& put, ThreadPool& pool) {
  const std::span<const LatticePoint> positions = points.positions;
  const std::size_t slices = pool.threads();
  const auto slice_begin = [&](std::size_t slice) { return positions.size() * slice / slices; };
  resize_with_headroom(buckets_, positions.size());
  places_.resize(slices);
  pool.run(slices, [&](std::size_t slice, unsigned) {
    std::vector<std::uint32_t>& counts = places_[slice];
    counts.assign(buckets + 1, 0);
    const std::size_t end = slice_begin(slice + 1);
    for (std::size_t i = slice_begin(slice); i < end; i += positions_at_once) {
      const std::size_t count = std::min(positions_at_once, end - i);
      const std::span found = std::span(buckets_).subspan(i, count);
      find(positions.subspan(i, count), found);
      for (const std::uint32_t bucket : found) ++counts[bucket];
    }
  });
  begins_.resize(buckets + 1);
  std::uint32_t place = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    begins_[bucket] = place;
    for (std::vector<std::uint32_t>& counts : places_)
      place += std::exchange(counts[bucket], place);
  }
  begins_[buckets] = place;
  const std::size_t groups = std::min(slices, groups_max);
  const std::size_t threads_a_group = (slices + groups - 1) / groups;
  pool.run(groups * threads_a_group, [&](std::size_t task, unsigned) {
    const BucketRange range = group(task / threads_a_group, groups);
    const std::size_t part = task % threads_a_group;
    const std::size_t end = slices * (part + 1) / threads_a_group;
    for (std::size_t slice = slices * part / threads_a_group; slice < end; ++slice)
      for_each_in(range, slice_begin(slice), slice_begin(slice + 1),
                  [&, places = places_[slice].data()](std::size_t index) {
                    put(places[buckets_[index]]++, positions[index], points.slot(index));
                  });
  });
}

// Calls act(index) for the points from index `begin` to `end` - 1 whose bucket is in the range.
// First lists the indexes of these points without branches, because a branch that depends on the
// bucket would often be predicted wrongly.
template <class Act>
void BucketScatter::for_each_in(const BucketRange& range, std::size_t begin, std::size_t end,
                                const Act& act) {
  std::array<std::uint32_t, positions_at_once> indexes;
  for (std::size_t first = begin; first < end; first += positions_at_once) {
    const std::size_t last = std::min(first + positions_at_once, end);
    std::size_t count = 0;
    for (std::size_t i = first; i < last; ++i) {
      indexes[count] = static_cast<std::uint32_t>(i);
      count += buckets_[i] - range.first < range.count ? 1u : 0u;
    }
    for (std::size_t i = 0; i < count; ++i) act(indexes[i]);
  }
}

// Returns the buckets of a group. Each group has about the same number of objects.
inline BucketRange BucketScatter::group(std::size_t index, std::size_t groups) const {
  const auto border = [&](std::size_t group) {
    const auto objects = static_cast<std::uint32_t>(std::uint64_t{begins_.back()} * group / groups);
    const auto buckets = std::lower_bound(begins_.begin(), begins_.end() - 1, objects);
    return static_cast<std::uint32_t>(buckets - begins_.begin());
  };
  const std::uint32_t first = index == 0 ? 0 : border(index);
  const auto end =
      index + 1 == groups ? static_cast<std::uint32_t>(bucket_count()) : border(index + 1);
  return {first, end - first};
}

}  // namespace starling::cpu
