// SPDX-License-Identifier: Apache-2.0
// Says which device computes which row of grids: Kato & Hosino 2009, section IV and fig. 3.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// Returns the device that computes a row of grids. Let g be the number of devices. Device j takes
/// row i if i mod 2g is j or 2g - j - 1. The distance is symmetric, so only the grids on the
/// diagonal and to the right of it are computed, and each row has one grid fewer than the row
/// before. From each 2g rows, every device gets one longer row and one shorter row.
constexpr std::uint32_t kato_device_of(std::uint32_t grid_row, std::uint32_t device_count) {
  const std::uint32_t place = grid_row % (2 * device_count);
  return place < device_count ? place : 2 * device_count - place - 1;
}

/// Returns into how many rows of grids `rows` rows are divided if the side of a grid is at most
/// `side_max`. For several devices this number is a multiple of twice the number of devices, so
/// that all devices have the same number of grids.
constexpr std::uint32_t kato_grid_rows(std::uint32_t rows, std::uint32_t side_max,
                                       std::uint32_t device_count) {
  const std::uint32_t least = (rows + side_max - 1) / side_max;
  const std::uint32_t round = device_count == 1 ? 1 : 2 * device_count;
  return (least + round - 1) / round * round;
}

}  // namespace starling::gpu
