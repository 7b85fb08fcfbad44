// SPDX-License-Identifier: Apache-2.0
// Builds nanoflann's tree over the positions of a tick and answers the queries: see
// nanoflann_peer.hpp.
#include "starling/bench/ticks/nanoflann_peer.hpp"

#include <chrono>

#include <nanoflann.hpp>

namespace starling::bench {
namespace {

struct Cloud {
  const std::vector<NanoflannPeer::Point>& points;
  std::size_t kdtree_get_point_count() const { return points.size(); }
  float kdtree_get_pt(std::size_t i, std::size_t dimension) const {
    return dimension == 0 ? points[i].x : points[i].y;
  }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>, Cloud,
                                                 2, std::uint32_t>;

}  // namespace

double NanoflannPeer::tick_ms(const std::vector<Point>& objects, const std::vector<Point>& queries,
                              std::uint32_t k) {
  indices_.resize(queries.size() * k);
  distances_sq_.resize(queries.size() * k);
  const auto start = std::chrono::steady_clock::now();
  const Cloud cloud{objects};
  const Tree tree(2, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(10));
  for (std::size_t i = 0; i < queries.size(); ++i)
    tree.knnSearch(&queries[i].x, k, &indices_[i * k], &distances_sq_[i * k]);
  const auto stop = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(stop - start).count();
}

}  // namespace starling::bench
