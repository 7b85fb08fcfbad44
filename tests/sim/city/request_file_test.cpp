// SPDX-License-Identifier: Apache-2.0
// Tests files of requests. New York's layout is recognised, other files are read by the columns
// that the options name, and bad rows are counted.
#include "starling/sim/city/request_file.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim::city {
namespace {

using testing::HasSubstr;

class RequestFile : public testing::Test {
 protected:
  Demand read(const std::string& text, RequestFileOptions options = {}) {
    options.path = directory_.write("requests.csv", text);
    return read_request_file(options);
  }

  std::string error_of(const std::string& text, const RequestFileOptions& options = {}) {
    try {
      read(text, options);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
};

std::string trip(const std::string& pickup_time, const std::string& places) {
  return "m,h," + pickup_time + ",2013-01-01 00:09:00,1,0.4," + places + ",CSH,3,0,0,0,0,4\n";
}

TEST_F(RequestFile, OfNewYorkIsRecognisedAndSortedByPickUp) {
  const Demand demand = read(trip("2013-01-01 00:05:10", "-73.95,40.71,-73.96,40.72") +
                             trip("2013-01-01 00:02:20", "-73.96,40.72,-73.95,40.71"));
  ASSERT_EQ(demand.requests.size(), 2u);
  EXPECT_EQ(demand.requests[1].time_us - demand.requests[0].time_us, 170'000'000);
  EXPECT_EQ(demand.start_us % 60'000'000, 0);
  // At this latitude, 0.01 degrees are about 1,110 m to the north and 845 m to the east.
  const Request& first = demand.requests[0];
  EXPECT_NEAR(std::abs(first.pickup.y_m - first.dropoff.y_m), 1110, 5);
  EXPECT_NEAR(std::abs(first.pickup.x_m - first.dropoff.x_m), 845, 5);
  EXPECT_EQ(demand.spread_us, 0);
}

TEST_F(RequestFile, CountsWhatMakesNoSense) {
  const std::string good = trip("2013-01-01 00:05:10", "-73.95,40.71,-73.96,40.72");
  Demand demand = read(good + good + good + trip("2013-01-01 00:05:11", "0,0,-73.96,40.72") +
                       trip("2013-01-01 00:05:12", "-73.95,40.71,0.000,0.000") +
                       trip("2013-01-01 00:05:13", "-73.95,40.71,-73.95,40.71") +
                       trip("2013-01-01 00:05:14", "-0.028,40.71,-73.95,40.71") +
                       trip("soon", "-73.95,40.71,-73.96,40.72") + "m,h\n" +
                       trip("2013-01-01 00:05:15", "-73.95,x,-73.96,40.72"));
  EXPECT_EQ(demand.requests.size(), 3u);
  EXPECT_EQ(demand[BadRow::null_island], 2u);
  EXPECT_EQ(demand[BadRow::zero_length], 1u);
  EXPECT_EQ(demand[BadRow::outside_area], 1u);
  EXPECT_EQ(demand[BadRow::unparsable], 3u);
}

TEST_F(RequestFile, SpreadsWholeMinutesBySeed) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += trip("2013-01-01 00:05:00", "-73.95,40.71,-73.96,40.72");
  const Demand demand = read(text, {.seed = 1});
  EXPECT_EQ(demand.spread_us, 60'000'000);
  EXPECT_GT(demand.requests.back().time_us - demand.requests.front().time_us, 30'000'000);
  EXPECT_LT(demand.requests.back().time_us - demand.start_us, 60'000'000);
  EXPECT_EQ(read(text, {.seed = 1}).requests[7].time_us, demand.requests[7].time_us);
  EXPECT_NE(read(text, {.seed = 2}).requests[7].time_us, demand.requests[7].time_us);
}

TEST_F(RequestFile, LeavesWholeMinutesIfToldTo) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += trip("2013-01-01 00:05:00", "-73.95,40.71,-73.96,40.72");
  const Demand demand = read(text, {.spreads_minutes = false});
  EXPECT_EQ(demand.spread_us, 0);
  ASSERT_EQ(demand.requests.size(), 50u);
  for (const Request& request : demand.requests) EXPECT_EQ(request.time_us, demand.start_us);
  EXPECT_EQ(demand.start_us % 60'000'000, 0);
}

TEST_F(RequestFile, TakesColumnsByNameAndByNumber) {
  const std::string rows = "5,1,2,100,200\n6,3,4,300,400\n";
  const Demand by_number = read(rows, {.columns = "time=1,pick_x=2,pick_y=3,drop_x=4,drop_y=5"});
  ASSERT_EQ(by_number.requests.size(), 2u);
  EXPECT_EQ(by_number.requests[0].pickup, (Point{1, 2}));
  EXPECT_EQ(by_number.requests[1].dropoff, (Point{300, 400}));
  const Demand by_name =
      read("t,a,b,c,d\n" + rows, {.columns = "time=t,pick_x=a,pick_y=b,drop_x=c,drop_y=d"});
  EXPECT_EQ(by_name.requests[1].time_us, by_number.requests[1].time_us);
  const Demand recognised = read("time,pick_x,pick_y,drop_x,drop_y\n" + rows);
  EXPECT_EQ(recognised.requests[0].dropoff, (Point{100, 200}));
}

TEST_F(RequestFile, LeavesOutWhatIsOutsideTheAreaOrLate) {
  const std::string rows = "1,1,2,100,200\n2,5000,4,300,400\n90,1,1,2,2\n";
  const RequestFileOptions options{.columns = "time=1,pick_x=2,pick_y=3,drop_x=4,drop_y=5",
                                   .area = {{0, 0, 1000, 1000}},
                                   .length_us = 60'000'000};
  Demand demand = read(rows, options);
  EXPECT_EQ(demand.requests.size(), 1u);
  EXPECT_EQ(demand[BadRow::outside_area], 1u);
  EXPECT_EQ(demand.outside_time, 1u);
}

TEST_F(RequestFile, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of("a,b\n1,2\n"), HasSubstr("--request-columns"));
  EXPECT_THAT(error_of("a,b\n", {.columns = "time=1"}), HasSubstr("five columns"));
  EXPECT_THAT(error_of("a,b\n", {.columns = "time=1,where=2"}), HasSubstr("'where=2'"));
  EXPECT_THAT(error_of("a,b\n", {.columns = "time=1,pick_x=2,pick_lat=3"}),
              HasSubstr("'pick_lat=3'"));
  EXPECT_THAT(error_of("a,b\n", {.columns = "time=a,pick_x=b,pick_y=c,drop_x=d,drop_y=e"}),
              HasSubstr("no column 'c'"));
  EXPECT_THAT(error_of(trip("2013-01-01 00:05:11", "0,0,-73.96,40.72")),
              HasSubstr("the file has no usable request; 1 row was skipped: 1 at 0,0"));
  EXPECT_THAT(error_of("time,pick_x,pick_y,drop_x,drop_y\n1,5,5,6,6\n2,5,5,6,6\nnoon,5,5,6,6\n",
                       {.area = {{1, 1, 2, 2}}}),
              HasSubstr("3 rows were skipped: 1 unparsable, 2 outside the area"));
}

TEST(RequestTrace, OfNewYorkIsReadWhole) {
  const char* folder = std::getenv("STARLING_TRACES");
  const std::string path = std::string(folder ? folder : STARLING_TRACES_DEFAULT) +
                           "/ride_requests_nyc_2013-01-01.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  Demand demand = read_request_file({.path = path});
  std::uint64_t rows = demand.requests.size();
  for (const std::uint64_t count : demand.bad_rows) rows += count;
  EXPECT_EQ(rows, 10'004u);
  EXPECT_EQ(demand[BadRow::unparsable], 0u);
  EXPECT_GT(demand.requests.size(), 9'500u);
  EXPECT_EQ(demand.spread_us, 60'000'000);
}

}  // namespace
}  // namespace starling::sim::city
