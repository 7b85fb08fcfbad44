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
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {

/// The positions whose bucket is in a given range: the index and the bucket of each position.
struct FoundBuckets {
  static constexpr std::size_t positions_max = 256;
  static constexpr std::size_t padding = 16;  ///< SIMD code writes full vectors

  std::size_t count = 0;
  std::array<std::uint32_t, positions_max + padding> indexes;
  std::array<std::uint32_t, positions_max + padding> buckets;
};

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
  /// find(positions, range, found) gets at most FoundBuckets::positions_max positions. It writes to
  /// `found`, in order, the points whose bucket is in the range. There are `buckets` buckets.
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

  BucketRange group(std::size_t index, std::size_t groups) const;

  std::vector<std::uint32_t> begins_;
  std::vector<std::vector<std::uint32_t>> places_;  ///< by slice of the points, then by bucket
};

// First each thread counts the points of one slice by bucket. Then the buckets are divided into
// groups, and each group is written by its own threads. Different groups write to different cache
// lines, except where two groups meet. Without groups, the scatter of workload W3 took twice as
// long.
template <class Find, class Put>
void BucketScatter::run(const PointSet& points, std::size_t buckets, const Find& find,
                        const Put& put, ThreadPool& pool) {
  const std::span<const LatticePoint> positions = points.positions;
  const std::size_t slices = pool.threads();
  // Calls act(index, bucket) for the points of a slice whose bucket is in the range.
  const auto for_each = [&](std::size_t slice, const BucketRange& range, const auto& act) {
    FoundBuckets found;
    const std::size_t end = positions.size() * (slice + 1) / slices;
    constexpr std::size_t step = FoundBuckets::positions_max;
    for (std::size_t i = positions.size() * slice / slices; i < end; i += step) {
      find(positions.subspan(i, std::min(step, end - i)), range, found);
      for (std::size_t j = 0; j < found.count; ++j) act(i + found.indexes[j], found.buckets[j]);
    }
  };
  const BucketRange all{0, static_cast<std::uint32_t>(buckets)};
  places_.resize(slices);
  pool.run(slices, [&](std::size_t slice, unsigned) {
    std::vector<std::uint32_t>& counts = places_[slice];
    counts.assign(buckets, 0);
    for_each(slice, all, [&](std::size_t, std::uint32_t bucket) { ++counts[bucket]; });
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
      for_each(slice, range,
               [&, places = places_[slice].data()](std::size_t index, std::uint32_t bucket) {
                 put(places[bucket]++, positions[index], points.slot(index));
               });
  });
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
