// SPDX-License-Identifier: Apache-2.0
// Reads the recorded traces that this machine has, and compares counts with known numbers.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

std::string trace_path(const std::string& name) {
  const char* const directory = std::getenv("STARLING_TRACES");
  return std::string(directory != nullptr ? directory : STARLING_TRACES_DEFAULT) + "/" + name;
}

#define SKIP_WITHOUT(path)            \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << (path) << " is absent; STARLING_TRACES names the traces' directory"

std::size_t object_count(const ReadTrace& trace) {
  std::unordered_set<std::uint64_t> ids;
  for (const TraceRow& row : trace.rows) ids.insert(to_number(row.id));
  return ids.size();
}

/// Returns the number of rows minus the number of distinct pairs of object and time.
std::size_t repeated_times(const ReadTrace& trace) {
  std::set<std::pair<std::uint64_t, std::int64_t>> distinct;
  for (const TraceRow& row : trace.rows) distinct.emplace(to_number(row.id), row.time_us);
  return trace.rows.size() - distinct.size();
}

std::size_t backward_steps(const ReadTrace& trace) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < trace.rows.size(); ++i)
    count += trace.rows[i].time_us < trace.rows[i - 1].time_us;
  return count;
}

TEST(RecordedTraces, MarineCadastreAis) {
  const std::string path = trace_path("ais_marinecadastre_2022-01-03.csv.gz");
  SKIP_WITHOUT(path);
  const ReadTrace trace = read_trace({path});
  EXPECT_EQ(trace.layout, "ais");
  EXPECT_EQ(trace.rows.size(), 99'999u);
  EXPECT_EQ(object_count(trace), 10'631u);
  EXPECT_EQ(trace.counts.skipped_total(), 0u);
  EXPECT_EQ(backward_steps(trace), 32'027u);
  EXPECT_EQ(repeated_times(trace), 75u);
  EXPECT_EQ(read_trace({path}, {.max_speed_mps = 100}).counts[SkipReason::too_fast], 103u);
  constexpr std::int64_t half_past_midnight_us = 1'641'169'800'000'000;
  EXPECT_EQ(
      std::ranges::count_if(
          trace.rows, [](const TraceRow& row) { return row.time_us > half_past_midnight_us; }),
      352);
}

TEST(RecordedTraces, OpenskyOverSwitzerland) {
  const std::string path = trace_path("aircraft_opensky_switzerland.json.gz");
  SKIP_WITHOUT(path);
  const ReadTrace trace = read_trace({path}, {.altitude = true});
  EXPECT_EQ(trace.layout, "opensky");
  EXPECT_EQ(trace.rows.size(), 139'098u);
  EXPECT_EQ(object_count(trace), 842u);
  EXPECT_EQ(trace.counts.skipped_total(), 0u);
  for (const TraceRow& row : trace.rows) ASSERT_EQ(row.time_us % 10'000'000, 0);
  EXPECT_EQ(backward_steps(trace), 639u);
  EXPECT_EQ(read_trace({path}, {.max_speed_mps = 400}).counts[SkipReason::too_fast], 137u);
}

TEST(RecordedTraces, AustinBuses) {
  const std::string path = trace_path("bus_capmetro_2016-03-22.csv.gz");
  SKIP_WITHOUT(path);
  const ReadTrace trace = read_trace({path});
  EXPECT_EQ(trace.layout, "gtfs");
  EXPECT_EQ(trace.rows.size(), 34'030u);
  EXPECT_EQ(object_count(trace), 195u);
  EXPECT_EQ(backward_steps(trace), 578u);
  EXPECT_EQ(repeated_times(trace), 12'244u);
  EXPECT_EQ(read_trace({path}, {.max_speed_mps = 30}).counts[SkipReason::too_fast], 1u);
}

TEST(RecordedTraces, NewYorkRideRequests) {
  const std::string path = trace_path("ride_requests_nyc_2013-01-01.csv.gz");
  SKIP_WITHOUT(path);
  const ReadTrace trace =
      read_trace({path}, {.columns = "id=1,time=3,lon=7,lat=8", .utc_offset_us = -18'000'000'000});
  EXPECT_EQ(trace.rows.size() + trace.counts.skipped_total(), 10'004u);
  EXPECT_EQ(trace.counts[SkipReason::null_island], 153u);
  EXPECT_EQ(trace.counts[SkipReason::out_of_range], 1u) << "a latitude of 404.97812";
  EXPECT_EQ(trace.counts.skipped_total(), 154u);
}

TEST(RecordedTraces, SumoSpider) {
  const std::string path = trace_path("sumo_spider_fcd.xml.gz");
  SKIP_WITHOUT(path);
  const ReadTrace vehicles = read_trace({path});
  EXPECT_EQ(vehicles.layout, "sumo");
  EXPECT_EQ(vehicles.rows.size(), 83'750u);
  EXPECT_EQ(object_count(vehicles), 418u);
  EXPECT_EQ(vehicles.counts.skipped_total(), 0u);
  const ReadTrace all = read_trace({path}, {.persons = true});
  EXPECT_EQ(all.rows.size(), 83'750u + 21'946u);
  EXPECT_EQ(object_count(all), 418u + 82u);
  EXPECT_EQ(all.rows.back().time_us, 599'000'000);
}

}  // namespace
}  // namespace starling::sim
