// SPDX-License-Identifier: Apache-2.0
// Builds the grid: scatters the objects into blocks, then orders the objects of each block. See
// grid_index.hpp.
#include "starling/cpu/points/index/grid_index.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

#include "starling/cpu/points/index/passing_test.hpp"
#include "starling/knn/base/headroom.hpp"
#include "starling/knn/base/prefetch.hpp"

namespace starling::cpu {
namespace {

// Tuned on workloads W1 to W4. A block has so few objects that the first-level cache holds the
// block while its inner grid is filled. A cell has so few objects that a search reads few more
// objects than it needs.
constexpr std::size_t block_objects = 192;
constexpr std::size_t cell_objects = 4;
constexpr std::size_t blocks_per_task = 4;
constexpr std::size_t attach_grain = 16;
constexpr std::size_t values_a_line = 64 / sizeof(std::int32_t);

// A limit on the mean number of objects in an object's cell. Above this limit the tree is faster.
constexpr std::uint64_t crowd_max = 48;

// planar3: the objects lie flat if their extent in depth is at most this number of mean distances
// between objects.
constexpr double flat_depth = 4;
// wgs84: the objects lie flat if the cosine of the angle between the earth's surface and the plane
// of the grid is at least this.
constexpr double flat_cosine = 0.45;

}  // namespace

// Frees the memory, because the tree will be used for the next few ticks.
void GridIndex::clear() {
  count_ = 0;
  blocks_ = std::vector<GridBlock>();
  cell_begins_ = std::vector<std::uint32_t>();
  objects_ = std::vector<std::int32_t>();
  tags_ = std::vector<std::uint32_t>();
  ranks_ = std::vector<std::int32_t>();
}

void GridIndex::attach(const ObjectSnapshot& objects, std::span<const std::int64_t> oldest_us,
                       ThreadPool& pool) {
  resize_with_headroom(tags_, count_ + padding);
  resize_with_headroom(ranks_, count_ + padding);
  pool.for_ranges(blocks_.size(), attach_grain, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i) {
      const GridBlock& block = blocks_[i];
      const std::span slots(arrays(block) + dimensions_ * block.count, block.count);
      for (const std::int32_t slot : slots) objects.prefetch_tags(static_cast<Slot>(slot));
      for (std::size_t at = 0; at < slots.size(); ++at) {
        const auto slot = static_cast<Slot>(slots[at]);
        tags_[block.first + at] = objects.tags(slot);
        ranks_[block.first + at] =
            oldest_us.empty() ? 1 : rank_of(objects.time_us(slot), oldest_us);
      }
    }
  });
  has_attached_ = true;
}

bool GridIndex::build(const PointSet& points, Space space, Scratch& scratch, ThreadPool& pool) {
  const std::size_t count = points.count;
  const Box& box = points.box;
  count_ = count;
  has_attached_ = false;
  if (!choose_axes(box, space, count)) {
    clear();
    return false;
  }
  const auto [a, b, depth] = axes_;
  if (count <= few_objects) {
    build_small(points);
    return true;
  }
  outer_ = divide({box.min.*a, box.min.*b}, {box.max.*a, box.max.*b},
                  std::max<std::size_t>(count / block_objects, 1));
  const std::size_t block_count = outer_.cells();
  resize_with_headroom(objects_, (count + padding) * stride());
  BucketScatter& scatter = scratch.scatter;
  scatter.run(
      points, block_count,
      [this](std::span<const LatticePoint> positions, std::span<std::uint32_t> found) {
        find_cells(outer_, axes_[0], positions, found);
      },
      [this, a, b, depth](std::uint32_t place, const LatticePoint& position, Slot slot) {
        std::int32_t* object = &objects_[place * stride()];
        object[0] = position.*a;
        object[1] = position.*b;
        if (dimensions_ == 3) object[2] = position.*depth;
        object[dimensions_] = static_cast<std::int32_t>(slot);
        // There are too many blocks for the hardware prefetcher.
        prefetch_to_write(object + values_a_line);
      },
      pool);

  resize_with_headroom(blocks_, block_count);
  // A block of n objects has at most max(n / cell_objects, 1) cells, and one more begin than cells.
  resize_with_headroom(cell_begins_, count / cell_objects + 2 * block_count + 1);
  std::atomic<std::uint64_t> shared_cells{0};
  const std::size_t tasks = (block_count + blocks_per_task - 1) / blocks_per_task;
  scratch.fills.resize(pool.threads());
  pool.run(tasks, [&](std::size_t task, unsigned thread) {
    std::uint64_t shared = 0;
    const std::size_t last = std::min((task + 1) * blocks_per_task, block_count);
    for (std::size_t block = task * blocks_per_task; block < last; ++block) {
      const std::uint32_t first = scatter.begin(block);
      shared += fill_block(block, first, scatter.size(block), scratch.fills[thread]);
    }
    shared_cells += shared;
  });
  if (shared_cells <= crowd_max * count) return true;
  clear();
  return false;
}

// Makes one block with one cell, because a search among few objects reads all of them.
void GridIndex::build_small(const PointSet& points) {
  const auto [a, b, depth] = axes_;
  resize_with_headroom(objects_, (few_objects + padding) * stride());
  std::size_t at = 0;
  for (std::size_t i = 0; i < points.positions.size(); ++i) {
    const LatticePoint& position = points.positions[i];
    if (position.x == nowhere) continue;
    objects_[at] = position.*a;
    objects_[count_ + at] = position.*b;
    if (dimensions_ == 3) objects_[2 * count_ + at] = position.*depth;
    objects_[dimensions_ * count_ + at] = static_cast<std::int32_t>(points.slot(i));
    ++at;
  }
  outer_ =
      divide({points.box.min.*a, points.box.min.*b}, {points.box.max.*a, points.box.max.*b}, 1);
  resize_with_headroom(blocks_, std::size_t{1});
  resize_with_headroom(cell_begins_, std::size_t{2});
  cell_begins_ = {0, static_cast<std::uint32_t>(count_)};
  blocks_.front() = {.first = 0,
                     .count = static_cast<std::uint32_t>(count_),
                     .grid = outer_,
                     .cells = 0,
                     .radius_sq_per_object = 0};
  blocks_.front().radius_sq_per_object = radius_sq_per_object(blocks_.front());
}

// Returns false if the objects do not lie flat. The depth is the axis along which a projection
// loses least: in planar3 the axis with the shortest extent, in wgs84 the axis closest to the
// normal of the earth's surface.
bool GridIndex::choose_axes(const Box& box, Space space, std::uint64_t objects) {
  constexpr std::array<Axis, 3> all = {&LatticePoint::x, &LatticePoint::y, &LatticePoint::z};
  axes_ = all;
  foreshortening_ = 1;
  if (space == Space::planar2) return true;
  std::array<double, 3> extents;
  std::array<double, 3> least;  // the least distance from the earth's centre along an axis
  double radius_sq = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto low = static_cast<double>(box.min.*all[d]);
    const auto high = static_cast<double>(box.max.*all[d]);
    extents[d] = high - low;
    least[d] = std::max({low, -high, 0.0});
    const double most = std::max(std::abs(low), std::abs(high));
    radius_sq += most * most;
  }
  const std::size_t depth = static_cast<std::size_t>(
      space == Space::wgs84 ? std::max_element(least.begin(), least.end()) - least.begin()
                            : std::min_element(extents.begin(), extents.end()) - extents.begin());
  const std::size_t a = (depth + 1) % 3;
  const std::size_t b = (depth + 2) % 3;
  axes_ = {all[a], all[b], all[depth]};
  if (space == Space::wgs84) {
    const double cosine = least[depth] / std::sqrt(radius_sq);
    foreshortening_ = 1 / std::max(cosine, flat_cosine);
    return cosine >= flat_cosine;
  }
  const double area = (extents[a] + 1) * (extents[b] + 1);
  return extents[depth] <= flat_depth * std::sqrt(area / static_cast<double>(objects));
}

float GridIndex::radius_sq_per_object(const GridBlock& block) const {
  constexpr std::uint32_t telling_count = 8;  // fewer objects do not show the density
  const auto width = [](const Division& division) { return division.extent() + 1.0; };
  const auto& inner = block.grid.divisions;
  const auto& outer = outer_.divisions;
  const double area = block.count >= telling_count
                          ? width(inner[0]) * width(inner[1])
                          : width(outer[0]) * width(outer[1]) / static_cast<double>(outer_.cells());
  const double objects = std::max(1.0, static_cast<double>(block.count));
  return static_cast<float>(foreshortening_ * area / (std::numbers::pi * objects));
}

// Fills one block. Returns the sum, over the objects of the block, of the number of objects in the
// object's cell.
std::uint64_t GridIndex::fill_block(std::size_t index, std::uint32_t first, std::uint32_t count,
                                    FillScratch& scratch) {
  GridBlock& block = blocks_[index];
  block = {};
  block.first = first;
  block.count = count;
  block.cells = static_cast<std::uint32_t>(first / cell_objects + 2 * index);
  std::uint64_t shared = 0;
  if (count > 0) {
    const std::size_t cells = std::max<std::size_t>(count / cell_objects, 1);
    shared = order_by_cell({&objects_[first * stride()], dimensions_, first, count}, cells,
                           block.grid, &cell_begins_[block.cells], scratch);
  }
  block.radius_sq_per_object = radius_sq_per_object(block);
  return shared;
}

std::uint64_t GridIndex::bytes_used() const {
  return blocks_.capacity() * sizeof(GridBlock) + cell_begins_.capacity() * sizeof(std::uint32_t) +
         objects_.capacity() * sizeof(std::int32_t) + tags_.capacity() * sizeof(std::uint32_t) +
         ranks_.capacity() * sizeof(std::int32_t);
}

}  // namespace starling::cpu
