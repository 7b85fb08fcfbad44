// SPDX-License-Identifier: Apache-2.0
// Filters: a rider asks for the nearest taxis that are free, have room for a wheelchair, are within
// 500 m, and have sent an update within the last 30 seconds. A filter acts before the limit k.
// Exits with 0 if the lists are the expected ones.
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <starling/cpu/backend.hpp>
#include <starling/knn/tables/lock_step.hpp>
#include <starling/knn/tables/processor.hpp>

namespace {

constexpr std::int64_t second_us = 1'000'000;

// The meaning of the 32 tag bits is the program's own.
constexpr std::uint32_t occupied = 1U << 0;
constexpr std::uint32_t wheelchair = 1U << 1;

class Taxis {
 public:
  Taxis() {
    processor_.put_stream({.name = "riders", .on = starling::ReportOn::membership});
    starling::QueryDefinition rider{.id = starling::QueryId{1}, .k = 2};  // stands at 0, 0
    rider.filter.tags = {.required = wheelchair, .forbidden = occupied};
    rider.filter.key_max = processor_.to_key_max(500.0);
    rider.filter.age_us_max = 30 * second_us;
    starling::QueryStatus status{};
    processor_.put_queries(*processor_.queries().find_stream("riders"), {&rider, 1}, {&status, 1});
    if (status != starling::QueryStatus::accepted)
      throw std::runtime_error("the query is refused: " + std::string(to_string(status)));
  }

  /// `tags` count only because has_tags is set. Without it, the taxi would keep its tags.
  void put(std::uint64_t taxi, std::int64_t time_us, double x_m, std::uint32_t tags) {
    starling::ObjectUpdate row{.id = starling::ObjectId{taxi}, .time_us = time_us};
    if (processor_.lattice().to_lattice({x_m, 0}, row.position) != starling::PositionError::none)
      throw std::runtime_error("a taxi has no place on the lattice");
    row.tags = tags;
    row.has_tags = true;
    starling::UpdateStatus status{};
    processor_.update({&row, 1}, time_us, {&status, 1});
  }

  /// Changes the bit without a new position.
  void set_occupied(std::uint64_t taxi, std::int64_t time_us) {
    const starling::TagUpdate row{
        .id = starling::ObjectId{taxi}, .time_us = time_us, .set = occupied, .clear = 0};
    starling::UpdateStatus status{};
    processor_.update_tags({&row, 1}, time_us, {&status, 1});
  }

  /// Runs a tick and returns the taxis of the reported list.
  std::string tick(std::int64_t tau_us) {
    const starling::TickReport report = ticks_.advance(tau_us);
    if (!report.error.empty()) throw std::runtime_error("the tick failed: " + report.error);
    std::string text;
    for (const starling::QueryReport& list : report.streams.front().queries)
      for (const starling::Neighbor& neighbor : list.neighbors)
        (text += ' ') += std::to_string(to_number(neighbor.object));
    return text;
  }

 private:
  starling::Processor processor_{starling::ProcessorOptions{}, starling::cpu::make_engine({})};
  starling::LockStep ticks_{processor_};
};

}  // namespace

int main() {
  try {
    Taxis taxis;
    taxis.put(11, 0, 100, wheelchair | occupied);
    taxis.put(12, 0, 200, 0);
    taxis.put(13, 0, 300, wheelchair);
    taxis.put(14, 20 * second_us, 400, wheelchair);
    taxis.put(15, 20 * second_us, 600, wheelchair);
    const std::string first = taxis.tick(20 * second_us);
    const std::string later = taxis.tick(40 * second_us);  // taxi 13 has sent no update for 40 s
    taxis.set_occupied(14, 41 * second_us);
    const std::string last = taxis.tick(42 * second_us);
    std::cout << "at 20 s:" << first << "\nat 40 s:" << later << "\nat 42 s:" << last << '\n';
    return first == " 13 14" && later == " 14" && last.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "filters: " << error.what() << '\n';
    return 1;
  }
}
