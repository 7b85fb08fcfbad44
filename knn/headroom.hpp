// How the large arrays of ObjectTable and of the CPU engine grow.
#pragma once

#include <cstddef>
#include <vector>

namespace starling {

/// Room for `count` elements in all. A sixteenth more when it has to grow: growth stays amortised
/// and memory close to what is used.
template <class T>
void reserve_with_headroom(std::vector<T>& values, std::size_t count) {
  if (count > values.capacity()) values.reserve(count + count / 16);
}

template <class T>
void resize_with_headroom(std::vector<T>& values, std::size_t count, const T& fill = {}) {
  reserve_with_headroom(values, count);
  values.resize(count, fill);
}

}  // namespace starling
