#include "cpu/grid_index.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <utility>

namespace starling::cpu {
namespace {

// Tuned on W1 to W4: few enough objects a block that its inner grid is filled in the first-level
// cache, few enough a cell that a search sees little more than it needs.
constexpr std::size_t block_objects = 128;
constexpr std::size_t cell_objects = 2;
constexpr std::size_t blocks_per_task = 16;

// Mean number of objects that share an object's cell, past which the tree is the faster index.
constexpr double crowd_max = 48;

// planar3: depth, in mean distances between objects, up to which a volume counts as flat.
constexpr double flat_depth = 4;
// wgs84: least cosine between the earth's surface and the grid's plane.
constexpr double flat_cosine = 0.45;

std::array<std::int32_t, 3> to_array(const LatticePoint& p) {
  return {p.x, p.y, p.z};
}

std::uint32_t distance(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
}

template <class T>
void resize_to(std::vector<T>& values, std::size_t count) {
  if (count > values.capacity()) values.reserve(count + count / 16);
  values.resize(count);
}

// The least shift at which an extent of a by b has at most `cells` cells.
std::uint32_t shift_for(std::uint32_t a, std::uint32_t b, std::size_t cells) {
  std::uint32_t shift = 0;
  while (((std::uint64_t{a} >> shift) + 1) * ((std::uint64_t{b} >> shift) + 1) > cells) ++shift;
  return shift;
}

}  // namespace

void GridIndex::clear() {
  blocks_.clear();
  cell_begins_.clear();
  for (auto& values : coordinates_) values.clear();
  slots_.assign(padding, no_slot);
}

bool GridIndex::build(const ObjectSnapshot& objects, const Box& box, Space space,
                      BucketScatter& scatter, ThreadPool& pool) {
  const std::size_t count = objects.alive_count();
  if (!choose_axes(box, space, count)) {
    clear();
    return false;
  }
  lay_outer_grid(box, count);
  const std::size_t block_count = std::size_t{outer_.columns} * outer_.rows;
  scatter.run(
      objects, block_count,
      [&](const LatticePoint& position) {
        const auto at = to_array(position);
        const std::uint32_t column = distance(outer_.origin[0], at[axes_[0]]) >> outer_.shift;
        const std::uint32_t row = distance(outer_.origin[1], at[axes_[1]]) >> outer_.shift;
        return std::size_t{row} * outer_.columns + column;
      },
      pool);

  resize_to(blocks_, block_count);
  // A block of n objects has at most n / 2 + 1 cells, and one begin more.
  resize_to(cell_begins_, count / cell_objects + 2 * block_count + 1);
  for (std::size_t d = 0; d < dimensions_; ++d) resize_to(coordinates_[d], count + padding);
  resize_to(slots_, count + padding);
  std::atomic<std::uint64_t> shared_cells{0};
  const std::size_t tasks = (block_count + blocks_per_task - 1) / blocks_per_task;
  pool.run(tasks, [&](std::size_t task, unsigned) {
    std::vector<std::uint32_t> scratch;
    double shared = 0;
    const std::size_t last = std::min((task + 1) * blocks_per_task, block_count);
    for (std::size_t block = task * blocks_per_task; block < last; ++block)
      shared += fill_block(scatter.bucket(block), scatter.begin(block), block, scratch);
    shared_cells += static_cast<std::uint64_t>(shared);
  });
  if (static_cast<double>(shared_cells) <= crowd_max * static_cast<double>(count)) return true;
  clear();
  return false;
}

// The depth is the axis that loses least: in planar3 the shortest extent, in wgs84 the direction
// that the earth's surface faces.
bool GridIndex::choose_axes(const Box& box, Space space, std::uint64_t objects) {
  axes_ = {0, 1, 2};
  foreshortening_ = 1;
  if (space == Space::planar2) return true;
  const auto min = to_array(box.min);
  const auto max = to_array(box.max);
  std::array<double, 3> extents;
  std::array<double, 3> least;  // distance from the centre of the earth along an axis
  double radius_sq = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    extents[d] = distance(min[d], max[d]);
    const auto low = static_cast<double>(min[d]);
    const auto high = static_cast<double>(max[d]);
    least[d] = std::max({low, -high, 0.0});
    const double most = std::max(std::abs(low), std::abs(high));
    radius_sq += most * most;
  }
  const std::size_t depth = static_cast<std::size_t>(
      space == Space::wgs84 ? std::max_element(least.begin(), least.end()) - least.begin()
                            : std::min_element(extents.begin(), extents.end()) - extents.begin());
  axes_ = {(depth + 1) % 3, (depth + 2) % 3, depth};
  if (space == Space::wgs84) {
    const double cosine = least[depth] / std::sqrt(radius_sq);
    foreshortening_ = 1 / std::max(cosine, flat_cosine);
    return cosine >= flat_cosine;
  }
  const double area = (extents[axes_[0]] + 1) * (extents[axes_[1]] + 1);
  return extents[depth] <= flat_depth * std::sqrt(area / static_cast<double>(objects));
}

void GridIndex::lay_outer_grid(const Box& box, std::size_t objects) {
  const auto min = to_array(box.min);
  const auto max = to_array(box.max);
  for (std::size_t i = 0; i < 2; ++i) {
    outer_.origin[i] = min[axes_[i]];
    outer_.extent[i] = distance(min[axes_[i]], max[axes_[i]]);
  }
  outer_.shift = shift_for(outer_.extent[0], outer_.extent[1],
                           std::max<std::size_t>(objects / block_objects, 1));
  outer_.columns = (outer_.extent[0] >> outer_.shift) + 1;
  outer_.rows = (outer_.extent[1] >> outer_.shift) + 1;
}

float GridIndex::radius_sq_per_object(const GridBlock& block) const {
  constexpr std::uint32_t telling_count = 8;  // fewer objects say little about density
  const double side = std::ldexp(1.0, static_cast<int>(outer_.shift));
  const double area = block.count >= telling_count
                          ? (block.extent[0] + 1.0) * (block.extent[1] + 1.0)
                          : side * side;
  const double objects = std::max(1.0, static_cast<double>(block.count));
  return static_cast<float>(foreshortening_ * area / (std::numbers::pi * objects));
}

// Lays the inner grid over the block's objects and puts them in order of its cells. Returns the sum
// over objects of how many share their cell.
double GridIndex::fill_block(std::span<const PlacedObject> objects, std::uint32_t first,
                             std::size_t index, std::vector<std::uint32_t>& cell_of) {
  GridBlock& block = blocks_[index];
  block = {};
  block.first = first;
  block.count = static_cast<std::uint32_t>(objects.size());
  block.cells = static_cast<std::uint32_t>(first / cell_objects + 2 * index);
  block.radius_sq_per_object = radius_sq_per_object(block);
  if (objects.empty()) return 0;
  Box box;
  for (const PlacedObject& object : objects) box.add(object.position);
  const auto min = to_array(box.min);
  const auto max = to_array(box.max);
  for (std::size_t i = 0; i < 2; ++i) {
    block.min[i] = min[axes_[i]];
    block.extent[i] = distance(min[axes_[i]], max[axes_[i]]);
  }
  block.shift = shift_for(block.extent[0], block.extent[1],
                          std::max<std::size_t>(objects.size() / cell_objects, 1));
  block.columns = (block.extent[0] >> block.shift) + 1;
  block.radius_sq_per_object = radius_sq_per_object(block);
  const std::size_t cells = std::size_t{block.columns} * ((block.extent[1] >> block.shift) + 1);

  std::uint32_t* begins = &cell_begins_[block.cells];
  std::fill(begins, begins + cells + 1, 0u);
  cell_of.resize(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto at = to_array(objects[i].position);
    const std::uint32_t column = distance(block.min[0], at[axes_[0]]) >> block.shift;
    const std::uint32_t row = distance(block.min[1], at[axes_[1]]) >> block.shift;
    cell_of[i] = row * block.columns + column;
    ++begins[cell_of[i]];
  }
  double shared = 0;
  std::uint32_t place = first;
  for (std::size_t cell = 0; cell <= cells; ++cell) {
    shared += static_cast<double>(begins[cell]) * static_cast<double>(begins[cell]);
    place += std::exchange(begins[cell], place);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::uint32_t at = begins[cell_of[i]]++;
    const auto position = to_array(objects[i].position);
    for (std::size_t d = 0; d < dimensions_; ++d) coordinates_[d][at] = position[axes_[d]];
    slots_[at] = objects[i].slot;
  }
  // Each begin has moved on to its cell's end, which is the next cell's begin.
  std::copy_backward(begins, begins + cells, begins + cells + 1);
  begins[0] = first;
  return shared;
}

std::uint64_t GridIndex::bytes_used() const {
  std::uint64_t bytes = blocks_.capacity() * sizeof(GridBlock) +
                        cell_begins_.capacity() * sizeof(std::uint32_t) +
                        slots_.capacity() * sizeof(Slot);
  for (const auto& values : coordinates_) bytes += values.capacity() * sizeof(std::int32_t);
  return bytes;
}

}  // namespace starling::cpu
