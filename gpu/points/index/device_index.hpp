// SPDX-License-Identifier: Apache-2.0
// Chooses the type of a tick's index: a grid on the plane, and a tree in space. A grid does not
// suit space, because most of the box around all objects is empty.
#pragma once

#include <type_traits>

#include "starling/gpu/device/key_sort.hpp"
#include "starling/gpu/points/index/grid_launch.hpp"
#include "starling/gpu/points/index/tree_launch.hpp"

namespace starling::gpu {

template <int dimensions>
using DeviceIndex = std::conditional_t<dimensions == 2, DeviceGrid, DeviceTree>;

/// Sorts searches into spatial order.
template <int dimensions>
using SearchSort = KeySort<typename DeviceIndex<dimensions>::SearchKey>;

}  // namespace starling::gpu
