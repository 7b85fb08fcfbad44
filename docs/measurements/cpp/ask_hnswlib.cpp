// SPDX-License-Identifier: Apache-2.0
// What examples/ask.cpp does, with hnswlib 0.6. Its exact search, as HierarchicalNSW may miss rows.
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include <hnswlib/hnswlib.h>

int main() {
  const std::vector<std::array<float, 3>> points{{0, 0, 0}, {1, 0, 0}, {0, 3, 0}, {5, 5, 5}};
  const std::array<float, 3> query{1, 1, 0};
  hnswlib::L2Space space(3);
  hnswlib::BruteforceSearch<float> index(&space, points.size());
  for (std::size_t row = 0; row < points.size(); ++row) index.addPoint(points[row].data(), row);
  for (const auto& [square, row] : index.searchKnnCloserFirst(query.data(), 2))
    std::cout << row << " at " << std::sqrt(square) << '\n';
}
