// SPDX-License-Identifier: Apache-2.0
// The canonical workloads of moving objects, W1 to W5 and hard variants of W1. All positions come
// from a fixed seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/lattice.hpp"

namespace starling::bench {

enum class Layout : std::uint8_t {
  uniform,
  clustered,   ///< 80 % in 20 Gaussian hot spots of sigma 300 m, 20 % uniform
  collinear,   ///< all on one line
  coincident,  ///< all at one point
  one_cell,    ///< one object far away, all others in a square with sides of one metre
};

struct WorkloadOptions {
  std::string name;
  std::string says;
  Layout layout = Layout::uniform;
  Space space = Space::planar2;
  std::uint32_t objects = 0;
  std::uint32_t queries = 0;  ///< number of queries, laid out like the objects and at rest; 0: each
                              ///< object is a query
  std::uint32_t k = 0;
  double moving_share = 1.0;
  int ticks = 0;          ///< the number of ticks measured by default
  bool has_peer = false;  ///< nanoflann can answer the queries in reasonable time
};

/// Returns W1 to W5, W1-collinear, W1-coincident and W1-one-cell.
const std::vector<WorkloadOptions>& workloads();
/// Returns workloads for a GPU, named by the numbers of objects and queries: 1M-10k, 1M-1M, 10M-1M
/// and 100M-1M. The objects are clustered if the name has -clustered, else uniform. k is 32 if the
/// name has -k32, else 10.
const std::vector<WorkloadOptions>& large_workloads();
/// Returns workloads in which all objects move: 10k-100, 50k-2k and some of large_workloads(). The
/// shortest ticks take microseconds. The longest ticks spend most of their time in copies.
const std::vector<WorkloadOptions>& pipeline_workloads();
const WorkloadOptions* find_workload(std::string_view name);

/// A benchmark repeats `count` prepared steps in the order 0, 1, ..., count - 1, ..., 1, 0, 1, ...
/// Returns the step at index `number` of this order. In this order, objects never move farther than
/// one step at a time.
constexpr std::size_t there_and_back(std::uint64_t number, std::size_t count) {
  if (count == 1) return 0;
  const std::uint64_t way = number % (2 * (count - 1));
  return static_cast<std::size_t>(way < count ? way : 2 * (count - 1) - way);
}

struct Metres {
  double x = 0;
  double y = 0;
};

/// Objects on a square of 20 km by 20 km. In a step, an object moves up to 15 m in any direction
/// (collinear: along the line) and is reflected at the border. In the layouts coincident and
/// one_cell, objects keep their positions, but step() returns them as if they had moved.
class Workload {
 public:
  explicit Workload(const WorkloadOptions& options);

  const std::vector<Metres>& objects() const { return objects_; }
  const std::vector<Metres>& queries() const { return queries_; }
  /// Returns the id of an object. Ids are in no order, as in a user's data.
  std::uint64_t id_of(std::uint32_t object) const;

  /// Moves the objects of the next tick and returns their indexes, in increasing order.
  const std::vector<std::uint32_t>& step();

  /// Converts to the coordinates of the workload's space (wgs84: around 37.77 N, 122.42 W).
  Position position_of(const Metres& metres) const;

 private:
  Metres draw();
  double uniform(double low, double high);
  double gaussian();
  std::uint64_t random();

  WorkloadOptions options_;
  std::uint64_t state_ = 20240601;
  std::vector<Metres> hot_spots_;
  std::vector<Metres> objects_;
  std::vector<Metres> queries_;
  std::vector<std::uint32_t> moved_;
};

}  // namespace starling::bench
