// SPDX-License-Identifier: Apache-2.0
// Tests files whose header has names in common use, and the errors for other headers.
#include <gmock/gmock.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Header {
  std::string text;
  std::string note;
  Space space;
  std::string row = "7,1600000000,1.5,2.5";
  std::string wanted;
};

TEST(CommonHeaders, NamesThatEveryoneUsesAreRecognised) {
  const TemporaryDirectory directory;
  const std::string lat_first = "7 1600000000000000 2.5 1.5 0 -";
  const std::string x_first = "7 1600000000000000 1.5 2.5 0 -";
  for (const Header& header : std::initializer_list<Header>{
           {"id,time,lat,lon", "id, time, lon, lat", Space::wgs84, "7,1600000000,1.5,2.5",
            lat_first},
           {"id,time,lat,long", "id, time, long, lat", Space::wgs84, "7,1600000000,1.5,2.5",
            lat_first},
           {"id,ts,lng,lat", "id, ts, lng, lat", Space::wgs84, "7,1600000000,1.5,2.5", x_first},
           {"MMSI;Timestamp;Latitude;Longitude", "MMSI, Timestamp, Longitude, Latitude",
            Space::wgs84, "7;1600000000;1.5;2.5", lat_first},
           {"lon,lat,name,vehicle_id,timestamp", "vehicle_id, timestamp, lon, lat", Space::wgs84,
            "1.5,2.5,bus,7,1600000000000", x_first},
           {"id,time_s,x,y", "id, time_s, x, y", Space::planar2, "7,1600000000,1.5,2.5", x_first},
           {"id, time_ms, x, y", "id, time_ms, x, y", Space::planar2, "7,1600000000000,1.5,2.5",
            x_first},
           {"# id,datetime,x,y,tags", "id, datetime, x, y", Space::planar2,
            "7,2020-09-13T12:26:40Z,1.5,2.5,3", "7 1600000000000000 1.5 2.5 0 3"},
           {"id,timestamp,x,y,z", "id, timestamp, x, y", Space::planar3, "7,1600000000,1.5,2.5,9",
            "7 1600000000000000 1.5 2.5 9 -"}}) {
    SCOPED_TRACE(header.text);
    const std::string path = directory.write("a.csv", header.text + "\n" + header.row + "\n");
    const ReadTrace trace = read_trace({path});
    EXPECT_EQ(trace.layout, "csv");
    EXPECT_EQ(trace.space, header.space);
    EXPECT_THAT(rows_of(trace), ElementsAre(header.wanted));
    EXPECT_THAT(trace.notes, ElementsAre(path + ": CSV, " + std::string(to_string(header.space)) +
                                         " (its header has " + header.note + ")"));
  }
}

TEST(CommonHeaders, TheNameOfTheTimeSaysItsUnit) {
  const TemporaryDirectory directory;
  const auto time_us = [&](const std::string& name) {
    return read_trace({directory.write("a.csv", "id," + name + ",lat,lon\n1,5000,1,2\n")})
        .rows.at(0)
        .time_us;
  };
  EXPECT_EQ(time_us("time"), 5'000'000'000);
  EXPECT_EQ(time_us("time_s"), 5'000'000'000);
  EXPECT_EQ(time_us("ts_ms"), 5'000'000);
  EXPECT_EQ(time_us("timestamp_us"), 5'000);
  const std::string path = directory.write("b.csv", "id,time_us,lat,long\n1,5000,1,2\n");
  EXPECT_EQ(read_trace({path}, {.time_unit = TimeUnit::seconds}).rows.at(0).time_us, 5'000'000'000)
      << "--time-unit counts more";
}

TEST(CommonHeaders, WhatIsMissingOrMeansTwoThingsIsSaidWithTheHeaderAndTheNames) {
  const TemporaryDirectory directory;
  const auto error = [&](const std::string& header) {
    return trace_error({directory.write("a.csv", header + "\n1,2,3,4\n")});
  };
  const std::string path = directory.path("a.csv");
  EXPECT_THAT(error("id,when,lat,lon"),
              AllOf(StartsWith(path + ": its layout is not recognised: it begins with "
                                      "'id,when,lat,lon'; its header has no column for the time "
                                      "(known names for the id: id, object_id, mmsi, "),
                    HasSubstr("for the latitude: lat, latitude; for the longitude: lon, lng, "
                              "long, longitude; for x: x, x_m; for y: y, y_m)"),
                    HasSubstr("--columns id=...")));
  EXPECT_THAT(error("name,time,lat,lon"), HasSubstr("its header has no column for the id "));
  EXPECT_THAT(error("id,time,lat,l"), HasSubstr("its header has no column for the longitude "));
  EXPECT_THAT(error("id,time,x,l"), HasSubstr("its header has no column for y "));
  EXPECT_THAT(error("id,time,a,b"), HasSubstr("its header has no columns for a position "));
  EXPECT_THAT(error("id,time,lat,lon,x,y"), HasSubstr("columns of degrees and columns of metres"));
  EXPECT_THAT(error("id,time,mmsi,lat,lon"),
              HasSubstr("its header has more than one column for the id: id and mmsi "));
  EXPECT_THAT(error("id,time,lat,lon,lat"), HasSubstr("more than one column for the latitude"));
  EXPECT_THAT(error("a,b,c,d"), Not(HasSubstr("its header has")));
}

TEST(CommonHeaders, PublishedLayoutsComeFirst) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_trace({directory.write("a.csv", "id,time_us,x,y\n1,5,1,2\n")}).layout,
            "starling-xy");
  EXPECT_EQ(read_trace({directory.write("b.csv",
                                        "vehicle_id,timestamp,latitude,longitude,id\n"
                                        "1,1600000000,1,2,9\n")})
                .layout,
            "gtfs");
}

TEST(CommonHeaders, AColumnOfNumbersThatIsTakenAsTagBitsIsNoted) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.csv", "id,time,lat,lon,type,tags\n1,2,3,4,70,1\n");
  const auto notes = [&](const std::string& tags) {
    return read_trace({path}, {.columns = "id=id,time=time,lat=lat,lon=lon" + tags}).notes;
  };
  EXPECT_THAT(notes(",tags=type"),
              ElementsAre("tags=type takes each number of this column as 32 tag bits: 70, for "
                          "example, sets the bits 1, 2 and 6"));
  EXPECT_THAT(notes(",tags=tags"), testing::IsEmpty());
  EXPECT_THAT(notes(""), testing::IsEmpty());
}

}  // namespace
}  // namespace starling::sim
