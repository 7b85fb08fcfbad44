// SPDX-License-Identifier: Apache-2.0
// Times the same job in starling.hpp, nanoflann and hnswlib on one thread: take 100,000 uniform
// points, and ask for the 10 nearest of each of 1,000 queries. Prints milliseconds, and how many of
// the rows are those of starling.hpp. docs/measurements/cpp-2026-11-29.md has the commands.
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

#include <hnswlib/hnswlib.h>
#include <nanoflann.hpp>
#include <starling/starling.hpp>

namespace {

constexpr std::size_t k = 10;

template <std::size_t dimension>
using Points = std::vector<std::array<float, dimension>>;
using Rows = std::vector<std::set<std::size_t>>;

template <std::size_t dimension>
Points<dimension> points_of(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform;
  Points<dimension> points(count);
  for (auto& point : points)
    for (float& component : point) component = uniform(random);
  return points;
}

class Stopwatch {
 public:
  double ms() {
    const auto from = std::exchange(from_, std::chrono::steady_clock::now());
    return std::chrono::duration<double, std::milli>(from_ - from).count();
  }

 private:
  std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

void tell(const char* name, double take_ms, double ask_ms, const Rows& rows, const Rows& wanted) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::size_t row : rows[i]) same += wanted[i].contains(row);
  std::printf("  %-28s %10.1f %10.1f %8.1f %%\n", name, take_ms, ask_ms,
              100.0 * static_cast<double>(same) / static_cast<double>(rows.size() * k));
}

template <std::size_t dimension>
struct Cloud {
  const Points<dimension>& points;
  std::size_t kdtree_get_point_count() const { return points.size(); }
  float kdtree_get_pt(std::size_t row, std::size_t i) const { return points[row][i]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

template <class Index, class... More>
void time_hnswlib(const char* name, const auto& points, const auto& queries, const Rows& wanted,
                  const More&... more) {
  hnswlib::L2Space space(points[0].size());
  Stopwatch clock;
  Index index(&space, points.size(), more...);
  for (std::size_t row = 0; row < points.size(); ++row) index.addPoint(points[row].data(), row);
  const double take_ms = clock.ms();
  Rows rows(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i)
    for (const auto& [square, row] : index.searchKnnCloserFirst(queries[i].data(), k))
      rows[i].insert(row);
  tell(name, take_ms, clock.ms(), rows, wanted);
}

template <std::size_t dimension>
void time_all() {
  const auto points = points_of<dimension>(100'000, 1);
  const auto queries = points_of<dimension>(1'000, 2);
  std::printf("%zu components           take, ms    ask, ms   same rows\n", dimension);

  Rows wanted(queries.size());
  Stopwatch clock;
  starling::Index index(points, {.backend = starling::Backend::cpu, .threads = 1});
  const double take_ms = clock.ms();
  const starling::NearestRows found = index.search(queries, k);
  for (std::size_t i = 0; i < queries.size(); ++i)
    for (const auto [row, distance] : found[i]) wanted[i].insert(row);
  tell("starling.hpp", take_ms, clock.ms(), wanted, wanted);

  const Cloud<dimension> cloud{points};
  clock.ms();
  using Metric = nanoflann::L2_Simple_Adaptor<float, Cloud<dimension>>;
  nanoflann::KDTreeSingleIndexAdaptor<Metric, Cloud<dimension>, dimension> tree(dimension, cloud);
  tree.buildIndex();
  const double build_ms = clock.ms();
  Rows rows(queries.size());
  std::array<std::uint32_t, k> list{};
  std::array<float, k> squares{};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    tree.knnSearch(queries[i].data(), k, list.data(), squares.data());
    rows[i].insert(list.begin(), list.end());
  }
  tell("nanoflann", build_ms, clock.ms(), rows, wanted);

  time_hnswlib<hnswlib::BruteforceSearch<float>>("hnswlib, BruteforceSearch", points, queries,
                                                 wanted);
  time_hnswlib<hnswlib::HierarchicalNSW<float>>("hnswlib, HierarchicalNSW", points, queries,
                                                wanted);
}

}  // namespace

int main() {
  time_all<3>();
  time_all<128>();
}
