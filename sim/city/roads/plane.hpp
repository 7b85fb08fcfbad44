// SPDX-License-Identifier: Apache-2.0
// The city lies on a plane. This file has points in metres, rectangles, and conversions to whole
// millimetres. Sums of whole millimetres are exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace starling::sim::city {

struct Point {
  double x_m = 0;
  double y_m = 0;
  bool operator==(const Point&) const = default;
};

inline double distance_m(Point a, Point b) {
  const double x_m = a.x_m - b.x_m;
  const double y_m = a.y_m - b.y_m;
  return std::sqrt(x_m * x_m + y_m * y_m);
}

inline std::int64_t to_mm(double metres) {
  return std::llround(metres * 1000);
}

inline double to_km(std::int64_t mm) {
  return static_cast<double>(mm) / 1e6;
}

/// Returns the point that lies on the line from a to b at `share` of its length. `share` is from 0
/// to 1.
inline Point between(Point a, Point b, double share) {
  return {a.x_m + (b.x_m - a.x_m) * share, a.y_m + (b.y_m - a.y_m) * share};
}

/// An axis-parallel rectangle; empty until a point is added.
struct Area {
  Point low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  Point high{-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

  void add(Point point) {
    low = {std::min(low.x_m, point.x_m), std::min(low.y_m, point.y_m)};
    high = {std::max(high.x_m, point.x_m), std::max(high.y_m, point.y_m)};
  }
  bool contains(Point point) const {
    return point.x_m >= low.x_m && point.x_m <= high.x_m && point.y_m >= low.y_m &&
           point.y_m <= high.y_m;
  }
  Point clamp(Point point) const {
    return {std::clamp(point.x_m, low.x_m, high.x_m), std::clamp(point.y_m, low.y_m, high.y_m)};
  }
  Point middle() const { return between(low, high, 0.5); }
  double width_m() const { return high.x_m - low.x_m; }
  double height_m() const { return high.y_m - low.y_m; }
};

}  // namespace starling::sim::city
