// SPDX-License-Identifier: Apache-2.0
// A plain counting-sort grid over the positions of a tick: see peer.hpp.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "starling/bench/ticks/peer.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::bench {
namespace {

constexpr double objects_per_cell = 3;
constexpr std::size_t queries_per_task = 256;

std::uint32_t morton(std::uint32_t x, std::uint32_t y) {
  const auto spread = [](std::uint32_t v) {
    v = (v | (v << 8)) & 0x00ff00ffu;
    v = (v | (v << 4)) & 0x0f0f0f0fu;
    v = (v | (v << 2)) & 0x33333333u;
    return (v | (v << 1)) & 0x55555555u;
  };
  return spread(x) | spread(y) << 1;
}

class GridPeer final : public Peer {
 public:
  explicit GridPeer(unsigned threads) : pool_(threads) {}

  double tick_ms(const std::vector<PeerPoint>& objects, const std::vector<PeerPoint>& queries,
                 std::uint32_t k) override {
    distances_sq_.resize(queries.size() * k);
    neighbors_.resize(queries.size() * k);
    const auto start = std::chrono::steady_clock::now();
    build(objects);
    order_queries(objects, queries);
    const std::size_t tasks = (queries.size() + queries_per_task - 1) / queries_per_task;
    pool_.run(tasks, [&](std::size_t task, unsigned) {
      const std::size_t end = std::min((task + 1) * queries_per_task, queries.size());
      for (std::size_t i = task * queries_per_task; i < end; ++i)
        search(queries[order_[i]], k, &distances_sq_[order_[i] * k], &neighbors_[order_[i] * k]);
    });
    const auto stop = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(stop - start).count();
  }

  std::span<const float> distances_sq() const override { return distances_sq_; }

 private:
  struct Placed {
    float x, y;
    std::uint32_t object;
  };

  void build(const std::vector<PeerPoint>& objects) {
    min_ = max_ = objects.front();
    for (const PeerPoint& p : objects) {
      min_ = {std::min(min_.x, p.x), std::min(min_.y, p.y)};
      max_ = {std::max(max_.x, p.x), std::max(max_.y, p.y)};
    }
    const float width = std::max(max_.x - min_.x, max_.y - min_.y);
    const double per_side = std::sqrt(static_cast<double>(objects.size()) / objects_per_cell);
    side_ = std::clamp(static_cast<int>(per_side), 1, 1 << 15);
    cell_m_ = std::max(width, 1e-3f) * 1.0001f / static_cast<float>(side_);
    begins_.assign(static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_) + 1, 0);
    cells_.resize(objects.size());
    pool_.for_ranges(objects.size(), 4096, [&](std::size_t begin, std::size_t end, unsigned) {
      for (std::size_t i = begin; i < end; ++i)
        cells_[i] = cell(column(objects[i].x), row(objects[i].y));
    });
    for (const std::uint32_t cell : cells_) ++begins_[cell + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    next_.assign(begins_.begin(), begins_.end() - 1);
    placed_.resize(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
      placed_[next_[cells_[i]]++] = {objects[i].x, objects[i].y, static_cast<std::uint32_t>(i)};
  }

  // Sorts the queries so that neighbours in space follow one another. If the objects are the
  // queries, their order is that of the objects in the grid. Other queries do not move, so they are
  // sorted only once, by the Morton code of their cell.
  void order_queries(const std::vector<PeerPoint>& objects, const std::vector<PeerPoint>& queries) {
    if (&objects == &queries) {
      order_.resize(placed_.size());
      for (std::size_t i = 0; i < placed_.size(); ++i) order_[i] = placed_[i].object;
      return;
    }
    if (order_.size() == queries.size()) return;
    std::vector<std::uint32_t> keys(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i)
      keys[i] = morton(static_cast<std::uint32_t>(column(queries[i].x)),
                       static_cast<std::uint32_t>(row(queries[i].y)));
    order_.resize(queries.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  }

  void search(const PeerPoint& query, std::uint32_t k, float* distances_sq,
              std::uint32_t* neighbors) const {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    std::fill_n(distances_sq, k, infinite);
    const int home_column = column(query.x);
    const int home_row = row(query.y);
    // `inside` is the distance from the query to the nearest border of its own cell.
    const float x = query.x - min_.x - static_cast<float>(home_column) * cell_m_;
    const float y = query.y - min_.y - static_cast<float>(home_row) * cell_m_;
    const float inside = std::max(0.0f, std::min({x, y, cell_m_ - x, cell_m_ - y}));
    for (int ring = 0; ring < side_; ++ring) {
      for (int r = home_row - ring; r <= home_row + ring; ++r) {
        if (r < 0 || r >= side_) continue;
        const bool is_edge = r == home_row - ring || r == home_row + ring;
        const int first = home_column - ring;
        const int last = home_column + ring;
        if (is_edge) {
          scan(query, k, r, std::max(first, 0), std::min(last, side_ - 1), distances_sq, neighbors);
        } else {
          if (first >= 0) scan(query, k, r, first, first, distances_sq, neighbors);
          if (last < side_) scan(query, k, r, last, last, distances_sq, neighbors);
        }
      }
      const float covered = inside + static_cast<float>(ring) * cell_m_;
      if (distances_sq[k - 1] <= covered * covered) return;
    }
  }

  // Scans the cells from `first` to `last` of one row. The objects of these cells are contiguous.
  void scan(const PeerPoint& query, std::uint32_t k, int row, int first, int last,
            float* distances_sq, std::uint32_t* neighbors) const {
    if (first > last) return;
    const std::uint32_t end = begins_[cell(last, row) + 1];
    for (std::uint32_t i = begins_[cell(first, row)]; i < end; ++i) {
      const float dx = placed_[i].x - query.x;
      const float dy = placed_[i].y - query.y;
      const float distance_sq = dx * dx + dy * dy;
      if (distance_sq >= distances_sq[k - 1]) continue;
      std::uint32_t at = k - 1;
      for (; at > 0 && distances_sq[at - 1] > distance_sq; --at) {
        distances_sq[at] = distances_sq[at - 1];
        neighbors[at] = neighbors[at - 1];
      }
      distances_sq[at] = distance_sq;
      neighbors[at] = placed_[i].object;
    }
  }

  int column(float x) const { return clamped((x - min_.x) / cell_m_); }
  int row(float y) const { return clamped((y - min_.y) / cell_m_); }
  int clamped(float cells) const { return std::clamp(static_cast<int>(cells), 0, side_ - 1); }
  std::uint32_t cell(int column, int row) const {
    return static_cast<std::uint32_t>(row) * static_cast<std::uint32_t>(side_) +
           static_cast<std::uint32_t>(column);
  }

  ThreadPool pool_;
  PeerPoint min_{}, max_{};
  int side_ = 1;
  float cell_m_ = 1;
  std::vector<std::uint32_t> begins_, next_, cells_, order_, neighbors_;
  std::vector<Placed> placed_;
  std::vector<float> distances_sq_;
};

}  // namespace

std::unique_ptr<Peer> make_grid_peer(unsigned threads) {
  return std::make_unique<GridPeer>(threads);
}

}  // namespace starling::bench
