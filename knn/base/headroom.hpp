// How the large arrays of ObjectTable and of the CPU engine grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace starling {

/// Room for `count` elements in all. It grows by a share of what there is, a 32nd, or to `count` if
/// that is more: growth stays amortised and memory close to what is used.
template <std::size_t share = 32, class T>
void reserve_with_headroom(std::vector<T>& values, std::size_t count) {
  const std::size_t room = values.capacity();
  if (count > room) values.reserve(std::max(count, room + room / share));
}

template <std::size_t share = 32, class T>
void resize_with_headroom(std::vector<T>& values, std::size_t count, const T& fill = {}) {
  reserve_with_headroom<share>(values, count);
  values.resize(count, fill);
}

}  // namespace starling
