// SPDX-License-Identifier: Apache-2.0
// Finds the cells of one vector of positions at a time, and sorts a block by cell with a counting
// sort. See grid_fill.hpp. Compiled once per instruction set.
#include "starling/cpu/points/index/grid_fill.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "starling/cpu/points/index/point_set.hpp"

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/points/index/grid_fill.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t lanes_max = 16;
using Lanes = hn::CappedTag<std::int32_t, lanes_max>;
using Offsets = hn::RebindToUnsigned<Lanes>;
using Vector = hn::Vec<Lanes>;

// Returns Division::part for each lane.
HWY_INLINE hn::Vec<Offsets> part(const Division& division, hn::Vec<Offsets> offsets) {
  const Offsets d;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, division.part(hn::GetLane(offsets)));
#else
  const hn::RepartitionToWide<Offsets> wide;
  const auto scale = hn::Set(d, division.scale());
  const auto even = hn::ShiftRight<Division::bits>(hn::MulEven(offsets, scale));
  const auto odds = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, offsets)));
  const auto odd = hn::ShiftRight<Division::bits>(hn::MulEven(odds, scale));
  return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<32>(odd)));
#endif
}

// Returns CellRectangle::cell for each lane.
HWY_INLINE hn::Vec<Offsets> cell(const CellRectangle& rectangle, Vector a, Vector b) {
  const Lanes d;
  const Offsets u;
  const auto columns = hn::Set(u, rectangle.divisions[0].parts());
  const auto offset_a = hn::BitCast(u, hn::Sub(a, hn::Set(d, rectangle.min[0])));
  const auto offset_b = hn::BitCast(u, hn::Sub(b, hn::Set(d, rectangle.min[1])));
  return hn::Add(hn::Mul(part(rectangle.divisions[1], offset_b), columns),
                 part(rectangle.divisions[0], offset_a));
}

template <int axis_a, int axis_b>
void find_along(const CellRectangle& rectangle, std::span<const LatticePoint> positions,
                std::uint32_t* cells) {
  const Lanes d;
  const Offsets u;
  const std::size_t lanes = hn::Lanes(d);
  const auto dead = hn::Set(d, nowhere);
  const auto dead_cell = hn::Set(u, static_cast<std::uint32_t>(rectangle.cells()));
  const auto cells_of = [&](const std::int32_t* coordinates) {
    Vector axes[3];
    hn::LoadInterleaved3(d, coordinates, axes[0], axes[1], axes[2]);
    const auto is_dead = hn::RebindMask(u, hn::Eq(axes[0], dead));
    return hn::IfThenElse(is_dead, dead_cell, cell(rectangle, axes[axis_a], axes[axis_b]));
  };
  const std::int32_t* coordinates = &positions.data()->x;
  std::size_t i = 0;
  for (; i + lanes <= positions.size(); i += lanes)
    hn::StoreU(cells_of(coordinates + 3 * i), u, cells + i);
  if (i == positions.size()) return;
  std::array<std::int32_t, 3 * lanes_max> last;
  last.fill(nowhere);
  std::copy(coordinates + 3 * i, coordinates + 3 * positions.size(), last.begin());
  std::array<std::uint32_t, lanes_max> last_cells;
  hn::StoreU(cells_of(last.data()), u, last_cells.data());
  std::copy_n(last_cells.begin(), positions.size() - i, cells + i);
}

void find_all_cells(const CellRectangle& rectangle, std::int32_t LatticePoint::*a,
                    std::span<const LatticePoint> positions, std::span<std::uint32_t> cells) {
  if (a == &LatticePoint::x)
    find_along<0, 1>(rectangle, positions, cells.data());
  else if (a == &LatticePoint::y)
    find_along<1, 2>(rectangle, positions, cells.data());
  else
    find_along<2, 0>(rectangle, positions, cells.data());
}

// Loads the coordinates along axes 0 and 1 of the grid for a vector of objects.
template <std::size_t stride>
HWY_INLINE std::pair<Vector, Vector> load(const std::int32_t* objects) {
  const Lanes d;
  Vector a, b, c, slots;
  if constexpr (stride == 3)
    hn::LoadInterleaved3(d, objects, a, b, slots);
  else
    hn::LoadInterleaved4(d, objects, a, b, c, slots);
  return {a, b};
}

// Lays the grid over the bounding box of the objects. Lanes beyond `count` repeat the first object.
template <std::size_t stride>
CellRectangle lay_grid(const std::int32_t* objects, std::size_t count, std::size_t cells_max) {
  const Lanes d;
  const auto first_a = hn::Set(d, objects[0]);
  const auto first_b = hn::Set(d, objects[1]);
  auto min_a = first_a, max_a = first_a, min_b = first_b, max_b = first_b;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto is_object = hn::FirstN(d, count - i);
    const auto loaded = load<stride>(objects + i * stride);
    const auto a = hn::IfThenElse(is_object, loaded.first, first_a);
    const auto b = hn::IfThenElse(is_object, loaded.second, first_b);
    min_a = hn::Min(min_a, a);
    max_a = hn::Max(max_a, a);
    min_b = hn::Min(min_b, b);
    max_b = hn::Max(max_b, b);
  }
  return divide({hn::GetLane(hn::MinOfLanes(d, min_a)), hn::GetLane(hn::MinOfLanes(d, min_b))},
                {hn::GetLane(hn::MaxOfLanes(d, max_a)), hn::GetLane(hn::MaxOfLanes(d, max_b))},
                cells_max);
}

template <std::size_t stride>
std::uint64_t order(const BlockObjects& block, std::size_t cells_max, CellRectangle& grid,
                    std::uint32_t* begins, FillScratch& scratch) {
  const Offsets u;
  const std::size_t count = block.count;
  scratch.objects.resize((count + lanes_max) * stride);
  scratch.cells.resize(count + lanes_max);
  std::int32_t* const unordered = scratch.objects.data();
  std::uint32_t* const cells = scratch.cells.data();
  std::copy_n(block.objects, count * stride, unordered);

  grid = lay_grid<stride>(unordered, count, cells_max);
  for (std::size_t i = 0; i < count; i += hn::Lanes(u)) {
    const auto [a, b] = load<stride>(unordered + i * stride);
    hn::StoreU(cell(grid, a, b), u, cells + i);
  }
  std::fill_n(begins, grid.cells() + 1, 0u);
  for (std::size_t i = 0; i < count; ++i) ++begins[cells[i]];
  std::uint64_t shared = 0;
  std::uint32_t place = 0;
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    shared += std::uint64_t{begins[i]} * begins[i];
    place += std::exchange(begins[i], place);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = begins[cells[i]]++;
    for (std::size_t array = 0; array < stride; ++array)
      block.objects[array * count + at] = unordered[i * stride + array];
  }
  // Now begins[i] is the end of cell i, where cell i + 1 begins.
  for (std::size_t i = grid.cells(); i > 0; --i) begins[i] = begins[i - 1] + block.first;
  begins[0] = block.first;
  return shared;
}

std::uint64_t order_any(const BlockObjects& block, std::size_t cells_max, CellRectangle& grid,
                        std::uint32_t* begins, FillScratch& scratch) {
  return block.dimensions == 2 ? order<3>(block, cells_max, grid, begins, scratch)
                               : order<4>(block, cells_max, grid, begins, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {

HWY_EXPORT(find_all_cells);
HWY_EXPORT(order_any);

void find_cells(const CellRectangle& rectangle, std::int32_t LatticePoint::*a,
                std::span<const LatticePoint> positions, std::span<std::uint32_t> cells) {
  HWY_DYNAMIC_DISPATCH(find_all_cells)(rectangle, a, positions, cells);
}

std::uint64_t order_by_cell(const BlockObjects& block, std::size_t cells_max, CellRectangle& grid,
                            std::uint32_t* begins, FillScratch& scratch) {
  return HWY_DYNAMIC_DISPATCH(order_any)(block, cells_max, grid, begins, scratch);
}

}  // namespace starling::cpu
#endif
