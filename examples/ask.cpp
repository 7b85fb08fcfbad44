// SPDX-License-Identifier: Apache-2.0
// Asks for the two nearest of four points.
#include <array>
#include <iostream>
#include <vector>

#include <starling/starling.hpp>

int main() {
  const std::vector<std::array<float, 3>> points{{0, 0, 0}, {1, 0, 0}, {0, 3, 0}, {5, 5, 5}};
  const std::vector<std::array<float, 3>> queries{{1, 1, 0}};
  const auto found = starling::knn(points, queries, 2);
  for (const auto [row, distance] : found[0]) std::cout << row << " at " << distance << '\n';
}
