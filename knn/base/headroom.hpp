// SPDX-License-Identifier: Apache-2.0
// These functions grow large arrays a little beyond the needed size. ObjectTable and the engines
// call them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace starling {

/// Reserves capacity for `count` elements in all. If the capacity is less, it grows to `count` or
/// by the fraction 1/share, whichever is more. The cost of growth is amortised, and the capacity
/// stays close to the size.
template <std::size_t share = 32, class T>
void reserve_with_headroom(std::vector<T>& values, std::size_t count) {
  const std::size_t room = values.capacity();
  if (count > room) values.reserve(std::max(count, room + room / share));
}

/// Resizes to `count` elements. The capacity grows as in reserve_with_headroom.
template <std::size_t share = 32, class T>
void resize_with_headroom(std::vector<T>& values, std::size_t count, const T& fill = {}) {
  reserve_with_headroom<share>(values, count);
  values.resize(count, fill);
}

}  // namespace starling
