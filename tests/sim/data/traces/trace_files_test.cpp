// SPDX-License-Identifier: Apache-2.0
// Tests generic CSV with --columns, compression, several files as one trace, and errors.
#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::uint64_t> ids(const ReadTrace& trace) {
  std::vector<std::uint64_t> result;
  for (const TraceRow& row : trace.rows) result.push_back(to_number(row.id));
  return result;
}

TEST(CsvByColumns, FindsColumnsByName) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("bus.csv",
                      "vehicle_id,timestamp,speed,latitude,longitude,head sign\r\n"
                      "2052,2016-03-22T19:26:01-05:00,8.4,30.220976,-97.76523,\"1, South\"\r\n");
  const ReadTrace trace =
      read_trace({path}, {.columns = "id=vehicle_id,time=timestamp,lat=latitude,lon=longitude"});
  EXPECT_EQ(trace.layout, "csv");
  EXPECT_EQ(trace.space, Space::wgs84);
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.rows[0].id, ObjectId{2052});
  EXPECT_EQ(trace.rows[0].time_us, 1'458'692'761'000'000);
  EXPECT_EQ(trace.rows[0].position, (Position{-97.76523, 30.220976, 0}));
  EXPECT_FALSE(trace.rows[0].has_tags);
}

TEST(CsvByColumns, FindsColumnsByNumberWithoutAHeader) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(
      "taxi.csv", "A1,2013-01-01 00:00:00,-73.9,40.7\nB2,2013-01-01 00:00:01,0,0\n");
  const ReadTrace trace =
      read_trace({path}, {.columns = "id=1,time=2,lon=3,lat=4", .utc_offset_us = -18'000'000'000});
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.rows[0].time_us, 1'356'998'400'000'000 + 18'000'000'000);
  EXPECT_EQ(trace.counts[SkipReason::null_island], 1u);
}

TEST(CsvByColumns, XAndYArePlanarAndZMakesThreeDimensions) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "t,n,x,y,z\n1,a,0,0,9\n");
  const ReadTrace flat = read_trace({path}, {.columns = "id=n,time=t,x=x,y=y"});
  EXPECT_EQ(flat.space, Space::planar2);
  EXPECT_EQ(flat.rows.at(0).position, Position{});
  const ReadTrace solid = read_trace({path}, {.columns = "id=n,time=t,x=x,y=y,z=z"});
  EXPECT_EQ(solid.space, Space::planar3);
  EXPECT_EQ(solid.rows.at(0).position, (Position{0, 0, 9}));
}

TEST(CsvByColumns, AltitudeCountsOnlyIfAskedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "t,n,a,b,h\n1,a,50,10,9\n2,a,50,10,\n");
  const std::string columns = "id=n,time=t,lat=a,lon=b,alt=h";
  EXPECT_EQ(read_trace({path}, {.columns = columns}).rows.at(0).position, (Position{10, 50, 0}));
  const ReadTrace high = read_trace({path}, {.columns = columns, .altitude = true});
  ASSERT_EQ(high.rows.size(), 1u);
  EXPECT_EQ(high.rows[0].position, (Position{10, 50, 9}));
}

TEST(CsvByColumns, TagsAreANumberOrAbsent) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("points.csv", "t,n,x,y,g\n1,a,1,1,5\n1,b,1,1,\n1,c,1,1,free\n1,d,1,1,-1\n");
  const ReadTrace trace = read_trace({path}, {.columns = "id=n,time=t,x=x,y=y,tags=g"});
  ASSERT_EQ(trace.rows.size(), 2u);
  EXPECT_TRUE(trace.rows[0].has_tags);
  EXPECT_EQ(trace.rows[0].tags, 5u);
  EXPECT_FALSE(trace.rows[1].has_tags);
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 2u);
}

TEST(CsvByColumns, TimesFollowTheUnitGiven) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "t,n,x,y\n1500,a,1,1\n");
  const std::string columns = "id=n,time=t,x=x,y=y";
  EXPECT_EQ(read_trace({path}, {.columns = columns}).rows.at(0).time_us, 1'500'000'000);
  EXPECT_EQ(read_trace({path}, {.columns = columns, .time_unit = TimeUnit::milliseconds})
                .rows.at(0)
                .time_us,
            1'500'000);
}

TEST(CsvByColumns, PositionsOffTheLatticeAreOutOfRange) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("points.csv", "t,n,x,y\n1,a,1e9,1\n1,b,1e6,1\n1,c,inf,1\n");
  const ReadTrace trace = read_trace({path}, {.columns = "id=n,time=t,x=x,y=y"});
  EXPECT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.counts[SkipReason::out_of_range], 2u);
}

TEST(CsvByColumns, FarPositionsAreKeptIfNoLatticeNeedsThem) {
  const TemporaryDirectory directory;
  const std::string columns = "id=n,time=t,x=x,y=y";
  const std::string path =
      directory.write("points.csv", "t,n,x,y\n1,a,20037508,-1e300\n1,b,inf,1\n");
  const ReadTrace trace = read_trace({path}, {.columns = columns, .keep_far = true});
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.rows[0].position, (Position{20037508, -1e300, 0}));
  EXPECT_THAT(trace.counts.first_skipped, Contains(EndsWith("the x 'inf' is out of range")));
  const ReadTrace slow =
      read_trace({path}, {.columns = columns, .keep_far = true, .max_speed_mps = 9});
  EXPECT_EQ(slow.rows.size(), 0u) << "the lattice measures the speed";
  EXPECT_THAT(slow.counts.first_skipped,
              Contains(HasSubstr("is out of range; without --max-speed-mps it is kept")));
}

TEST(CsvByColumns, AColumnThatIsNotThereIsAnError) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "t,n,x,y\n");
  EXPECT_EQ(trace_error({path}, {.columns = "id=name,time=t,x=x,y=y"}),
            path + ":1:1: there is no column 'name'; the header has: t, n, x, y");
}

TEST(ColumnsOption, SaysWhatIsWrong) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "a\n");
  const auto error_of = [&](const std::string& columns) {
    return usage_error({path}, {.columns = columns});
  };
  EXPECT_THAT(error_of("id=a,time=b,lat=c"), HasSubstr("lacks the id, the time, or a coordinate"));
  EXPECT_THAT(error_of("id=a,time=b,lat=c,lon=d,x=e"), HasSubstr("mixes lat, lon, alt"));
  EXPECT_THAT(error_of("id=a,time=b,x=c,y=d,id=e"), HasSubstr("has 'id' twice"));
  EXPECT_THAT(error_of("id=a,when=b"), HasSubstr("the unknown key 'when'"));
  EXPECT_THAT(error_of("id=a,time"), HasSubstr("'time' where key=column is needed"));
  EXPECT_THAT(error_of("id=1,time=2,x=3,y=yy"), HasSubstr("mixes names and numbers"));
  EXPECT_THAT(error_of("id=0,time=2,x=3,y=4"), HasSubstr("counts from 1"));
}

TEST(TraceFiles, GzipIsUndoneWhateverTheFileIsCalled) {
  const TemporaryDirectory directory;
  const std::string text = "t,n,x,y\n1,7,1,1\n";
  const TraceOptions options{.columns = "id=n,time=t,x=x,y=y"};
  EXPECT_EQ(read_trace({directory.write_gz("points.csv.gz", text)}, options).rows.size(), 1u);
  EXPECT_EQ(read_trace({directory.write_gz("points.csv", text)}, options).rows.size(), 1u);
}

TEST(TraceFiles, ATruncatedGzipIsAnError) {
  const TemporaryDirectory directory;
  std::string text = "t,n,x,y\n";
  for (int row = 0; row < 5000; ++row) text += std::to_string(row * 7919) + ",7,1,1\n";
  const std::string path = directory.write_gz("points.csv.gz", text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(trace_error({path}, {.columns = "id=n,time=t,x=x,y=y"}),
              HasSubstr("the gzip file is truncated"));
}

TEST(TraceFiles, FilesAreReadInTheOrderGivenAndDirectoriesByName) {
  const TemporaryDirectory directory;
  const TraceOptions options{.columns = "id=1,time=2,x=3,y=4"};
  std::filesystem::create_directory(directory.path("day"));
  directory.write("day/b.csv", "2,1,0,0\n");
  directory.write("day/a.csv", "1,1,0,0\n");
  directory.write("day/.hidden", "not,a,trace\n");
  const std::string last = directory.write("last.csv", "3,0,0,0\n");
  EXPECT_EQ(ids(read_trace({directory.path("day"), last}, options)),
            (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(ids(read_trace({last, directory.path("day")}, options)),
            (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST(TraceFiles, AltitudesAreOfAllFilesOrOfNone) {
  const TemporaryDirectory directory;
  const std::vector<std::string> paths{
      directory.write("high.csv", "id,time_us,lon,lat,alt\n1,1000000,8,47,10000\n"),
      directory.write("flat.csv", "id,time_us,lon,lat\n2,1000000,8,47\n")};
  EXPECT_THAT([&] { Trace(paths, {}); },
              testing::ThrowsMessage<UsageError>(
                  HasSubstr("high.csv has altitudes and " + paths[1] + " has none")));
}

TEST(TraceFiles, ATraceHasOneSpace) {
  const TemporaryDirectory directory;
  const std::string sumo = directory.write("a.xml", "<fcd-export></fcd-export>");
  const std::string ais = directory.write("b.csv", "MMSI,BaseDateTime,LAT,LON\n");
  EXPECT_THAT(usage_error({sumo, ais}), HasSubstr("a trace has one space"));
  EXPECT_THAT(usage_error({ais}, {.space = Space::planar2}),
              HasSubstr("whose positions are latitudes and longitudes"));
  EXPECT_THAT(usage_error({ais}, {.altitude = true}), HasSubstr("there is no altitude"));
}

TEST(TraceFiles, WhatIsMissingOrUnknownIsSaid) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.txt", "hello\n");
  EXPECT_THAT(trace_error({path}),
              AllOf(StartsWith(path + ": its layout is not recognised: it begins with 'hello'; "
                                      "name the layout with --format (sumo"),
                    HasSubstr("or the columns of a CSV file with --columns id=")));
  EXPECT_THAT(trace_error({directory.path("absent.csv")}),
              HasSubstr("cannot be opened: No such file or directory"));
  EXPECT_THAT(
      usage_error({path}, {.format = "kml"}),
      HasSubstr("'kml' is not one of auto, sumo, ais, ais-2025, ais-danish, opensky, tdrive, "
                "cabspotting, geolife, gpx, geojson, porto, gtfs, starling-lonlat, starling-xy, "
                "json, csv"));
  EXPECT_THAT(usage_error({path}, {.format = "csv"}), HasSubstr("needs --columns"));
  EXPECT_THAT(usage_error({path}, {.format = "ais", .columns = "id=a"}),
              HasSubstr("--columns needs --format csv"));
  std::filesystem::create_directory(directory.path("empty"));
  EXPECT_THAT(trace_error({directory.path("empty")}), HasSubstr("the trace has no files"));
}

}  // namespace
}  // namespace starling::sim
