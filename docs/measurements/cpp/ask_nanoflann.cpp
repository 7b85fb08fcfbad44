// SPDX-License-Identifier: Apache-2.0
// What examples/ask.cpp does, with nanoflann 1.4.
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include <nanoflann.hpp>

struct Cloud {
  std::vector<std::array<float, 3>> points{{0, 0, 0}, {1, 0, 0}, {0, 3, 0}, {5, 5, 5}};
  std::size_t kdtree_get_point_count() const { return points.size(); }
  float kdtree_get_pt(std::size_t row, std::size_t i) const { return points[row][i]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

int main() {
  const Cloud cloud;
  using Metric = nanoflann::L2_Simple_Adaptor<float, Cloud>;
  nanoflann::KDTreeSingleIndexAdaptor<Metric, Cloud, 3> index(3, cloud);
  index.buildIndex();
  const std::array<float, 3> query{1, 1, 0};
  std::array<std::uint32_t, 2> rows{};
  std::array<float, 2> squares{};
  const std::size_t found = index.knnSearch(query.data(), 2, rows.data(), squares.data());
  for (std::size_t i = 0; i < found; ++i)
    std::cout << rows[i] << " at " << std::sqrt(squares[i]) << '\n';
}
