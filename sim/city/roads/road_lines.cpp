// SPDX-License-Identifier: Apache-2.0
// Writes each line once: see road_lines.hpp.
#include "starling/sim/city/roads/road_lines.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim::city {
namespace {

double rounded_m(double metres) {
  return std::round(metres * 100) / 100 + 0.0;  // + 0.0 makes -0 a 0
}

std::string line_json(std::vector<Point> points) {
  for (Point& point : points) point = {rounded_m(point.x_m), rounded_m(point.y_m)};
  // Reverses the points where needed, so that both directions of a street give the same line.
  const auto is_less = [](Point a, Point b) {
    return std::pair(a.x_m, a.y_m) < std::pair(b.x_m, b.y_m);
  };
  if (std::ranges::lexicographical_compare(points.rbegin(), points.rend(), points.begin(),
                                           points.end(), is_less))
    std::ranges::reverse(points);
  std::string text;
  for (const Point& point : points) {
    text += text.empty() ? '[' : ',';
    append_number(text, point.x_m);
    text += ',';
    append_number(text, point.y_m);
  }
  return text + ']';
}

}  // namespace

std::string road_lines_json(const RoadNetwork& network, std::size_t bytes_max) {
  std::string text = "{\"name\":";
  append_json(text, network.name);
  text += ",\"lines\":[";
  std::unordered_set<std::string> written;
  std::string_view comma;
  for (const RoadEdge& edge : network.edges) {
    const auto [line, is_new] = written.insert(line_json(edge.shape));
    if (!is_new) continue;
    text += std::exchange(comma, ",");
    text += *line;
    if (text.size() > bytes_max)
      throw InputError(network.name + ": its roads have more than " + std::to_string(bytes_max) +
                       " bytes of JSON; leave minor roads or distant parts out, for example with "
                       "netconvert");
  }
  return text + "]}\n";
}

}  // namespace starling::sim::city
