// SPDX-License-Identifier: Apache-2.0
// Calls the engine through its own headers: see own_headers.hpp.
#include "tests/cpp/own_headers.hpp"

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::test {

std::vector<std::uint64_t> nearest_by_own_headers(const std::vector<std::uint64_t>& ids) {
  Processor processor(ProcessorOptions{}, cpu::make_engine({.threads = 1}));
  LockStep ticks(processor);
  processor.put_stream({.name = "near"});
  const QueryDefinition query{.id = QueryId{1}, .k = static_cast<std::uint32_t>(ids.size())};
  QueryStatus query_status{};
  processor.put_queries(*processor.queries().find_stream("near"), {&query, 1}, {&query_status, 1});
  double x_m = 0;
  for (const std::uint64_t id : ids) {
    ObjectUpdate row{.id = ObjectId{id}, .time_us = 1};
    if (processor.lattice().to_lattice({++x_m, 0}, row.position) != PositionError::none) return {};
    UpdateStatus status{};
    processor.update({&row, 1}, 1, {&status, 1});
  }
  const TickReport report = ticks.advance(1);
  std::vector<std::uint64_t> found;
  for (const Neighbor& neighbor : report.streams.front().queries.front().neighbors)
    found.push_back(to_number(neighbor.object));
  return found;
}

}  // namespace starling::test
