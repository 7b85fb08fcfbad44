// SPDX-License-Identifier: Apache-2.0
// The table of workloads. Positions and movements come from a fixed seed, so that every run
// measures the same: see workload.hpp. Called by tick_bench.cpp, pipeline_bench.cpp and
// bench/server.
#include "starling/bench/ticks/workload.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "starling/knn/base/seeded_hash.hpp"

namespace starling::bench {
namespace {

constexpr double side_m = 20'000;
constexpr double step_m_max = 15;
constexpr int hot_spot_count = 20;
constexpr double hot_spot_sigma_m = 300;
constexpr double hot_spot_share = 0.8;

std::vector<WorkloadOptions> make_large_workloads() {
  struct Size {
    std::string name;
    std::uint32_t objects;
    std::uint32_t queries;
    int ticks;
  };
  const std::vector<Size> sizes = {{"1M-10k", 1'000'000, 10'000, 20},
                                   {"1M-1M", 1'000'000, 1'000'000, 20},
                                   {"10M-1M", 10'000'000, 1'000'000, 5},
                                   {"100M-1M", 100'000'000, 1'000'000, 3}};
  std::vector<WorkloadOptions> all;
  for (const Size& size : sizes)
    for (const Layout layout : {Layout::uniform, Layout::clustered})
      for (const std::uint32_t k : {10u, 32u}) {
        WorkloadOptions options;
        options.name =
            size.name + (layout == Layout::clustered ? "-clustered" : "") + (k == 32 ? "-k32" : "");
        options.says = "objects and queries as named, all objects move, k " + std::to_string(k);
        options.layout = layout;
        options.objects = size.objects;
        options.queries = size.queries;
        options.k = k;
        options.ticks = size.ticks;
        all.push_back(options);
      }
  return all;
}

std::vector<WorkloadOptions> make_pipeline_workloads() {
  std::vector<WorkloadOptions> all = {
      {"10k-100", "objects and queries as named, all objects move, k 10", Layout::uniform,
       Space::planar2, 10'000, 100, 10, 1.0, 2000},
      {"50k-2k", "objects and queries as named, all objects move, k 10", Layout::uniform,
       Space::planar2, 50'000, 2'000, 10, 1.0, 2000},
  };
  struct Large {
    const char* name;
    int ticks;
  };
  for (const Large& large : std::initializer_list<Large>{
           {"1M-10k", 256}, {"1M-1M", 96}, {"1M-1M-clustered", 96}, {"10M-1M", 24}}) {
    all.push_back(*find_workload(large.name));
    all.back().ticks = large.ticks;
  }
  return all;
}

double reflect(double value) {
  if (value < 0) return -value;
  return value > side_m ? 2 * side_m - value : value;
}

}  // namespace

const std::vector<WorkloadOptions>& workloads() {
  static const std::vector<WorkloadOptions> all = {
      {"W1", "uniform, 100k objects, 10k queries, k 10, all move", Layout::uniform, Space::planar2,
       100'000, 10'000, 10, 1.0, 100, true},
      {"W2", "clustered, 1M objects, 100k queries, k 10, all move", Layout::clustered,
       Space::planar2, 1'000'000, 100'000, 10, 1.0, 15, true},
      {"W3", "clustered, 50k objects, 2k queries, k 8, 20 % move", Layout::clustered,
       Space::planar2, 50'000, 2'000, 8, 0.2, 100, true},
      {"W4", "uniform, 100k objects, all of them queries, k 8, all move", Layout::uniform,
       Space::planar2, 100'000, 0, 8, 1.0, 100, true},
      {"W5", "W2 in wgs84", Layout::clustered, Space::wgs84, 1'000'000, 100'000, 10, 1.0, 15},
      {"W1-collinear", "W1, all objects on a line", Layout::collinear, Space::planar2, 100'000,
       10'000, 10, 1.0, 100},
      {"W1-coincident", "W1, all objects at one point", Layout::coincident, Space::planar2, 100'000,
       10'000, 10, 1.0, 100},
      {"W1-one-cell", "W1, all objects but one within one metre", Layout::one_cell, Space::planar2,
       100'000, 10'000, 10, 1.0, 100},
  };
  return all;
}

const std::vector<WorkloadOptions>& large_workloads() {
  static const std::vector<WorkloadOptions> all = make_large_workloads();
  return all;
}

const std::vector<WorkloadOptions>& pipeline_workloads() {
  static const std::vector<WorkloadOptions> all = make_pipeline_workloads();
  return all;
}

const WorkloadOptions* find_workload(std::string_view name) {
  for (const auto* table : {&workloads(), &large_workloads()})
    for (const WorkloadOptions& options : *table)
      if (options.name == name) return &options;
  return nullptr;
}

Workload::Workload(const WorkloadOptions& options) : options_(options) {
  for (int i = 0; i < hot_spot_count; ++i)
    hot_spots_.push_back({uniform(1'000, side_m - 1'000), uniform(1'000, side_m - 1'000)});
  for (std::uint32_t i = 0; i < options.objects; ++i) objects_.push_back(draw());
  if (options.layout == Layout::one_cell) objects_.back() = {side_m, side_m};
  for (std::uint32_t i = 0; i < options.queries; ++i) queries_.push_back(draw());
}

std::uint64_t Workload::id_of(std::uint32_t object) const {
  return split_mix(object + 1ULL);
}

const std::vector<std::uint32_t>& Workload::step() {
  moved_.clear();
  for (std::uint32_t object = 0; object < objects_.size(); ++object) {
    if (options_.moving_share < 1 && uniform(0, 1) >= options_.moving_share) continue;
    moved_.push_back(object);
    const double angle = uniform(0, 2 * std::numbers::pi);
    const double length_m = uniform(0, step_m_max);
    Metres& at = objects_[object];
    if (options_.layout == Layout::uniform || options_.layout == Layout::clustered) {
      at = {reflect(at.x + length_m * std::cos(angle)), reflect(at.y + length_m * std::sin(angle))};
    } else if (options_.layout == Layout::collinear) {
      at.x = at.y = reflect(at.x + length_m * std::cos(angle));
    }
  }
  return moved_;
}

Position Workload::position_of(const Metres& metres) const {
  if (options_.space != Space::wgs84) return {metres.x, metres.y, 0};
  constexpr double latitude = 37.77;
  constexpr double longitude = -122.42;
  constexpr double metres_per_degree = 6'371'000 * std::numbers::pi / 180;
  const double cos_latitude = std::cos(latitude * std::numbers::pi / 180);
  return {longitude + (metres.x - side_m / 2) / (metres_per_degree * cos_latitude),
          latitude + (metres.y - side_m / 2) / metres_per_degree, 0};
}

Metres Workload::draw() {
  switch (options_.layout) {
    case Layout::uniform:
      break;
    case Layout::clustered:
      if (uniform(0, 1) < hot_spot_share) {
        const Metres& centre = hot_spots_[random() % hot_spots_.size()];
        const auto near = [this](double value) {
          return std::clamp(value + hot_spot_sigma_m * gaussian(), 0.0, side_m);
        };
        return {near(centre.x), near(centre.y)};
      }
      break;
    case Layout::collinear: {
      const double along = uniform(0, side_m);
      return {along, along};
    }
    case Layout::coincident:
      return {side_m / 2, side_m / 2};
    case Layout::one_cell:
      return {side_m / 4 + uniform(0, 1), side_m / 4 + uniform(0, 1)};
  }
  return {uniform(0, side_m), uniform(0, side_m)};
}

double Workload::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}

double Workload::gaussian() {
  return std::sqrt(-2 * std::log(uniform(0x1p-53, 1))) * std::cos(uniform(0, 2 * std::numbers::pi));
}

std::uint64_t Workload::random() {
  return split_mix(state_ += golden_gamma);
}

}  // namespace starling::bench
