// SPDX-License-Identifier: Apache-2.0
// Makes small tables of known rows with the oddities of real recordings. A seed gives the same
// table again. The expected rows come from docs/traces.md and from the way in which the table is
// made; no code is shared with the readers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/sim/data/traces/trace.hpp"
#include "starling/sim/data/traces/trace_files.hpp"

namespace starling::sim {

struct KnownRow {
  std::string id;
  std::int64_t time_us = 0;
  double x = 0;
  double y = 0;
  std::optional<std::uint32_t> tags{};
};

struct GeneratedTable {
  std::string bytes;
  TraceOptions options;
  std::vector<KnownRow> rows;  ///< rows in the file's order
  std::array<std::uint64_t, skip_reason_count> skipped{};
};

GeneratedTable generated_table(std::uint64_t seed);

}  // namespace starling::sim
