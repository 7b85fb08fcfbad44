// Embeds Starling's engine in a program of one's own: three taxis move, one query follows them.
// Exits 0 if the lists are what they must be, else says which was not.
#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <starling/cpu/cpu_engine.hpp>
#include <starling/knn/processor.hpp>

namespace {

constexpr std::int64_t second_us = 1'000'000;

bool update(starling::Processor& processor, starling::ObjectId id, std::int64_t time_us,
            const starling::Position& position) {
  starling::ObjectUpdate row{.id = id, .time_us = time_us};
  if (processor.lattice().to_lattice(position, row.position) != starling::PositionError::none)
    return false;
  std::array<starling::UpdateStatus, 1> status;
  processor.update({&row, 1}, time_us + second_us, status);
  return status[0] == starling::UpdateStatus::accepted;
}

// The ids of the only reported list, nearest first; empty if nothing was reported.
std::vector<std::uint64_t> reported(const starling::TickReport& report) {
  std::vector<std::uint64_t> ids;
  for (const starling::QueryReport& list : report.streams.at(0).queries)
    for (const starling::Neighbor& neighbor : list.neighbors)
      ids.push_back(starling::to_number(neighbor.object));
  return ids;
}

bool expect(const std::string& what, const std::vector<std::uint64_t>& found,
            const std::vector<std::uint64_t>& expected) {
  if (found == expected) return true;
  std::cerr << what << ": the neighbours are not what they must be\n";
  return false;
}

}  // namespace

int main() {
  starling::ProcessorOptions options;  // planar2, 1 cm
  starling::Processor processor(options,
                                starling::cpu::make_engine({.space = options.space.space}));
  starling::LockStep ticks(processor);

  processor.put_stream({.name = "riders", .on = starling::ReportOn::order});
  starling::QueryDefinition rider{.id = starling::QueryId{1}, .k = 2};
  processor.lattice().to_lattice({100.0, 100.0}, rider.anchor.position);
  std::array<starling::QueryStatus, 1> status;
  processor.put_queries(*processor.queries().find_stream("riders"), {&rider, 1}, status);

  using starling::ObjectId;
  bool good = status[0] == starling::QueryStatus::accepted;
  good &= update(processor, ObjectId{11}, second_us, {100.0, 90.0});
  good &= update(processor, ObjectId{12}, second_us, {130.0, 100.0});
  good &= update(processor, ObjectId{13}, second_us, {100.0, 500.0});
  good &= expect("first tick", reported(ticks.advance(second_us)), {11, 12});

  good &= update(processor, ObjectId{13}, 2 * second_us, {100.0, 101.0});
  good &= expect("after 13 came", reported(ticks.advance(2 * second_us)), {13, 11});
  good &= expect("nothing moved", reported(ticks.advance(3 * second_us)), {});
  return good ? 0 : 1;
}
