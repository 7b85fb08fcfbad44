// SPDX-License-Identifier: Apache-2.0
// Tests how traces from spreadsheets, loggers and other programs are read. Every row is read as its
// author meant it, or is counted and shown.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t ten_past_us = 1'641'168'600'000'000;  // 2022-01-03T00:10:00Z

ReadTrace read_text(std::string_view text, const TraceOptions& options = {}) {
  const TemporaryDirectory directory;
  return read_trace({directory.write("trace.csv", text)}, options);
}

std::string refusal_of_text(std::string_view text, const TraceOptions& options = {}) {
  const TemporaryDirectory directory;
  return trace_error({directory.write("trace.csv", text)}, options);
}

/// Reads a trace of one row with this time. Returns the row's time, or -1 if the row is skipped.
std::int64_t time_of(const std::string& time, const TraceOptions& options = {}) {
  const ReadTrace trace = read_text("id;time;lat;lon\n7;" + time + ";52.5;13.4\n", options);
  return trace.rows.size() == 1 ? trace.rows[0].time_us : -1;
}

TEST(DirtyFiles, LineEndsMayDifferFromLineToLine) {
  const std::vector<std::string> expected{"7 0 13.4 52.5 0 -", "8 0 13.5 52.25 0 -",
                                          "9 0 13.6 52.75 0 -"};
  for (const std::string_view text :
       {"id,time,lat,lon,n\r7,0,52.5,13.4,a\r8,0,52.25,13.5,b\r9,0,52.75,13.6,c",
        "id,time,lat,lon,n\n7,0,52.5,13.4,a\r8,0,52.25,13.5,b\r\n9,0,52.75,13.6,c\n",
        "id,time,lat,lon,n\r\n7,0,52.5,13.4,a\n8,0,52.25,13.5,b\r9,0,52.75,13.6,c\r"})
    EXPECT_EQ(rows_of(read_text(text)), expected) << text;
}

TEST(DirtyFiles, ARowWithMoreFieldsThanTheHeaderIsCountedAndShown) {
  const ReadTrace trace = read_text(
      "id,time,lat,lon\n7,0,52,5,13,4\n8,0,52.25,13.5,,\n9,0,52.75,13.6, ,x\n10,0,52.125,13.5\n");
  EXPECT_THAT(rows_of(trace), ElementsAre("8 0 13.5 52.25 0 -", "10 0 13.5 52.125 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::too_many_fields], 2u);
  EXPECT_THAT(trace.counts.first_skipped,
              Contains(HasSubstr("trace.csv:2:10: the field '13' has no column")));
}

TEST(DirtyFiles, TheFirstRowOfEachReasonIsShown) {
  const ReadTrace trace =
      read_text("id,time,lat,lon\n1,noon,1,1\n2,0,north,1\n3,0,91,1\n4,0,0,0\n5,0,,1\n6,0,1,1\n");
  EXPECT_EQ(trace.rows.size(), 1u);
  EXPECT_THAT(trace.counts.first_skipped,
              AllOf(Contains(HasSubstr("trace.csv:2:3: the time 'noon' cannot be understood")),
                    Contains(HasSubstr("trace.csv:4:5: the latitude '91' is out of range")),
                    Contains(HasSubstr("trace.csv:5:7: the position is exactly 0, 0")),
                    Contains(HasSubstr("trace.csv:6:5: the latitude is missing"))));
}

TEST(DirtyFiles, IdsMayBeginWithANumberSignWhereThereIsNoHeader) {
  const ReadTrace trace = read_text("#101,0,52.5,13.4\n#102,0,52.25,13.5\n103,0,52.75,13.6\n",
                                    {.columns = "id=1,time=2,lat=3,lon=4"});
  EXPECT_THAT(rows_of(trace),
              ElementsAre("#101 0 13.4 52.5 0 -", "#102 0 13.5 52.25 0 -", "103 0 13.6 52.75 0 -"));
  EXPECT_THAT(rows_of(read_text("# a comment\nid,time,lat,lon\n#\"7\",0,1,2\n8,0,3,4\n")),
              ElementsAre("#\"7\" 0 2 1 0 -", "8 0 4 3 0 -"));
}

TEST(DirtyFiles, FirstRowsWithANumberSignAreReadAsOtherRows) {
  EXPECT_THAT(
      rows_of(read_text("#101,0,\"52,5\",\"13,4\"\n", {.columns = "id=1,time=2,lat=3,lon=4"})),
      ElementsAre("#101 0 13.4 52.5 0 -"));
  EXPECT_THAT(rows_of(read_text("# by \"hand\"\n#101;0;52.5;13.4\n#102;0;52.25;13.5",
                                {.columns = "id=1,time=2,lat=3,lon=4"})),
              ElementsAre("#101 0 13.4 52.5 0 -", "#102 0 13.5 52.25 0 -"));
}

TEST(DirtyFiles, WordsForNoValueAreMissingValues) {
  const ReadTrace trace = read_text(
      "id,time,lat,lon,tags\nNA,0,1,2,NaN\nnull,0,1,2,1.0\nNone,NA,1,2,\n4,0,nan,2,\n5,0,1,NULL,"
      "\n6,"
      "0,1,-,\n7,0,1,2,1e1\n8,0,1,2,2.5\n9,0,1,2,0x1F\n");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("NA 0 2 1 0 -", "null 0 2 1 0 1", "7 0 2 1 0 10", "9 0 2 1 0 31"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 4u);
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 1u);
}

TEST(DirtyFiles, DecimalCommasAreReadIfTheFileShowsThem) {
  const ReadTrace shown =
      read_text("id;time;lat;lon\r\n7;0;52,625;13,4\r\n8;0;52,25;13,625\r\n9;0;52.75;13\r\n");
  EXPECT_THAT(rows_of(shown),
              ElementsAre("7 0 13.4 52.625 0 -", "8 0 13.625 52.25 0 -", "9 0 13 52.75 0 -"));
  EXPECT_THAT(shown.notes, ElementsAre(HasSubstr("numbers have decimal commas, as '13,4' shows")));
  const ReadTrace doubtful = read_text("id\ttime\tx\ty\n7\t0\t1,234\t5,678\n8\t0\t1\t2\n");
  EXPECT_THAT(rows_of(doubtful), ElementsAre("8 0 1 2 0 -")) << "1,234 may be a thousand and more";
  EXPECT_EQ(doubtful.counts[SkipReason::unparsable], 1u);
}

TEST(DirtyFiles, DecimalCommasOfTagsAndTimesAreReadToo) {
  const ReadTrace trace = read_text(
      "id;time;lat;lon;tags\n7;1641168600,25;52,5;13,4;5,0\n8;1,5e3;1;2;1e1\n"
      "9;03.01.2022 00:10:00,5;1;2;1,5\n10;1.641,5;1;2;\n");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("7 1641168600250000 13.4 52.5 0 5", "8 1500000000 2 1 0 10"));
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 2u);
}

TEST(DirtyFiles, TimesAreReadInTheSpellingsOfOtherPrograms) {
  for (const std::string time :
       {"1641168600", "1641168600.0", "1.6411686e9", "1641168600000", "1.6411686e+12",
        "1641168600000000", "1641168600000000000", "2022-01-03 00:10:00 UTC",
        "2022-01-03 00:10:00+0000", "2022/01/03 00:10", "20220103T001000Z", "03.01.2022 00:10:00",
        "2022-01-03 12:10:00 AM", "20220103T0:10:00Z", "2022-01-03 00:10:00,000"})
    EXPECT_EQ(time_of(time), ten_past_us) << time;
}

TEST(DirtyFiles, DatesWithTheYearLastAreReadByEvidenceOrByFlag) {
  const std::string header = "id,time,lat,lon\n";
  const ReadTrace day = read_text(header + "1,03/01/2022 00:10:00,1,1\n2,20/03/2021 00:22,1,1\n");
  ASSERT_EQ(day.rows.size(), 2u);
  EXPECT_EQ(day.rows[0].time_us, ten_past_us);
  EXPECT_THAT(day.notes,
              ElementsAre(HasSubstr("dates begin with the day, as '20/03/2021 00:22' shows")));
  const std::string american = header + "1,01/03/2022 00:10:00,1,1\n2,03/20/2021 00:22,1,1\n";
  EXPECT_THAT(read_text(american).counts.first_skipped,
              Contains(HasSubstr("'01/03/2022 00:10:00' cannot be understood; --date-order says")));
  const ReadTrace month = read_text(american, {.date_order = DateOrder::month_first});
  ASSERT_EQ(month.rows.size(), 2u);
  EXPECT_EQ(month.rows[0].time_us, ten_past_us);
}

TEST(DirtyFiles, AFileInDegreesWhoseTimesAreAllOddIsRefused) {
  const std::string rows_of_1970 = "id,time,lat,lon\n1,1641168,1,1\n2,1641169,1,1\n";
  EXPECT_THAT(refusal_of_text(rows_of_1970),
              AllOf(HasSubstr("trace.csv: all times are from before 1980"),
                    HasSubstr("trace.csv:2:3: the time '1641168'")));
  EXPECT_EQ(read_text(rows_of_1970, {.from_us = -1}).rows.size(), 2u);
  EXPECT_EQ(read_text("id,time,x,y\n1,1641168,1,1\n").rows.size(), 1u) << "metres";
  EXPECT_EQ(read_text("id,time,lat,lon\n1,0,1,1\n2,86400,1,1\n").rows.size(), 2u)
      << "seconds from a start";
  EXPECT_EQ(read_text("id,time_us,lon,lat\n1,5,1,1\n").rows.size(), 1u) << "the unit is certain";
  const ReadTrace some = read_text(rows_of_1970 + "3,1641168600,1,1\n");
  EXPECT_EQ(some.rows.size(), 3u);
  EXPECT_EQ(some.counts.odd_times, 2u);
}

TEST(DirtyFiles, IdsThatAreNotUtf8AreLatin1AndSaid) {
  const ReadTrace trace =
      read_text("id,time,x,y\nM\xFCller,0,1,1\nM\u00FCller,1,1,1\nM\xFCller,2,1,1\n");
  EXPECT_THAT(rows_of(trace), ElementsAre("M\u00FCller 0 1 1 0 -", "M\u00FCller 1000000 1 1 0 -",
                                          "M\u00FCller 2000000 1 1 0 -"));
  EXPECT_EQ(trace.counts.latin1_rows, 2u);
  EXPECT_THAT(trace.counts.first_latin1, HasSubstr("trace.csv:2:1: the id 'M\u00FCller'"));
}

TEST(DirtyFiles, DateAndClockMayBeTwoColumns) {
  const std::vector<std::string> expected{"7 1641168600000000 13.4 52.5 0 -"};
  const std::string comma = "id,date,time,lat,lon\n7,2022-01-03,00:10:00,52.5,13.4\n";
  EXPECT_EQ(rows_of(read_text(comma)), expected);
  EXPECT_EQ(rows_of(read_text(comma, {.columns = "id=id,time=date+time,lat=lat,lon=lon"})),
            expected);
  EXPECT_EQ(rows_of(read_text("7,2022-01-03,00:10:00,52.5,13.4\n",
                              {.columns = "id=1,time=2+3,lat=4,lon=5"})),
            expected);
  EXPECT_EQ(
      rows_of(read_text("id,date,time,lat,lon\n7,2022-01-03,2022-01-03T00:10:00Z,52.5,13.4\n")),
      expected)
      << "the column of the clock has the date too";
  EXPECT_EQ(rows_of(read_text("id,date,time,lat,lon\n7,2022-01-03,001000,52.5,13.4\n")), expected);
  EXPECT_EQ(rows_of(read_text("id;date;time;lat;lon\n7;2022-01-03;001000,0;52.5;13.4\n")),
            expected);
  EXPECT_EQ(rows_of(read_text("id,date,timestamp,lat,lon\n7,,1641168600,52.5,13.4\n")), expected);
  EXPECT_EQ(read_text("id,date,time,lat,lon\n7,2022-01-03,600,52.5,13.4\n")
                .counts[SkipReason::unparsable],
            1u)
      << "seconds of the day are no clock time";
  EXPECT_EQ(
      read_text("id,date,time,lat,lon\n7,,00:10:00,52.5,13.4\n").counts[SkipReason::missing_field],
      1u);
}

TEST(DirtyFiles, WhereBlanksSeparateADateKeepsItsClock) {
  const std::vector<std::string> expected{"7 1641168600000000 13.4 52.5 0 -"};
  for (const std::string_view text :
       {"id lat lon time\n7 52.5 13.4 2022-01-03 00:10:00\n",
        "id  time  lat   lon\n 7 2022-01-03 00:10:00   52.5\t13.4  \n",
        "id lat lon time\n7 52.5 13.4 2022-01-03T00:10:00\n"})
    EXPECT_EQ(rows_of(read_text(text)), expected) << text;
  EXPECT_EQ(rows_of(read_text("7 52.5 13.4 2022-01-03 00:10:00\n",
                              {.columns = "id=1,time=4,lat=2,lon=3"})),
            expected);
}

TEST(DirtyFiles, WhereBlanksSeparateAShortRowKeepsItsClockToo) {
  EXPECT_EQ(rows_of(read_text("id lat lon time note\n7 52.5 13.4 2022-01-03 00:10:00\n")),
            std::vector<std::string>{"7 1641168600000000 13.4 52.5 0 -"});
  EXPECT_EQ(rows_of(read_text("id time lat lon tags\n7 2022-01-03 00:10:00 52.5 13.4\n")),
            std::vector<std::string>{"7 1641168600000000 13.4 52.5 0 -"});
  EXPECT_EQ(rows_of(read_text("id time hour lat lon\n7 2022-01-03 00:10:00 52.5 13.4\n")),
            std::vector<std::string>{"7 1641168600000000 13.4 52.5 0 -"})
      << "the clock time has a column of its own";
  EXPECT_EQ(rows_of(read_text("id time note lat lon\n7 1641168600 10:30 52.5 13.4\n")),
            std::vector<std::string>{"7 1641168600000000 13.4 52.5 0 -"})
      << "a number is no date";
}

TEST(DirtyFiles, WhereBlanksSeparateSixDigitsAreNoClockTime) {
  EXPECT_EQ(rows_of(read_text("7 2022-01-03 123456 52.5\n", {.columns = "id=1,time=2,x=3,y=4"})),
            std::vector<std::string>{"7 1641168000000000 123456 52.5 0 -"});
  EXPECT_EQ(read_text("id time tags lat lon\n7 2022-01-03 123456 52.5 13.4 more\n")
                .counts[SkipReason::too_many_fields],
            1u);
}

TEST(DirtyFiles, AHeaderWithANumberSignIsNotAboveATableOfTDrive) {
  const ReadTrace trace = read_text(
      "#MMSI,timestamp,lat,lon\n7,2022-01-03 00:10:00,12.5,100.25\n"
      "7,2022-01-03 00:10:00,-12.5,-100.25\n");
  EXPECT_EQ(trace.layout, "csv");
  EXPECT_THAT(rows_of(trace), ElementsAre("7 1641168600000000 100.25 12.5 0 -",
                                          "7 1641168600000000 -100.25 -12.5 0 -"));
  EXPECT_THAT(refusal_of_text("#ship,when,breadth,length\n7,2022-01-03 00:10:00,100.25,12.5\n"),
              HasSubstr("its layout is not recognised"));
}

TEST(DirtyFiles, TagsAndDatesAreReadInPublishedLayoutsToo) {
  EXPECT_THAT(
      rows_of(read_text("vehicle_id,timestamp,latitude,longitude,TAGS\n7,1641168600,1,2,5\n")),
      ElementsAre("7 1641168600000000 2 1 0 5"));
  EXPECT_THAT(rows_of(read_text("vehicle_id,date,timestamp,latitude,longitude\n"
                                "7,2022-01-03,00:10:00,1,2\n8,2022-01-03,1641168600,3,4\n")),
              ElementsAre("7 1641168600000000 2 1 0 -", "8 1641168600000000 4 3 0 -"));
  const ReadTrace opensky =
      read_text(R"([{"icao24":"a","timestamp":1,"latitude":1,"longitude":2,"tags":5}])");
  EXPECT_EQ(opensky.layout, "opensky");
  EXPECT_THAT(rows_of(opensky), ElementsAre("a 1000000 2 1 0 5"));
  const ReadTrace other = read_text(R"([{"icao24":"a","timestamp":1,"lat":1,"lon":2}])");
  EXPECT_EQ(other.layout, "json");
  EXPECT_THAT(rows_of(other), ElementsAre("a 1000000 2 1 0 -"));
}

TEST(DirtyFiles, ATableWithoutHeaderIsTDrivesOnlyIfItsThirdColumnIsNoLatitude) {
  const std::string berlin =
      "7,2022-01-03 00:10:00,52.52,13.40\n8,2022-01-03 00:10:00,52.53,13.41\n";
  EXPECT_THAT(refusal_of_text(berlin), HasSubstr("its layout is not recognised"));
  EXPECT_EQ(read_text("7,2022-01-03 00:10:00,0.0,0.0\n7,2022-01-03 00:10:01,116.4,39.9\n").layout,
            "tdrive");
}

TEST(DirtyFiles, EmptyFilesAreCalledEmpty) {
  EXPECT_THAT(refusal_of_text(""), HasSubstr("trace.csv: the trace is empty"));
  EXPECT_THAT(refusal_of_text(" \r\n\n"), HasSubstr("trace.csv: the trace is empty"));
  EXPECT_THAT(refusal_of_text("", {.columns = "id=a,time=b,x=c,y=d"}),
              HasSubstr("the file is empty"));
  const TemporaryDirectory directory;
  EXPECT_THAT(trace_error({directory.write_gz("a.csv.gz", "")}),
              HasSubstr("a.csv.gz: the trace is empty"));
  EXPECT_THAT(trace_error({directory.write("b.csv", ""), directory.write("c.csv", "")}),
              HasSubstr("all files of the trace are empty"));
}

TEST(DirtyFiles, SumoMayWriteClockTimes) {
  EXPECT_THAT(rows_of(read_text(
                  "<fcd-export><timestep time=\"00:01:30.50\"><vehicle id=\"a\" x=\"3\" y=\"2\"/>"
                  "</timestep><timestep time=\"1:00:00:10\"><vehicle id=\"a\" x=\"4\" y=\"2\"/>"
                  "</timestep></fcd-export>")),
              ElementsAre("a 90500000 3 2 0 -", "a 86410000000 4 2 0 -"));
}

TEST(DirtyFiles, NumbersThatJsonDoesNotHaveAreMissing) {
  const ReadTrace trace =
      read_text(R"([{"icao24":"NaN","timestamp":1,"latitude":1,"longitude":2,"altitude":NaN},)"
                R"({"icao24":"b","timestamp":2,"latitude":NaN,"longitude":-Infinity},)"
                R"({"icao24":"c","timestamp":3,"latitude":3,"longitude":4}])");
  EXPECT_THAT(rows_of(trace), ElementsAre("NaN 1000000 2 1 0 -", "c 3000000 4 3 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 1u);
  EXPECT_THAT(refusal_of_text(R"([{"icao24":"a","timestamp":@,"latitude":1}])"),
              HasSubstr("trace.csv:1:2: the JSON of the record that begins here is damaged"));
}

TEST(DirtyFiles, DegreesInSumosFilesArePointedOut) {
  const auto sumo = [](const std::string& x, const std::string& y) {
    return "<fcd-export><timestep time=\"0\"><vehicle id=\"a\" x=\"" + x + "\" y=\"" + y +
           "\"/></timestep></fcd-export>";
  };
  const std::string degrees = sumo("13.404954", "52.520008");
  EXPECT_THAT(read_text(degrees).notes, ElementsAre(HasSubstr("look like degrees")));
  EXPECT_THAT(read_text(degrees, {.space = Space::wgs84}).notes,
              ElementsAre(Not(HasSubstr("look like degrees"))));
  for (const auto& [x, y] : {std::pair("13.40", "52.52"), std::pair("181.404954", "52.520008")})
    EXPECT_THAT(read_text(sumo(x, y)).notes, ElementsAre(Not(HasSubstr("look like degrees"))));
}

TEST(DirtyFiles, GpxTracksAreReadWithTheirNames) {
  const std::string_view text =
      "<?xml version=\"1.0\"?>\n<gpx:gpx xmlns:gpx=\"http://www.topografix.com/GPX/1/1\">"
      "<gpx:metadata><gpx:name>all</gpx:name><gpx:time>2020-01-01T00:00:00Z</gpx:time></"
      "gpx:metadata>"
      "<gpx:wpt lat=\"9\" lon=\"9\"><gpx:name>home</gpx:name></gpx:wpt>"
      "<gpx:trk><gpx:name> 7 &amp; 8 </gpx:name><gpx:trkseg>"
      "<gpx:trkpt lat=\"52.5\" lon=\"13.4\"><gpx:ele>34.5</gpx:ele>"
      "<gpx:time>2022-01-03T00:10:00Z</gpx:time><gpx:name>point</gpx:name></gpx:trkpt>"
      "<gpx:trkpt lat=\"52.25\" lon=\"13.5\"></gpx:trkpt></gpx:trkseg></gpx:trk>"
      "<gpx:trk><gpx:trkseg><gpx:trkpt lat=\"1\" lon=\"2\"><gpx:time>1970-01-01T00:00:01.5Z"
      "</gpx:time></gpx:trkpt></gpx:trkseg></gpx:trk></gpx:gpx>";
  const ReadTrace trace = read_text(text);
  EXPECT_EQ(trace.layout, "gpx");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("7 & 8 1641168600000000 13.4 52.5 0 -", "trace-2 1500000 2 1 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 1u) << "a point without a time";
  EXPECT_THAT(rows_of(read_text(text, {.altitude = true})),
              ElementsAre("7 & 8 1641168600000000 13.4 52.5 34.5 -"));
}

TEST(DirtyFiles, LineBreaksAroundAFieldAreLeftOut) {
  EXPECT_THAT(
      rows_of(read_text("<gpx><trk>\n<name>\n  a\n  b\n</name><trkseg>\n<trkpt lat=\"1\" "
                        "lon=\"2\">\n<time>\r\n  1970-01-01T00:00:01Z\n</time></trkpt></trkseg>"
                        "</trk></gpx>")),
      ElementsAre("a\n  b 1000000 2 1 0 -"));
  EXPECT_THAT(rows_of(read_text("id,time_us,x,y\n\"a\n\",\"\n1\",\"2\n\",3\n")),
              ElementsAre("a 1 2 3 0 -"));
}

TEST(DirtyFiles, JsonLinesAndArraysAreReadByTheirKeys) {
  const std::string first =
      R"({"MMSI":219,"date":"2022-01-03","time":"00:10:00","lat":52.5,"lon":13.4})";
  const std::string second = R"({"lon":"2","lat":1,"MMSI":"bus","time":1641168600,"name":null})";
  const std::vector<std::string> expected{"219 1641168600000000 13.4 52.5 0 -",
                                          "bus 1641168600000000 2 1 0 -"};
  for (const std::string& text : {first + "\n" + second, first + "\r\n\r\n" + second + "\r",
                                  first + second, "[" + first + ",\n" + second + "]"}) {
    const ReadTrace trace = read_text(text);
    EXPECT_EQ(trace.layout, "json") << text;
    EXPECT_EQ(rows_of(trace), expected) << text;
  }
  EXPECT_THAT(
      rows_of(read_text(R"({"a":1,"b":2,"c":3,"d":4})", {.columns = "id=a,time=b,x=c,y=d"})),
      ElementsAre("1 2000000 3 4 0 -"));
  EXPECT_THAT(refusal_of_text(first + "\n" + second + "\n{\"MMSI\":"),
              HasSubstr("trace.csv:3:9: the JSON is damaged"));
}

TEST(DirtyFiles, GeoJsonPointsAreReadWithTheirProperties) {
  const ReadTrace trace = read_text(
      R"({"name":"a \"features\" b","type":"FeatureCollection","crs":{"features":[1]},"features":[)"
      R"({"type":"Feature","geometry":{"type":"Point","coordinates":[13.4,52.5,7]},)"
      R"("properties":{"speed":[1],"MMSI":"219","Timestamp":"2022-01-03T00:10:00Z","tags":5}},)"
      R"({"type":"Feature","id":"x","properties":{"time":1},"geometry":{"coordinates":[1,2],"type":"Point"}},)"
      R"({"type":"Feature","id":"y","properties":{"time":1},"geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}},)"
      R"({"type":"Feature","id":"z","properties":{"time":1},"geometry":null}],"bbox":[0,0,1,1]})");
  EXPECT_EQ(trace.layout, "geojson");
  EXPECT_THAT(rows_of(trace),
              ElementsAre("219 1641168600000000 13.4 52.5 0 5", "x 1000000 1 2 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::unparsable], 1u);
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 1u);
  EXPECT_THAT(trace.counts.first_skipped,
              Contains(HasSubstr("the longitude 'LineString' cannot be understood")));
  EXPECT_THAT(refusal_of_text(R"({"type":"FeatureCollection","features":[]}{"type":)"),
              HasSubstr("there is text after its end"));
  EXPECT_THAT(refusal_of_text(R"({"type":"FeatureCollection","feature":[]})"),
              HasSubstr("it has no member \"features\""));
}

TEST(DirtyFiles, GeoLifeTrajectoriesAreRead) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("20081207012152.plt",
                      "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
                      "0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
                      "39.75,116.25,0,492,39789.05,2008-12-07,01:21:52\r\n"
                      "39.875,116.375,0,-777,39789.06,2008-12-07,01:21:53\r\n");
  const ReadTrace trace = read_trace({path});
  EXPECT_EQ(trace.layout, "geolife");
  EXPECT_THAT(rows_of(trace), ElementsAre("20081207012152 1228612912000000 116.25 39.75 0 -",
                                          "20081207012152 1228612913000000 116.375 39.875 0 -"));
  EXPECT_EQ(trace.counts.skipped_total(), 0u);
}

TEST(DirtyFiles, Utf16IsReadInEveryLayout) {
  const auto utf16 = [](std::string_view text) {
    std::string wide = "\xFF\xFE";
    for (const char byte : text) wide += {byte, '\0'};
    return wide;
  };
  EXPECT_THAT(rows_of(read_text(utf16("id;time;lat;lon\r\n7;0;1;2\r\n"))),
              ElementsAre("7 0 2 1 0 -"));
  EXPECT_THAT(rows_of(read_text(utf16("<?xml version=\"1.0\" encoding=\"UTF-16\"?><fcd-export>"
                                      "<timestep time=\"1\"><vehicle id=\"a\" x=\"3\" y=\"2\"/>"
                                      "</timestep></fcd-export>"))),
              ElementsAre("a 1000000 3 2 0 -"));
  EXPECT_THAT(
      rows_of(read_text(utf16(R"([{"icao24":"a","timestamp":1,"latitude":1,"longitude":2}])"))),
      ElementsAre("a 1000000 2 1 0 -"));
}

TEST(DirtyFiles, APipeIsReadOnceAndWhole) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text;
  for (int row = 0; row < 20'000; ++row)
    text += std::to_string(row) + ",2008-02-02 15:36:08,116.51172,39.92123\n";
  const std::jthread writer([&] { std::ofstream(path, std::ios::binary) << text; });
  const Trace trace(std::vector{path}, {});
  NameTable names;
  TraceCounts counts;
  trace.read(Lattice({.space = trace.space()}), names, counts, [](const TraceRow&) {});
  EXPECT_EQ(counts.rows, 20'000u);
  EXPECT_THAT(
      [&] { trace.read(Lattice({.space = trace.space()}), names, counts, [](const TraceRow&) {}); },
      testing::ThrowsMessage<InputError>(HasSubstr("is a pipe, which can be read only once")));
}

TEST(DirtyFiles, FilesOfADirectoryThatAreNoTextAreLeftOutAndNamed) {
  const TemporaryDirectory directory;
  directory.write("a.csv", "id,time,lat,lon\n7,0,1,2\n");
  directory.write("b.zip", "PK\3\4");
  const ReadTrace trace = read_trace({directory.path()});
  EXPECT_EQ(trace.rows.size(), 1u);
  EXPECT_THAT(trace.notes,
              Contains(AllOf(HasSubstr("b.zip: is a ZIP archive"), HasSubstr("left out"))));
}

TEST(DirtyFiles, TimesThatAreProbablyMisreadArePointedOut) {
  const ReadTrace trace = read_text(
      "id,time,lat,lon\n1,2022-01-03,1,1\n2,1980-01-01,1,1\n3,1979-12-31T23:59:59Z,1,1\n4,"
      "20220103001000,1,"
      "1\n");
  EXPECT_EQ(trace.rows.size(), 4u);
  EXPECT_EQ(trace.counts.odd_times, 2u);
  EXPECT_THAT(trace.counts.first_odd_time,
              HasSubstr("trace.csv:4:3: the time '1979-12-31T23:59:59Z'"));
  EXPECT_EQ(read_text("id,time,x,y\n1,0,1,1\n").counts.odd_times, 0u) << "seconds from 0";
}

TEST(DirtyFiles, SwappedOrFarPositionsAreRefusedWithAWayOut) {
  EXPECT_THAT(read_text("id,time,lat,lon\n7,0,116.4,39.9\n").counts.first_skipped,
              Contains(HasSubstr("are longitude and latitude swapped?")));
  EXPECT_THAT(read_text("id,time,x,y\n7,0,-13627665.27,4547675.35\n").counts.first_skipped,
              Contains(HasSubstr("--origin near the positions or a coarser --resolution")));
}

}  // namespace
}  // namespace starling::sim
