// SPDX-License-Identifier: Apache-2.0
// What examples/tick.cpp does, with hnswlib 0.6: on a plane, which is what it knows, in float32.
// The program itself finds out whether the list has changed.
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include <hnswlib/hnswlib.h>

int main() {
  hnswlib::L2Space space(2);
  hnswlib::HierarchicalNSW<float> index(&space, 3);
  const auto update = [&](std::size_t id, float x, float y) {
    const std::array<float, 2> place{x, y};
    index.addPoint(place.data(), id);  // moves a known point
  };
  update(11, -168, 334);
  update(12, 393, 1448);
  update(13, -728, -780);
  const std::array<float, 2> rider{};
  std::vector<std::pair<float, std::size_t>> last;
  for (const float x : {0.0F, 56.0F}) {
    const auto found = index.searchKnnCloserFirst(rider.data(), 2);
    if (found != last) {
      std::cout << "rider 1:";
      for (const auto& [square, id] : found)
        std::cout << "  taxi " << id << " in " << std::sqrt(square) << " m";
      std::cout << '\n';
    }
    last = found;
    update(12, x, 0);
  }
}
