// SPDX-License-Identifier: Apache-2.0
// A replay with its own clock, independent of the real time. It reads recorded fixes of three
// taxis, and at each simulated second it finds the two taxis nearest to a rider. The same records
// give the same answers on any number of threads, so the program replays them on one thread and on
// four. Exits with 0 if both answers are the expected ones.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <starling/cpu/backend.hpp>
#include <starling/knn/tables/lock_step.hpp>
#include <starling/knn/tables/processor.hpp>

namespace {

constexpr std::int64_t second_us = 1'000'000;

struct Fix {
  std::int64_t time_us;
  std::uint64_t taxi;
  starling::Position position_m;
};

// Ordered by time. Taxi 13 is nearest to the rider at 2 s, and taxi 11 at 3 s. Then all taxis stand
// still.
constexpr std::array<Fix, 6> recorded{{{1 * second_us, 11, {100.0, 90.0}},
                                       {1 * second_us, 12, {130.0, 100.0}},
                                       {1 * second_us, 13, {100.0, 500.0}},
                                       {2 * second_us, 13, {100.0, 101.0}},
                                       {3 * second_us, 11, {100.0, 98.0}},
                                       {3 * second_us, 13, {100.0, 120.0}}}};

constexpr starling::Position rider_m{100.0, 100.0};

class Dispatch {
 public:
  explicit Dispatch(unsigned threads)
      : processor_(starling::ProcessorOptions{},  // planar2, 1 cm
                   starling::cpu::make_engine({.threads = threads})) {
    processor_.put_stream({.name = "riders", .on = starling::ReportOn::order});
    starling::QueryDefinition rider{.id = starling::QueryId{1}, .k = 2};
    if (processor_.lattice().to_lattice(rider_m, rider.anchor.position) !=
        starling::PositionError::none)
      throw std::runtime_error("the rider has no place on the lattice");
    rider.filter.key_max = processor_.to_key_max(1000.0);
    starling::QueryStatus status{};
    processor_.put_queries(*processor_.queries().find_stream("riders"), {&rider, 1}, {&status, 1});
    if (status != starling::QueryStatus::accepted)
      throw std::runtime_error("the query is refused: " + std::string(to_string(status)));
  }

  /// Runs a tick and returns the reported lists as text. `fixes` are those since the last tick.
  std::string tick(std::span<const Fix> fixes, std::int64_t tau_us) {
    for (const Fix& fix : fixes) add(fix, tau_us);
    const starling::TickReport report = ticks_.advance(tau_us);  // begins the tick and waits for it
    if (!report.error.empty()) throw std::runtime_error("the tick failed: " + report.error);
    std::string text;
    for (const starling::QueryReport& list : report.streams.front().queries) {
      text += "at " + std::to_string(tau_us / second_us) + " s:";
      for (const starling::Neighbor& neighbor : list.neighbors)
        text += " taxi " + std::to_string(to_number(neighbor.object)) + " in " +
                std::to_string(processor_.lattice().to_metres(neighbor.key)) + " m";
      text += '\n';
    }
    return text;
  }

 private:
  void add(const Fix& fix, std::int64_t tau_us) {
    starling::ObjectUpdate row{.id = starling::ObjectId{fix.taxi}, .time_us = fix.time_us};
    if (processor_.lattice().to_lattice(fix.position_m, row.position) !=
        starling::PositionError::none)
      throw std::runtime_error("a fix has no place on the lattice");
    starling::UpdateStatus status{};
    processor_.update({&row, 1}, tau_us, {&status, 1});
    if (status != starling::UpdateStatus::accepted)
      std::cerr << "taxi " << fix.taxi << ": " << to_string(status) << '\n';
  }

  starling::Processor processor_;
  starling::LockStep ticks_{processor_};
};

std::string replay(unsigned threads) {
  Dispatch dispatch(threads);
  std::string text;
  std::size_t next = 0;
  for (std::int64_t tau_us = second_us; tau_us <= 4 * second_us; tau_us += second_us) {
    const std::size_t first = next;
    while (next < recorded.size() && recorded[next].time_us <= tau_us) ++next;
    text += dispatch.tick(std::span(recorded).subspan(first, next - first), tau_us);
  }
  return text;
}

// The tick at 4 s reports nothing. With ReportOn::order this means that no list changed its order.
constexpr const char* expected =
    "at 1 s: taxi 11 in 10.000000 m taxi 12 in 30.000000 m\n"
    "at 2 s: taxi 13 in 1.000000 m taxi 11 in 10.000000 m\n"
    "at 3 s: taxi 11 in 2.000000 m taxi 13 in 20.000000 m\n";

}  // namespace

int main() {
  try {
    const std::string answers = replay(1);
    std::cout << answers;
    return answers == expected && replay(4) == answers ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "own_clock: " << error.what() << '\n';
    return 1;
  }
}
