// SPDX-License-Identifier: Apache-2.0
// Times time_work.hpp by starling.hpp.
#include <starling/starling.hpp>

#include "time_work.hpp"

namespace {

class Work {
 public:
  void put(const Coordinates& places) {
    engine_.put_stream("near", {.on = starling::ReportOn::distance});
    std::vector<starling::Query> rows;
    for (std::size_t i = 0; i < queries; ++i)
      rows.push_back({.id = i, .k = k, .at = {places[2 * i], places[2 * i + 1]}});
    engine_.put_queries("near", rows);
  }
  void update(const Coordinates& places, std::int64_t time_us) {
    for (std::size_t i = 0; i < objects; ++i) {
      ids_[i] = i;
      times_us_[i] = time_us;
    }
    engine_.update({.ids = ids_, .coordinates = places, .times_us = times_us_});
  }
  void update_one(std::uint64_t id, double x, double y) { engine_.update(id, {x, y}, rounds); }
  double tick(std::int64_t tau_us) {
    double sum = 0;
    for (const auto& list : engine_.tick(tau_us))
      for (const auto& neighbor : list) sum += neighbor.distance;
    return sum;
  }
  double ask(double x, double y) {
    double sum = 0;
    for (const auto& neighbor : engine_.neighbors({.k = k, .at = {x, y}})) sum += neighbor.distance;
    return sum;
  }

 private:
  starling::Engine engine_{{.backend = starling::Backend::cpu, .threads = 1}};
  std::vector<std::uint64_t> ids_ = std::vector<std::uint64_t>(objects);
  std::vector<std::int64_t> times_us_ = std::vector<std::int64_t>(objects);
};

}  // namespace

int main() {
  Work work;
  time_work("starling.hpp", work);
}
