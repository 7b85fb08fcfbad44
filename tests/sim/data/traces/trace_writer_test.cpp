// SPDX-License-Identifier: Apache-2.0
// Tests that the written files have the form that other tools expect, and that Starling reads its
// own CSV back to the same rows.
#include "starling/sim/data/traces/trace_writer.hpp"

#include <random>

#include <gmock/gmock.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

struct WrittenTrace {
  NameTable names;
  std::vector<TraceRow> rows;

  void add(std::string_view id, std::int64_t time_us, Position position,
           std::optional<std::uint32_t> tags = {}) {
    rows.push_back(
        {ObjectId{names.intern(id).id}, time_us, position, tags.value_or(0), tags.has_value()});
  }

  std::string write(const TemporaryDirectory& directory, TraceFormat format,
                    const TraceShape& shape) const {
    TextOutput output(directory.path("written"), TextOutput::Appears::when_closed);
    const auto writer = make_trace_writer(format, shape, names, output);
    for (const TraceRow& row : rows) writer->write(row);
    writer->close();
    return TemporaryDirectory::read(directory.path("written"));
  }
};

WrittenTrace two_ships() {
  WrittenTrace trace;
  trace.add("a<\"b\",&", 1'500'000, {8.5, 47.25, 410.5}, 3);
  trace.add("7", 2'000'000, {-0.00001, -90, 0});
  return trace;
}

TEST(TraceWriter, CsvHasTheColumnsThatTheTraceHas) {
  const TemporaryDirectory directory;
  const WrittenTrace trace = two_ships();
  EXPECT_EQ(trace.write(directory, TraceFormat::csv, {true, true, true}),
            "id,time_us,lon,lat,alt,tags\n"
            "\"a<\"\"b\"\",&\",1500000,8.5,47.25,410.5,3\n7,2000000,-0.00001,-90,0,\n");
  EXPECT_EQ(trace.write(directory, TraceFormat::csv, {false, false, false}),
            "id,time_us,x,y\n\"a<\"\"b\"\",&\",1500000,8.5,47.25\n7,2000000,-0.00001,-90\n");
}

TEST(TraceWriter, SumoGroupsRowsOfOneTime) {
  const TemporaryDirectory directory;
  WrittenTrace trace = two_ships();
  trace.add("8", 2'000'000, {1, 2, 3});
  EXPECT_EQ(trace.write(directory, TraceFormat::sumo, {false, false, true}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fcd-export>\n"
            "  <timestep time=\"1.50\">\n"
            "    <vehicle id=\"a&lt;&quot;b&quot;,&amp;\" x=\"8.5\" y=\"47.25\"/>\n"
            "  </timestep>\n  <timestep time=\"2.00\">\n"
            "    <vehicle id=\"7\" x=\"-0.00001\" y=\"-90\"/>\n"
            "    <vehicle id=\"8\" x=\"1\" y=\"2\"/>\n"
            "  </timestep>\n</fcd-export>\n");
}

TEST(TraceWriter, GeoJsonIsAPointARow) {
  const TemporaryDirectory directory;
  EXPECT_EQ(
      two_ships().write(directory, TraceFormat::geojson, {true, true, true}),
      "{\"type\":\"FeatureCollection\",\"features\":[\n"
      "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[8.5,47.25,410.5]"
      "},\"properties\":{\"id\":\"a<\\\"b\\\",&\",\"time\":\"1970-01-01T00:00:01.500000Z\","
      "\"tags\":3}},\n"
      "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-0.00001,-90,0]},"
      "\"properties\":{\"id\":\"7\",\"time\":\"1970-01-01T00:00:02Z\"}}\n]}\n");
}

TEST(TraceWriter, GpxIsATrackAnObject) {
  const TemporaryDirectory directory;
  WrittenTrace trace = two_ships();
  trace.add("7", 3'000'000, {1, 2, 3});
  EXPECT_EQ(
      trace.write(directory, TraceFormat::gpx, {true, false, true}),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<gpx version=\"1.1\" creator=\"starling\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n"
      "<trk><name>a&lt;&quot;b&quot;,&amp;</name><trkseg>\n"
      "<trkpt lat=\"47.25\" lon=\"8.5\"><time>1970-01-01T00:00:01.500000Z</time></trkpt>\n"
      "</trkseg></trk>\n<trk><name>7</name><trkseg>\n"
      "<trkpt lat=\"-90\" lon=\"-0.00001\"><time>1970-01-01T00:00:02Z</time></trkpt>\n"
      "<trkpt lat=\"2\" lon=\"1\"><time>1970-01-01T00:00:03Z</time></trkpt>\n"
      "</trkseg></trk>\n</gpx>\n");
}

TEST(TraceWriter, TimesWithoutAYearOfFourDigitsAreRefusedWhereTheyAreWrittenAsDates) {
  const TemporaryDirectory directory;
  constexpr std::int64_t year_10000_us = 253'402'300'800'000'000;
  for (const std::int64_t time_us : {year_10000_us, std::int64_t{-62'167'219'200'000'001}}) {
    WrittenTrace trace;
    trace.add("a", time_us, {1, 2, 0});
    for (const TraceFormat format : {TraceFormat::geojson, TraceFormat::gpx})
      EXPECT_THAT(
          [&] {
            trace.write(directory, format, {true, false, false});
          },
          testing::ThrowsMessage<InputError>(testing::HasSubstr(
              "'a' has a row at " +
              std::string(time_us > 0 ? "10000-01-01T00:00:00Z" : "-001-12-31T23:59:59.999999Z"))));
    EXPECT_THAT(trace.write(directory, TraceFormat::sumo, {true, false, false}),
                testing::HasSubstr("<timestep time="));
  }
  WrittenTrace trace;
  trace.add("a", year_10000_us - 1, {1, 2, 0});
  EXPECT_THAT(trace.write(directory, TraceFormat::gpx, {true, false, false}),
              testing::HasSubstr("<time>9999-12-31T23:59:59.999999Z</time>"));
}

TEST(TraceWriter, IdsThatXmlCannotHoldAreNamed) {
  const TemporaryDirectory directory;
  WrittenTrace trace;
  trace.add("a\tb", 1, {1, 2, 0});
  trace.add("\x01", 1, {1, 2, 0});
  trace.add("\x02", 1, {1, 2, 0});
  const auto changed = [&](TraceFormat format) {
    TextOutput output(directory.path("written"), TextOutput::Appears::when_closed);
    const auto writer = make_trace_writer(format, {true, false, false}, trace.names, output);
    for (const TraceRow& row : trace.rows) writer->write(row);
    writer->close();
    return writer->first_changed_id();
  };
  EXPECT_EQ(changed(TraceFormat::sumo), "\x01");
  EXPECT_EQ(changed(TraceFormat::gpx), "\x01");
  EXPECT_EQ(changed(TraceFormat::csv), "");
  EXPECT_EQ(changed(TraceFormat::geojson), "");
}

TEST(TraceWriter, CsvReadsBackToTheSameRows) {
  const TemporaryDirectory directory;
  constexpr unsigned seed = 11;
  std::mt19937_64 random(seed);
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (const bool has_tags : {false, true})
      for (const bool has_z : {false, true}) {
        if (space != Space::wgs84 && has_z != (space == Space::planar3)) continue;
        WrittenTrace trace;
        std::uniform_real_distribution<double> coordinate(-90, 90);
        for (int i = 0; i < 2000; ++i) {
          const std::string id = i % 3 == 0   ? std::to_string(random())
                                 : i % 3 == 1 ? "ship, \"" + std::to_string(i) + "\"\n#\xE9"
                                              : "00" + std::to_string(i);
          trace.add(id, static_cast<std::int64_t>(random() >> 4) - (std::int64_t{1} << 58),
                    {coordinate(random), coordinate(random) / 1e6, has_z ? coordinate(random) : 0},
                    has_tags && i % 2 == 0 ? std::optional(static_cast<std::uint32_t>(random()))
                                           : std::nullopt);
        }
        const TraceShape shape{space == Space::wgs84, has_z, has_tags};
        const std::string text = trace.write(directory, TraceFormat::csv, shape);
        const ReadTrace back = read_trace({directory.write_zst("back", text)});
        EXPECT_EQ(back.space, space);
        EXPECT_EQ(back.counts.skipped_total(), 0u);
        ReadTrace expected;
        expected.rows = trace.rows;
        expected.names = trace.names;
        EXPECT_EQ(rows_of(back), rows_of(expected)) << to_string(space) << has_tags << has_z;
      }
}

TEST(TraceWriter, SumoReadsBackToTheSameRows) {
  const TemporaryDirectory directory;
  WrittenTrace trace;
  for (const std::int64_t time_us : {-1'234'567L, -1L, 0L, 10L, 1'641'168'000'123'456L})
    trace.add("car \"<&>\n7", time_us, {0.1, -1e-7, 0});
  const std::string text = trace.write(directory, TraceFormat::sumo, {});
  const ReadTrace back = read_trace({directory.write("fcd.xml", text)});
  ReadTrace expected;
  expected.rows = trace.rows;
  expected.names = trace.names;
  EXPECT_EQ(rows_of(back), rows_of(expected));
}

}  // namespace
}  // namespace starling::sim
