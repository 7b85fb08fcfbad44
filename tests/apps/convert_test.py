# SPDX-License-Identifier: Apache-2.0
"""Runs `starling convert` and `starling replay` as programs: how they read traces, what they print, which
files they leave, and how much memory they take. Run by ctest with the path of the program as the only
argument."""

import ctypes
import gzip
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from folder_case import FolderCase, limit_file_size

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
MIB = 1 << 20

BUS = """vehicle_id,timestamp,latitude,longitude
2052,2016-03-22T19:26:02-05:00,30.25,-97.75
"tram ""7"" <&,>",2016-03-22T19:26:01-05:00,30.5,-97.5
2052,2016-03-22T19:26:01-05:00,30.125,-97.625
"""
RECORDED = pathlib.Path(os.environ.get(
    "STARLING_TRACES", pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "traces"))


def give_up_override():
    """Called in a child process: makes file permissions apply, even if the process runs as root."""
    libc = ctypes.CDLL(None)
    override_permissions, search_permission = 1, 2
    for capability in (override_permissions, search_permission):
        if libc.prctl(24, capability, 0, 0, 0) != 0 and os.geteuid() == 0:
            raise OSError("root's privileges cannot be given up")


class TraceTest(FolderCase):
    def run_program(self, *arguments, status=0, **options):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE_S, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def convert(self, trace, to, out, *flags, **options):
        return self.run_program("convert", trace, "--to", to, "--out", out, *flags, **options)

    def lists_of(self, trace, *flags):
        done = self.run_program("replay", trace, "--out", "-", "--k", "3", *flags)
        return hashlib.sha256(done.stdout.encode()).hexdigest()


class ConvertTest(TraceTest):
    def test_explain_says_how_a_file_is_read(self):
        path = self.folder / "fleet.csv"
        path.write_text("ID;date;time;lat;lon\n" + "".join(
            f"7;20/01/2022;00:10:0{i};52,{i}5;13,4\n" for i in range(5)) + "8;x;y;1;1\n")
        done = self.run_program("convert", path, "--explain", "--to", "csv", "--out", "-")
        for line in ("separator          ;", "id                 ID", "time               date and time",
                     "order of dates     the day first", "decimal mark       ,",
                     "row                7 at 2022-01-20T00:10:00Z, 13.4, 52.05"):
            self.assertIn(line, done.stdout)
        self.assertEqual(done.stdout.count("  row "), 3)
        self.assertNotIn("id,time_us", done.stdout)

    def test_csv_holds_the_original_ids_and_microseconds(self):
        done = self.convert(self.write("bus.csv", BUS), "csv", "-")
        self.assertEqual(done.stdout, "id,time_us,lon,lat\n"
                         "2052,1458692762000000,-97.75,30.25\n"
                         "\"tram \"\"7\"\" <&,>\",1458692761000000,-97.5,30.5\n"
                         "2052,1458692761000000,-97.625,30.125\n")
        self.assertIn("convert: 3 rows written; skipped 0", done.stderr)

    def test_a_dash_is_the_standard_input(self):
        done = self.run_program("convert", "-", "--to", "csv", "--out", "-", input=BUS)
        self.assertEqual(done.stdout, self.convert(self.write("bus.csv", BUS), "csv", "-").stdout)
        self.assertIn("convert: -: GTFS-realtime positions, wgs84", done.stderr)

    def test_the_layout_recognised_is_said_once_and_by_what(self):
        first, second = self.write("a.csv", BUS), self.write("b.csv", BUS)
        done = self.run_program("convert", first, second, "--to", "csv", "--out", "-")
        self.assertEqual(done.stderr.splitlines()[0],
                         f"convert: {first}: GTFS-realtime positions, wgs84 (its header has "
                         "vehicle_id, timestamp, longitude, latitude), and 1 more file")
        self.assertEqual(done.stderr.count("GTFS-realtime"), 1)

    def test_order_time_sorts(self):
        done = self.convert(self.write("bus.csv", BUS), "csv", "-", "--order", "time")
        times = [line.rsplit(",", 3)[1] for line in done.stdout.splitlines()[1:]]
        self.assertEqual(times, sorted(times))

    def test_csv_of_csv_is_the_same_bytes_through_any_compression(self):
        path = self.write("bus.csv", BUS)
        expected = self.convert(path, "csv", "-").stdout
        for name in ("once.csv", "once.csv.gz", "once.csv.zst"):
            out = self.folder / name
            self.convert(path, "csv", out)
            self.assertEqual(self.convert(out, "csv", "-").stdout, expected, name)
        self.assertEqual(gzip.open(self.folder / "once.csv.gz", "rt").read(), expected)
        self.assertEqual((self.folder / "once.csv.zst").read_bytes()[:4], b"\x28\xB5\x2F\xFD")

    def test_sumo_is_xml_in_order_of_time(self):
        out = self.folder / "fcd.xml"
        self.convert(self.write("bus.csv", BUS), "sumo", out)
        steps = ElementTree.parse(out).getroot()
        self.assertEqual([[step.get("time")] + [vehicle.attrib for vehicle in step]
                          for step in steps],
                         [["1458692761.00", {"id": 'tram "7" <&,>', "x": "-97.5", "y": "30.5"},
                           {"id": "2052", "x": "-97.625", "y": "30.125"}],
                          ["1458692762.00", {"id": "2052", "x": "-97.75", "y": "30.25"}]])
        self.assertEqual(self.lists_of(out, "--space", "wgs84"),
                         self.lists_of(self.folder / "bus.csv"))

    def test_geojson_is_json(self):
        collection = json.loads(self.convert(self.write("bus.csv", BUS), "geojson", "-").stdout)
        self.assertEqual(collection["type"], "FeatureCollection")
        self.assertEqual(collection["features"][1], {
            "type": "Feature", "geometry": {"type": "Point", "coordinates": [-97.5, 30.5]},
            "properties": {"id": 'tram "7" <&,>', "time": "2016-03-23T00:26:01Z"}})

    def test_gpx_is_a_track_an_object_in_order_of_time(self):
        text = self.convert(self.write("bus.csv", BUS), "gpx", "-", "--sort-memory", "1kB").stdout
        space = {"": "http://www.topografix.com/GPX/1/1"}
        tracks = {track.findtext("name", namespaces=space):
                  [(point.get("lat"), point.get("lon"), point.findtext("time", namespaces=space))
                   for point in track.findall("trkseg/trkpt", space)]
                  for track in ElementTree.fromstring(text).findall("trk", space)}
        self.assertEqual(tracks, {
            'tram "7" <&,>': [("30.5", "-97.5", "2016-03-23T00:26:01Z")],
            "2052": [("30.125", "-97.625", "2016-03-23T00:26:01Z"),
                     ("30.25", "-97.75", "2016-03-23T00:26:02Z")]})

    def test_metres_are_refused_where_degrees_are_needed(self):
        path = self.write("plane.csv", "id,time_us,x,y\n1,0,1,2\n")
        for to in ("geojson", "gpx"):
            done = self.convert(path, to, self.folder / "out", status=2)
            self.assertIn("geojson and gpx hold latitudes and longitudes, but the trace is of space "
                          "planar2; csv and sumo hold metres", done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_recordings_convert_to_what_replays_alike(self):
        recordings = [("sumo_spider_fcd.xml.gz", "10s"), ("bus_capmetro_2016-03-22.csv.gz", "1h"),
                      ("ais_marinecadastre_2022-01-03.csv.gz", "2h"),
                      ("aircraft_opensky_switzerland.json.gz", "2h")]
        if not RECORDED.is_dir():
            self.skipTest(f"{RECORDED} is absent; STARLING_TRACES names the recordings' directory")
        for name, tick in recordings:
            with self.subTest(name):
                out = self.folder / (name + ".csv.zst")
                self.convert(RECORDED / name, "csv", out)
                self.assertEqual(self.lists_of(out, "--tick", tick),
                                 self.lists_of(RECORDED / name, "--tick", tick))


class BadEndTest(TraceTest):
    def test_a_full_disk_is_one_sentence_and_no_file(self):
        rows = "".join(f"{row},{row},1,2\n" for row in range(50_000))
        path = self.write("points.csv", "id,time_us,x,y\n" + rows)
        out = self.folder / "out.csv"
        done = self.convert(path, "csv", out, status=1, preexec_fn=limit_file_size(100_000))
        self.assertIn(f"starling: {out} cannot be written: File too large", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [path])
        done = self.convert(path, "csv", "/dev/full", status=1)
        self.assertIn("/dev/full cannot be ", done.stderr)
        self.assertIn("No space left on device", done.stderr)

    def test_a_full_temporary_directory_is_one_sentence_and_no_file(self):
        rows = "".join(f"{row},{-row},1,2\n" for row in range(50_000))
        path = self.write("points.csv", "id,time_us,x,y\n" + rows)
        out = self.folder / "out.xml"
        flags = ["--sort-memory", "100kB", "--temp-dir", self.folder]
        done = self.convert(path, "sumo", out, *flags, status=1,
                            preexec_fn=limit_file_size(100_000))
        self.assertIn(f"starling: {self.folder}: the temporary file for sorting cannot be written",
                      done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_a_damaged_trace_leaves_no_file(self):
        path = self.write("fcd.xml", '<fcd-export><timestep time="0"><vehicle id="a" x="1" y="2"/>')
        done = self.convert(path, "csv", self.folder / "out.csv", status=1)
        self.assertIn("fcd.xml:1:", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_nothing_to_convert_is_an_error(self):
        path = self.write("points.csv", "id,time_us,lon,lat\n1,0,0,0\n")
        done = self.convert(path, "csv", self.folder / "out.csv", status=1)
        self.assertIn("rows skipped: 1 (1 at 0, 0); --strict stops at the first such row", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_nothing_in_the_time_asked_for_names_the_flags(self):
        path = self.write("bus.csv", BUS)
        done = self.convert(path, "csv", self.folder / "out.csv", "--from", "2020-01-01T00:00:00Z",
                            status=1)
        self.assertIn("rows outside --from and --until: 3", done.stderr)

    def test_a_file_that_may_not_be_seen_is_one_sentence(self):
        shut = self.folder / "shut"
        shut.mkdir()
        (shut / "x.csv").write_text(BUS)
        shut.chmod(0)
        self.addCleanup(shut.chmod, 0o700)
        for path in (shut, shut / "x.csv"):
            done = self.convert(path, "csv", self.folder / "out.csv", status=1,
                                preexec_fn=give_up_override)
            self.assertEqual(done.stderr,
                             f"starling: {path} cannot be opened: Permission denied\n")

    def test_at_a_time_each_object_has_its_newest_row(self):
        seed = 20161124
        random.seed(seed)
        rows = [(random.randrange(40), random.randrange(1_000), number) for number in range(2_000)]
        trace = self.write("trace.csv", "id,time_us,x,y\n" + "".join(
            f"{object_id},{time_us},{x},0\n" for object_id, time_us, x in rows))
        for at in (3, 500, 999, 5_000):
            newest = {}
            for object_id, time_us, x in rows:
                if time_us <= at and time_us >= newest.get(object_id, (-1,))[0]:
                    newest[object_id] = (time_us, x)
            wanted = {f"{object_id},{time_us},{x},0" for object_id, (time_us, x) in newest.items()}
            flags = ["--at", str(at), "--time-unit", "us"]
            lines = self.convert(trace, "csv", "-", *flags).stdout.splitlines()
            self.assertEqual(set(lines[1:]), wanted, f"at {at}, seed {seed}")
            self.assertEqual(len(lines), 1 + len(wanted))
            lines = self.convert(trace, "csv", "-", *flags, "--order", "time").stdout.splitlines()
            self.assertEqual(set(lines[1:]), wanted)
            times = [int(line.split(",")[1]) for line in lines[1:]]
            self.assertEqual(times, sorted(times))

    def test_at_takes_times_as_from_does_and_is_not_combined_with_until(self):
        bus = self.write("bus.csv", BUS)
        done = self.convert(bus, "csv", "-", "--at", "2016-03-23T00:26:01Z")
        self.assertEqual(done.stdout.splitlines()[1:], ['"tram ""7"" <&,>",1458692761000000,-97.5,30.5',
                                                        "2052,1458692761000000,-97.625,30.125"])
        self.assertIn("leave out --until", self.convert(bus, "csv", "-", "--at", "5", "--until", "9",
                                                        status=2).stderr)
        self.assertIn("--at: 'noon' is not a time, such as",
                      self.convert(bus, "csv", "-", "--at", "noon", status=2).stderr)
        done = self.convert(bus, "csv", "-", "--at", "1970-01-01T00:00:00Z", status=1)
        self.assertIn("there is nothing to convert at the time of --at; ", done.stderr)

    def test_what_is_not_recognised_names_the_flags_that_help(self):
        path = self.write("letter.txt", "Dear reader,\n")
        for command in (["convert", path, "--to", "csv", "--out", "-"], ["replay", path]):
            done = self.run_program(*command, status=1)
            self.assertRegex(done.stderr, "not recognised.*--format.*--columns")


@unittest.skipIf("STARLING_SANITIZE" in os.environ, "sanitizers take memory of their own")
class MemoryTest(TraceTest):
    def peak_bytes(self, *arguments):
        # A child process starts with its parent's peak of memory, so the parent must be small.
        measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", measure, PROGRAM, *map(str, arguments)],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout) * 1024

    def test_a_trace_larger_than_its_memory_is_replayed_and_converted(self):
        source = random.Random(1)
        count = 600_000  # 28.8 MB as rows in memory
        with open(self.folder / "points.csv", "w", encoding="ascii") as file:
            file.write("id,time_us,x,y\n")
            file.writelines(f"{row % 500},{source.randrange(10**9)},{row % 977},{row % 991}\n"
                            for row in range(count))
        replay = ["replay", self.folder / "points.csv", "--tick", "100s", "--threads", "1"]
        few = [*replay, "--sort-memory", "2MiB", "--temp-dir", self.folder]
        self.assertLess(self.peak_bytes(*few), self.peak_bytes(*replay) - 20 * MIB)
        convert = ["convert", self.folder / "points.csv", "--to", "sumo", "--out", "/dev/null"]
        few = [*convert, "--sort-memory", "2MiB", "--temp-dir", self.folder]
        self.assertLess(self.peak_bytes(*few), self.peak_bytes(*convert) - 20 * MIB)
        self.assertEqual(self.lists_of(self.folder / "points.csv", "--tick", "500s"),
                         self.lists_of(self.folder / "points.csv", "--tick", "500s",
                                       "--sort-memory", "100kB"))


if __name__ == "__main__":
    unittest.main()
