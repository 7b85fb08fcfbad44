# SPDX-License-Identifier: Apache-2.0
"""A toy trace layout: CSV with names of its own, and times in milliseconds."""

from toys.edits import before, changelog, replace

SECTION = "Add a trace layout"

STEPS = [
    (1, [
        replace("sim/data/traces/layout.cpp", "constexpr std::array<Layout, 16> table{{",
                "constexpr std::array<Layout, 17> table{{"),
        before("sim/data/traces/layout.cpp", """\
    {.name = "starling-lonlat",
""", """\
    {.name = "toy",
     .title = "toys",
     .columns = "id=toy,time=toy_ms,lat=toy_north,lon=toy_east",
     .time_unit = TimeUnit::milliseconds,
     .read = read_csv_records},
"""),
    ]),
    (3, [
        before("tests/sim/data/traces/published_layouts_test.cpp",
               "TEST(CabspottingLayout, TheIdIsInTheFilesNameAndOccupiedIsTheFirstTag) {", """\
TEST(ToyLayout, TimesAreMilliseconds) {
  const TemporaryDirectory directory;
  const ReadTrace trace = read_trace({directory.write(
      "toys.csv", "toy,toy_ms,toy_north,toy_east\\nduck,1000,47.5,8.25\\n,1001,47,8\\n")});
  EXPECT_EQ(trace.layout, "toy");
  EXPECT_THAT(rows_of(trace), ElementsAre("duck 1000000 8.25 47.5 0 -"));
  EXPECT_EQ(trace.counts[SkipReason::missing_field], 1u);
}

"""),
        replace("tests/sim/data/traces/trace_files_test.cpp", "geojson, porto, gtfs, starling-lonlat,",
                "geojson, porto, gtfs, toy, starling-lonlat,"),
    ]),
    (4, [
        before("tests/apps/trace_layouts.py", "LAYOUTS = [ais, ", '''\
def toy(maker):
    rows = maker.rows(step_us=1000)
    header = ["toy", "toy_ms", "toy_north", "toy_east"]
    return Trace("toy", {"toys.csv": maker.table(header, [
        [row.id, str(row.time_us // 1000), maker.number(row.y), maker.number(row.x)]
        for row in rows])}, rows)


'''),
        replace("tests/apps/trace_layouts.py", "ais_2025, ais_danish", "toy, ais_2025, ais_danish"),
    ]),
    (5, [
        before("tests/replay_oracle/traces.py", "READERS = {", '''\
def read_toy(path):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            yield row["toy"], int(row["toy_ms"]) * 1000, row["toy_east"], row["toy_north"]


'''),
        replace("tests/replay_oracle/traces.py", '"porto": read_porto}',
                '"porto": read_porto, "toy": read_toy}'),
        before("tests/replay_oracle/made_traces.py", "MAKERS = {", '''\
def make_toy(folder):
    """Times have milliseconds, and some rows come twice."""
    path = folder / "toys.csv"
    with open(path, "w", encoding="ascii", newline="") as file:
        table = csv.writer(file)
        table.writerow(["toy", "toy_ms", "toy_north", "toy_east"])
        for row, (number, seconds, longitude, latitude) in enumerate(shuffled(6)):
            line = [f"toy {number}", seconds * 1000 + row % 1000, latitude, longitude]
            table.writerows([line] * (2 if row % 30 == 4 else 1))
    return path


'''),
        replace("tests/replay_oracle/made_traces.py", '"porto": make_porto}',
                '"porto": make_porto, "toy": make_toy}'),
        replace("tests/replay_oracle/CMakeLists.txt", "cabspotting porto)\n", "cabspotting porto toy)\n"),
    ]),
    (6, [
        before("docs/traces.md", "| `starling-lonlat`, `starling-xy` |",
               "| `toy` | toys as CSV | `toy`, `toy_ms` in milliseconds, `toy_east`, `toy_north` |\n"),
        changelog("The trace layout `toy`."),
    ]),
]

LEFT_OUT = {2: "the files are CSV"}
