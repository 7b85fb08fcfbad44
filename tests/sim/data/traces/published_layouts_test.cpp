// SPDX-License-Identifier: Apache-2.0
// Tests every published layout of tables. The rows of small files, which have the quirks of real
// files, are compared with rows written by hand.
#include <gmock/gmock.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::string_view new_ais_header =
    "mmsi,base_date_time,longitude,latitude,sog,cog,heading,vessel_name,imo,call_sign,vessel_type,"
    "status,length,width,draft,cargo,transceiver\n";

TEST(NewAisLayout, LongitudeStandsBeforeLatitude) {
  const TemporaryDirectory directory;
  const ReadTrace trace = read_trace({directory.write(
      "ais.csv", std::string(new_ais_header) +
                     "338148873,2025-01-01 00:00:00,-117.91483,33.60716,0.0,360.0,511,\"A, B\"\n"
                     "9,2025-01-01 00:00:01,181,91,,,,\n"
                     "0367,2025-01-01 00:00:01.5,0,-91,,,,\n"
                     "9,2025-01-01 00:00:02,179.5,-12.25")});
  EXPECT_EQ(trace.layout, "ais-2025");
  EXPECT_EQ(trace.space, Space::wgs84);
  EXPECT_THAT(rows_of(trace),
              ElementsAre("338148873 1735689600000000 -117.91482999999999 33.60716 0 -",
                          "9 1735689602000000 179.5 -12.25 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 1u);
  EXPECT_EQ(trace.counts[SkipReason::out_of_range], 1u);
}

constexpr std::string_view danish_text =
    "# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status,ROT,SOG,COG\r\n"
    "31/12/2023 23:59:59,Class A,219000000,55.5,12.75,Under way using engine,0.0,102.3,360\r\n"
    "01/02/2024 00:00:00,Base Station,2190045,91.000000,0.000000,Unknown value,,,\r\n"
    "01/02/2024 00:00:00,Class A,219000000,55.25,12.5,,,,\r\n"
    "01/02/2024 00:00:00,Class A,219000000,55.25,12.5,,,,\r\n"
    "2024-02-01 00:00:00,Class A,219000000,55,12,,,,\r\n"
    "30/02/2024 00:00:00,Class A,219000000,55,12,,,,\r\n"
    "01/02/2024 00:00:00,Class A\r\n";

TEST(DanishAisLayout, DaysComeFirstAndDuplicatesStay) {
  const TemporaryDirectory directory;
  const ReadTrace trace = read_trace({directory.write("aisdk.csv", danish_text)});
  EXPECT_EQ(trace.layout, "ais-danish");
  EXPECT_THAT(rows_of(trace), ElementsAre("219000000 1704067199000000 12.75 55.5 0 -",
                                          "219000000 1706745600000000 12.5 55.25 0 -",
                                          "219000000 1706745600000000 12.5 55.25 0 -",
                                          "219000000 1706745600000000 12 55 0 -"))
      << "the engine takes the later one of two equal rows";
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 2u) << "latitude 91, and a truncated row";
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 1u) << "February has no 30th";
}

TEST(TDriveLayout, HasNoHeaderAndAFileForEachTaxi) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path("taxis"));
  directory.write("taxis/1.txt",
                  "1,2008-02-02 15:36:08,116.51172,39.92123\n"
                  "1,2008-02-02 15:36:08,116.5,39.875\n"
                  "1,2008-02-02 15:46:08,0.00000,0.00000\n");
  directory.write("taxis/10.txt", "");
  directory.write("taxis/2.txt", "2,2008-02-02 13:33:52,116.25,39.75\r\n");
  directory.write("taxis/README", "Where the taxis come from.\n");
  const ReadTrace trace = read_trace({directory.path("taxis")}, {.utc_offset_us = 28'800'000'000});
  EXPECT_EQ(trace.layout, "tdrive");
  EXPECT_THAT(rows_of(trace), ElementsAre("1 1201937768000000 116.51172 39.921230000000001 0 -",
                                          "1 1201937768000000 116.5 39.875 0 -",
                                          "2 1201930432000000 116.25 39.75 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::null_island], 1u);
  EXPECT_THAT(trace.notes,
              ElementsAre(AllOf(StartsWith(directory.path("taxis/1.txt") + ": T-Drive, wgs84 ("),
                                HasSubstr("), and 1 more file")),
                          directory.path("taxis/10.txt") + ": left out, because it is empty",
                          directory.path("taxis/README") +
                              ": left out, because its layout is not recognised"));
}

TEST(CabspottingLayout, TheIdIsInTheFilesNameAndOccupiedIsTheFirstTag) {
  const TemporaryDirectory directory;
  const std::vector<std::string> paths{
      directory.write("new_abboip.txt",
                      "37.75134 -122.39488 0 1213084687\n"
                      "37.75 -122.375 1 1213084659\n"
                      "37.5 -122.5 x 1213084600\n"),
      directory.write_gz("new_ecbuki.txt.gz", "37.25 -122.25 0 1213084687")};
  const ReadTrace trace = read_trace(paths);
  EXPECT_EQ(trace.layout, "cabspotting");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("abboip 1213084687000000 -122.39488 37.751339999999999 0 0",
                          "abboip 1213084659000000 -122.375 37.75 0 1",
                          "ecbuki 1213084687000000 -122.25 37.25 0 0"));
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 1u);
}

constexpr std::string_view porto_text =
    "\"TRIP_ID\",\"CALL_TYPE\",\"ORIGIN_CALL\",\"ORIGIN_STAND\",\"TAXI_ID\",\"TIMESTAMP\","
    "\"DAY_TYPE\",\"MISSING_DATA\",\"POLYLINE\"\n"
    "\"T1\",\"C\",\"\",\"\",\"20000589\",\"1372636858\",\"A\",\"False\","
    "\"[[-8.618643,41.141412],[-8.5,41.25],[-8.25, 41.5]]\"\n"
    "\"T2\",\"B\",\"\",\"7\",\"20000596\",\"1372637303\",\"A\",\"False\",\"[]\"\n"
    "\"T3\",\"B\",\"\",\"7\",\"20000596\",\"1372637303\",\"A\",\"True\",\"[[-8.5,41.5]]\"\n"
    "\"T4\",\"B\",\"\",\"7\",\"20000596\",\"1372637303\",\"A\",\"False\",\"[[-8.5,41.5],[-8.5]]\"\n"
    "\"T5\",\"B\",\"\",\"7\",\"20000596\",\"noon\",\"A\",\"False\",\"[[-8.5,41.5]]\"\n"
    "\"T6\",\"B\",\"\",\"7\",\"20000596\",\"1372637303\",\"A\",\"False\",\"[[-8.5,41.5\"\n"
    "\"T7\",\"B\",\"\",\"7\",\"\",\"1372637303\",\"A\",\"False\",\"[[-8.5,41.5]]\"\n"
    "\"T8\",\"B\"\n";

TEST(PortoLayout, ATripIsAPositionEveryFifteenSeconds) {
  const TemporaryDirectory directory;
  const ReadTrace trace = read_trace({directory.write("train.csv", porto_text)});
  EXPECT_EQ(trace.layout, "porto");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("20000589 1372636858000000 -8.6186430000000005 41.141412000000003 0 -",
                          "20000589 1372636873000000 -8.5 41.25 0 -",
                          "20000589 1372636888000000 -8.25 41.5 0 -",
                          "20000596 1372637303000000 -8.5 41.5 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 5u)
      << "no positions, missing positions, half a position, no taxi, a truncated row";
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 2u)
      << "a bad time, and an array without its closing bracket";
}

TEST(GtfsLayout, ReadsZonesAndQuotedHeadsigns) {
  const TemporaryDirectory directory;
  const ReadTrace trace = read_trace({directory.write(
      "bus.csv",
      "vehicle_id,timestamp,speed,route_id,trip_id,latitude,longitude,trip_headsign\n"
      "2052,2016-03-22T19:26:01-05:00,8.49376,1,1535212,30.25,-97.75,\"1-Metric, SB\"\n"
      "2052,2016-03-23T00:26:02Z,400,1,1535212,0.0,0,x\n")});
  EXPECT_EQ(trace.layout, "gtfs");
  EXPECT_THAT(rows_of(trace), ElementsAre("2052 1458692761000000 -97.75 30.25 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::null_island], 1u);
  EXPECT_THAT(trace.notes,
              ElementsAre(directory.path("bus.csv") +
                          ": GTFS-realtime positions, wgs84 (its header has vehicle_id, timestamp, "
                          "longitude, latitude)"));
}

TEST(StarlingLayout, KeepsMicrosecondsTextIdsAltitudesAndTags) {
  const TemporaryDirectory directory;
  const ReadTrace globe = read_trace({directory.write(
      "globe.csv",
      "id,time_us,lon,lat,alt,tags\n\"a,\"\"b\",-1,8.5,47.25,410.5,\n7,5,8,47,0,3\n")});
  EXPECT_EQ(globe.layout, "starling-lonlat");
  EXPECT_THAT(rows_of(globe), ElementsAre("a,\"b -1 8.5 47.25 410.5 -", "7 5 8 47 0 3"));
  const ReadTrace plane =
      read_trace({directory.write("plane.csv", "id,time_us,x,y\ncar,12345678901,1,2\n")});
  EXPECT_EQ(plane.layout, "starling-xy");
  EXPECT_EQ(plane.space, Space::planar2);
  EXPECT_THAT(rows_of(plane), ElementsAre("car 12345678901 1 2 0 -"));
  EXPECT_EQ(read_trace({directory.write("room.csv", "id,time_us,x,y,z\ncar,1,1,2,3\n")}).space,
            Space::planar3);
  EXPECT_THAT(rows_of(read_trace({directory.path("room.csv")}, {.format = "starling-xy"})),
              ElementsAre("car 1 1 2 3 -"));
}

/// Reads one table that is written in all the variants of CSV that programs produce.
TEST(TableText, SurvivesMarksQuotesSemicolonsTabsAndMissingLineEnds) {
  const TemporaryDirectory directory;
  const std::string text =
      "vehicle_id,timestamp,latitude,longitude\r\n1,100,30.25,-97.75\r\n2,200,30.5,-97.5\r\n";
  const std::vector<std::string> expected{"1 100000000 -97.75 30.25 0 -",
                                          "2 200000000 -97.5 30.5 0 -"};
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string result = text;
    for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size())
      result.replace(at, from.size(), to);
    return result;
  };
  const std::vector<std::string> variants{
      text,
      "\xEF\xBB\xBF" + text,
      replaced("\r\n", "\n"),
      replaced(",", ";"),
      replaced(",", "\t"),
      replaced(",", "|"),
      replaced("\r\n", "\r\n\r\n"),
      "# made by hand; on a Sunday\n# " + text,
      "#" + text,
      "# with, commas\n\n#\n" + text,
      text.substr(0, text.size() - 2),
      "\"vehicle_id\",\"timestamp\",\"latitude\",\"longitude\",\n\"1\",\"100\",\"30.25\",\"-97.75\""
      "\n2,200,30.5,-97.5,,,\n",
  };
  for (const std::string& variant : variants) {
    const ReadTrace trace = read_trace({directory.write("bus.csv", variant)});
    EXPECT_EQ(trace.layout, "gtfs") << variant;
    EXPECT_EQ(rows_of(trace), expected) << variant;
    EXPECT_EQ(trace.counts.skipped_total(), 0u) << variant;
  }
}

TEST(TableText, CommentsBeforeAHeaderlessTableAreNoRows) {
  const TemporaryDirectory directory;
  const ReadTrace trace =
      read_trace({directory.write("taxi.csv", "# id, time, place\n7,2008-02-02 15:36:08,116,2\n")});
  EXPECT_EQ(trace.layout, "tdrive");
  EXPECT_THAT(rows_of(trace), ElementsAre("7 1201966568000000 116 2 0 -"));
  EXPECT_EQ(trace.counts.skipped_total(), 0u);
}

TEST(TableText, ALineOfThirtyMegabytesIsReadAsJsonAndXmlAndRefusedAsCsv) {
  const TemporaryDirectory directory;
  constexpr std::size_t line_bytes = 30 << 20;
  std::string json = "[";
  std::string xml = "<fcd-export>";
  for (int row = 0; json.size() < line_bytes; ++row) {
    const std::string number = std::to_string(row);
    json += std::string(json.size() > 1 ? "," : "") + "{\"icao24\":\"a\",\"timestamp\":" + number +
            ",\"latitude\":1,\"longitude\":2,\"callsign\":\"" + std::string(900, 'x') + "\"}";
    xml += "<timestep time=\"" + number + "\"><vehicle id=\"a\" x=\"1\" y=\"2\" lane=\"" +
           std::string(900, 'x') + "\"/></timestep>";
  }
  const ReadTrace records = read_trace({directory.write("flights.json", json + "]")});
  const ReadTrace vehicles = read_trace({directory.write("fcd.xml", xml + "</fcd-export>")});
  EXPECT_GT(records.rows.size(), 30'000u);
  EXPECT_EQ(vehicles.rows.size(), records.rows.size());
  const std::string path = directory.write(
      "bus.csv", "vehicle_id,timestamp,latitude,longitude\n1,\"" + std::string(line_bytes, '1'));
  EXPECT_EQ(trace_error({path}), path +
                                     ":2:1: the record that begins here is longer than 1048576 "
                                     "bytes; is a quote left open?");
}

TEST(AByteOrderMark, IsNoPartOfJsonOrXml) {
  const TemporaryDirectory directory;
  EXPECT_THAT(rows_of(read_trace(
                  {directory.write("flights.json",
                                   "\xEF\xBB\xBF[{\"icao24\":\"a\",\"timestamp\":1,\"latitude\":1,"
                                   "\"longitude\":2}]")})),
              ElementsAre("a 1000000 2 1 0 -"));
  EXPECT_THAT(rows_of(read_trace(
                  {directory.write("fcd.xml",
                                   "\xEF\xBB\xBF<fcd-export><timestep time=\"1\"><vehicle id=\"a\" "
                                   "x=\"1\" y=\"2\"/></timestep></fcd-export>")})),
              ElementsAre("a 1000000 1 2 0 -"));
}

TEST(Recognition, LeavesNothingOverIsAnError) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("empty.csv", "\n \n");
  EXPECT_THAT(trace_error({path}), path + ": the trace is empty");
}

TEST(Recognition, IsNotDoneWhereTheUserSays) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("points.csv", "1,2008-02-02 15:36:08,1,2\n");
  EXPECT_THAT(read_trace({path}, {.columns = "id=1,time=2,x=3,y=4"}).notes, IsEmpty());
  EXPECT_THAT(read_trace({path}, {.format = "tdrive"}).notes, IsEmpty());
}

TEST(CsvByColumns, TheFilesNameMayBeTheId) {
  const TemporaryDirectory directory;
  const std::string path = directory.write_gz("truck 7.csv.gz", "1 2 3\n");
  EXPECT_THAT(rows_of(read_trace({path}, {.columns = "id=@file,time=1,x=2,y=3"})),
              ElementsAre("truck 7 1000000 2 3 0 -"));
}

}  // namespace
}  // namespace starling::sim
