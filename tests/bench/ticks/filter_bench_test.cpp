// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench filters` at its smallest size. The benchmark compares its lists with the
// lists of a search that tests every object. The tests check the table and the JSON, but no times.
#include "starling/bench/ticks/filter_bench.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "starling/cpu/backend.hpp"

namespace starling::bench {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Engine> make_engine(Space space) {
  return cpu::make_engine({.space = {.space = space}, .threads = 1});
}

std::string output_of(bool json) {
  FilterBenchOptions options;
  options.make_engine = make_engine;
  options.engine_name = "cpu";
  options.objects = 3'000;
  options.queries = 60;
  options.ticks = 1;
  options.json = json;
  std::ostringstream out;
  write_filter_table(options, out);
  return out.str();
}

TEST(FilterBench, ItsTableHasARowForEachKindOfFilter) {
  const std::string table = output_of(false);
  EXPECT_THAT(table, HasSubstr("\nlayout "));
  EXPECT_EQ(std::ranges::count(table, '\n'), 2 + 2 * 3 * 2 * 3);
  for (const char* cell : {"uniform", "clustered", " tags ", " age ", " both ", " any ", " 5000 "})
    EXPECT_THAT(table, HasSubstr(cell));
}

TEST(FilterBench, ItsJsonHasAnObjectForEachFigure) {
  const std::string json = output_of(true);
  EXPECT_EQ(std::ranges::count(json, '{'), 2 * 3 * 2 * 3 * 6);
  for (const char* field : {"engine", "objects", "queries", "k", "layout", "asks_for",
                            "distance_max_m", "filters", "share", "ms", "of_all_pass"})
    EXPECT_THAT(json, HasSubstr("\"" + std::string(field) + "\":"));
}

}  // namespace
}  // namespace starling::bench
