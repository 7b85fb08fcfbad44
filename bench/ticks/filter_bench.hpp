// SPDX-License-Identifier: Apache-2.0
// `starling bench filters`: measures ticks whose queries accept all, some, few or none of the
// objects. Called by apps/bench.cpp.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

/// What the filters in a row of the table test: the tags of an object, its age, or both.
enum class FilterKind : std::uint8_t { tags, age, both };

struct FilterBenchOptions {
  EngineFactory make_engine;
  std::string engine_name;  ///< the name that the heading shows
  std::uint32_t objects = 20'000;
  std::uint32_t queries = 2'000;
  std::uint32_t k = 8;
  std::vector<Layout> layouts{Layout::uniform, Layout::clustered};
  std::vector<FilterKind> kinds{FilterKind::tags, FilterKind::age, FilterKind::both};
  std::vector<std::uint32_t> filters{1, 16, 1000};  ///< how many different filters the queries have
  std::vector<double> distances_max_m{0, 5'000};    ///< distances in metres; 0: any distance
  int ticks = 5;                                    ///< measured ticks for each row, after 2 for
                                                    ///< warm-up
  bool json = false;
};

/// Returns the meaning of the columns, for --help.
std::string filter_figures_help();

/// Prints a row for each combination of layouts, kinds, distances_max_m and filters. The times in a
/// row are for filters that 100 %, 10 %, 1 %, 0.1 %, three or none of the objects pass. Some lists
/// are compared with a test of every object. Throws std::runtime_error if one of them is wrong.
void write_filter_table(const FilterBenchOptions& options, std::ostream& out);

}  // namespace starling::bench
