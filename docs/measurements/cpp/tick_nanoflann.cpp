// SPDX-License-Identifier: Apache-2.0
// What examples/tick.cpp does, with nanoflann 1.4: on a plane, which is what it knows. Each tick
// builds the index again, and the program itself finds out whether the list has changed.
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include <nanoflann.hpp>

struct Taxis {
  std::vector<int> ids{11, 12, 13};
  std::vector<std::array<double, 2>> places{{-168, 334}, {393, 1448}, {-728, -780}};
  std::size_t kdtree_get_point_count() const { return places.size(); }
  double kdtree_get_pt(std::size_t row, std::size_t i) const { return places[row][i]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

int main() {
  Taxis taxis;
  const std::array<double, 2> rider{};
  std::array<std::uint32_t, 2> last{};
  for (const double x : {0.0, 56.0}) {
    using Metric = nanoflann::L2_Simple_Adaptor<double, Taxis>;
    nanoflann::KDTreeSingleIndexAdaptor<Metric, Taxis, 2> index(2, taxis);
    index.buildIndex();
    std::array<std::uint32_t, 2> rows{};
    std::array<double, 2> squares{};
    const std::size_t found = index.knnSearch(rider.data(), 2, rows.data(), squares.data());
    if (rows != last) {
      std::cout << "rider 1:";
      for (std::size_t i = 0; i < found; ++i)
        std::cout << "  taxi " << taxis.ids[rows[i]] << " in " << std::sqrt(squares[i]) << " m";
      std::cout << '\n';
    }
    last = rows;
    taxis.places[1] = {x, 0};
  }
}
