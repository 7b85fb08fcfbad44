// SPDX-License-Identifier: Apache-2.0
// Reads SUMO's network files. Edges name junctions that come later in the file, so the parser first
// collects all elements and joins them at the end.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "starling/sim/city/roads/road_network.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_input.hpp"
#include "starling/sim/data/files/xml_parser.hpp"

namespace starling::sim::city {
namespace {

// With these limits, positions fit a lattice of 1 cm resolution, and the times of routes fit 64
// bits.
constexpr double network_coordinate_max_m = 1e7;
constexpr double edge_length_max_m = 1e6;
constexpr double speed_min_mps = 0.1;
constexpr double speed_max_mps = 1000;

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

/// Returns true if taxis or passenger cars may use a lane. SUMO writes either the allowed vehicle
/// classes or the forbidden ones.
bool is_for_taxis(std::string_view allowed, std::string_view forbidden) {
  const auto has = [](std::string_view words) {
    return [words](const char* kind) { return has_word(words, kind); };
  };
  constexpr std::array kinds{"taxi", "passenger"};
  if (!allowed.empty()) return has_word(allowed, "all") || std::ranges::any_of(kinds, has(allowed));
  return !has_word(forbidden, "all") && !std::ranges::all_of(kinds, has(forbidden));
}

class NetworkParser final : public XmlParser {
 public:
  explicit NetworkParser(const std::string& path) : XmlParser(path) {}

  RoadNetwork finish() {
    RoadNetwork network{.name = path_, .edges = {}, .successors = {}};
    for (RawEdge& raw : edges_) network.edges.push_back(finish_edge(raw));
    if (network.edges.empty())
      throw InputError(path_ + ": the network has no edge that a taxi may use");
    network.successors.resize(network.edges.size());
    if (connections_.empty()) {
      connect_at_junctions(network);
    } else {
      for (const Connection& connection : connections_)
        connect(network, connection.from, connection.to);
    }
    for (auto& successors : network.successors) {
      std::ranges::sort(successors);
      const auto repeated = std::ranges::unique(successors);
      successors.erase(repeated.begin(), repeated.end());
    }
    return network;
  }

 private:
  struct RawEdge {
    std::string id;
    std::string from;
    std::string to;
    std::vector<Point> shape;
    double speed_mps = 0;
    double length_m = 0;
    bool has_lane = false;
    std::uint64_t line = 0;
  };
  struct Connection {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };

  void start(std::string_view name, const XmlAttributes& attributes) override {
    if (!has_root_) {
      if (name != "net")
        fail("a SUMO network begins with <net>, but this file begins with <" +
             printable_text(name) + ">");
      has_root_ = true;
    }
    if (name == "edge") return start_edge(attributes);
    if (name == "lane" && in_edge_) return add_lane(attributes);
    if (name == "junction") return add_junction(attributes);
    if (name == "connection") return add_connection(attributes);
  }

  void end(std::string_view name) override {
    if (name == "edge") end_edge();
  }

  void start_edge(const XmlAttributes& attributes) {
    // Only ordinary edges are read. Internal edges lie within a junction; edges with any other
    // function are for pedestrians.
    const std::string_view function = attributes["function"];
    in_edge_ = function.empty() || function == "normal" || function == "connector";
    if (!in_edge_) return;
    edge_ = {};
    edge_.id = attributes["id"];
    edge_.from = attributes["from"];
    edge_.to = attributes["to"];
    edge_.line = line();
    if (edge_.id.empty()) fail("this edge has no id");
    if (edge_.from.empty() || edge_.to.empty())
      fail("edge " + quoted_text(edge_.id) + " does not name the junctions 'from' and 'to'");
    edge_.shape = parse_shape(attributes["shape"]);
    lanes_ = 0;
  }

  void add_lane(const XmlAttributes& attributes) {
    ++lanes_;
    const auto speed = parse_number(attributes["speed"]);
    const auto length = parse_number(attributes["length"]);
    if (!speed || !(*speed > 0))
      fail("edge " + quoted_text(edge_.id) + " has a lane without a positive speed");
    if (*speed < speed_min_mps || *speed > speed_max_mps)
      fail("edge " + quoted_text(edge_.id) + " has a lane with a speed outside 0.1 to 1000 m/s");
    if (!length || !(*length > 0))
      fail("edge " + quoted_text(edge_.id) + " has a lane without a positive length");
    if (!is_for_taxis(attributes["allow"], attributes["disallow"])) return;
    edge_.has_lane = true;
    edge_.speed_mps = std::max(edge_.speed_mps, *speed);
    edge_.length_m = std::max(edge_.length_m, *length);
  }

  void end_edge() {
    if (!in_edge_) return;
    in_edge_ = false;
    if (lanes_ == 0) fail("edge " + quoted_text(edge_.id) + " has no lane");
    if (!edge_.has_lane) {
      unused_.emplace(edge_.id);
      return;
    }
    if (!by_id_.emplace(edge_.id, static_cast<std::uint32_t>(edges_.size())).second)
      fail("edge " + quoted_text(edge_.id) + " occurs twice");
    edges_.push_back(std::move(edge_));
  }

  void add_junction(const XmlAttributes& attributes) {
    const auto x = parse_number(attributes["x"]);
    const auto y = parse_number(attributes["y"]);
    if (!is_position(x, y)) fail("junction " + quoted_text(attributes["id"]) + " has no position");
    junctions_.emplace(attributes["id"], Point{*x, *y});
  }

  void add_connection(const XmlAttributes& attributes) {
    const std::string from(attributes["from"]);
    const std::string to(attributes["to"]);
    if (from.starts_with(':') || to.starts_with(':')) return;  // an internal edge of a junction
    for (const std::string* const id : {&from, &to})
      if (!by_id_.contains(*id) && !unused_.contains(*id))
        fail("a connection names edge " + quoted_text(*id) + ", which does not exist");
    if (unused_.contains(from) || unused_.contains(to)) return;
    connections_.push_back({by_id_.at(from), by_id_.at(to)});
  }

  static bool is_position(const std::optional<double>& x, const std::optional<double>& y) {
    return x && y && std::abs(*x) <= network_coordinate_max_m &&
           std::abs(*y) <= network_coordinate_max_m;
  }

  std::vector<Point> parse_shape(std::string_view text) const {
    std::vector<Point> shape;
    while (!text.empty()) {
      const std::string_view pair = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      if (pair.empty()) continue;
      const std::size_t comma = std::min(pair.find(','), pair.size());
      std::string_view rest = pair.substr(std::min(comma + 1, pair.size()));
      const auto x = parse_number(pair.substr(0, comma));
      const auto y = parse_number(rest.substr(0, rest.find(',')));  // a z may follow
      if (!is_position(x, y))
        fail("edge " + quoted_text(edge_.id) + " has a shape that is not a list of x,y");
      shape.push_back({*x, *y});
    }
    return shape;
  }

  RoadEdge finish_edge(RawEdge& raw) const {
    for (const std::string* const junction : {&raw.from, &raw.to})
      if (!junctions_.contains(*junction))
        throw InputError(path_, raw.line, 1,
                         "edge " + quoted_text(raw.id) + " names junction " +
                             quoted_text(*junction) + ", which does not exist");
    const Point from = junctions_.at(raw.from);
    const Point to = junctions_.at(raw.to);
    if (raw.shape.size() < 2) raw.shape = {from, to};
    // At joined junctions, a gap may lie between the end of an edge's shape and the junction's
    // position. A route includes this gap.
    constexpr double gap_min_m = 0.01;
    const double before_m = distance_m(from, raw.shape.front());
    const double behind_m = distance_m(raw.shape.back(), to);
    if (before_m >= gap_min_m) raw.shape.insert(raw.shape.begin(), from);
    if (behind_m >= gap_min_m) raw.shape.push_back(to);
    if (before_m >= gap_min_m) raw.length_m += before_m;
    if (behind_m >= gap_min_m) raw.length_m += behind_m;
    double shape_m = 0;
    for (std::size_t i = 1; i < raw.shape.size(); ++i)
      shape_m += distance_m(raw.shape[i - 1], raw.shape[i]);
    if (std::max(shape_m, raw.length_m) > edge_length_max_m)
      throw InputError(
          path_, raw.line, 1,
          "edge " + quoted_text(raw.id) + " is longer than 1,000 km; cut it into shorter ones");
    return {raw.id, std::move(raw.shape), raw.speed_mps, raw.length_m};
  }

  void connect(RoadNetwork& network, std::uint32_t from, std::uint32_t to) const {
    if (edges_[from].to != edges_[to].from)
      throw InputError(path_ + ": a connection leads from edge " + quoted_text(edges_[from].id) +
                       " to edge " + quoted_text(edges_[to].id) + ", which begins elsewhere");
    network.successors[from].push_back(to);
  }

  void connect_at_junctions(RoadNetwork& network) const {
    std::unordered_map<std::string, std::vector<std::uint32_t>> leaving;
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge)
      leaving[edges_[edge].from].push_back(edge);
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge)
      for (const std::uint32_t next : leaving[edges_[edge].to])
        network.successors[edge].push_back(next);
  }

  bool has_root_ = false;
  bool in_edge_ = false;
  RawEdge edge_;
  int lanes_ = 0;
  std::vector<RawEdge> edges_;
  std::unordered_map<std::string, std::uint32_t> by_id_;
  std::unordered_map<std::string, Point> junctions_;
  std::unordered_set<std::string> unused_;  ///< edges that neither taxis nor passenger cars may use
  std::vector<Connection> connections_;
};

}  // namespace

RoadNetwork read_sumo_network(const std::string& path) {
  TextInput input(path);
  NetworkParser parser(path);
  parser.read(input);
  return parser.finish();
}

}  // namespace starling::sim::city
