// How the large arrays of ObjectTable and of the CPU engine grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace starling {

/// Room for `count` elements in all. It grows by a 32nd of what there is, or to `count` if that
/// is more: growth stays amortised and memory close to what is used.
template <class T>
void reserve_with_headroom(std::vector<T>& values, std::size_t count) {
  const std::size_t room = values.capacity();
  if (count > room) values.reserve(std::max(count, room + room / 32));
}

template <class T>
void resize_with_headroom(std::vector<T>& values, std::size_t count, const T& fill = {}) {
  reserve_with_headroom(values, count);
  values.resize(count, fill);
}

}  // namespace starling
