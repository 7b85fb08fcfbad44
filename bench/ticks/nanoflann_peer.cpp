// SPDX-License-Identifier: Apache-2.0
// Builds nanoflann's tree over the positions of a tick and answers the queries: see peer.hpp.
#include <chrono>

#include <nanoflann.hpp>

#include "starling/bench/ticks/peer.hpp"

namespace starling::bench {
namespace {

struct Cloud {
  const std::vector<PeerPoint>& points;
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

class NanoflannPeer final : public Peer {
 public:
  double tick_ms(const std::vector<PeerPoint>& objects, const std::vector<PeerPoint>& queries,
                 std::uint32_t k) override {
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

  std::span<const float> distances_sq() const override { return distances_sq_; }

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> distances_sq_;
};

}  // namespace

std::unique_ptr<Peer> make_nanoflann_peer() {
  return std::make_unique<NanoflannPeer>();
}

}  // namespace starling::bench
