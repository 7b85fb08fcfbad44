# SPDX-License-Identifier: Apache-2.0
"""Has `starling convert` read small traces in each layout, write them in each format, and read the written
files: no row may be lost or changed. Python's csv, json and ElementTree, and pandas if it is installed, read
the written files too. Run by ctest with the path of the program as the only argument. STARLING_ROUND_TRIPS is
the number of traces of each layout, and STARLING_ROUND_TRIP_SEED the first seed."""

import csv
import datetime
import decimal
import gzip
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import trace_layouts
from folder_case import FolderCase
from trace_layouts import Row

try:
    import pandas
except ImportError:
    pandas = None

PROGRAM = sys.argv.pop()
TRACES = int(os.environ.get("STARLING_ROUND_TRIPS", "1"))
SEED = int(os.environ.get("STARLING_ROUND_TRIP_SEED", "1"))
PATIENCE_S = 120  # how long one run of the program may take
QUICK_BYTES = 500_000  # larger recordings are read with more than one trace of each layout only
GPX = {"": "http://www.topografix.com/GPX/1/1"}
RECORDED = pathlib.Path(os.environ.get(
    "STARLING_TRACES", pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "traces"))


def exact(rows):
    """Returns the rows so that only equal bits compare as equal: -0.0 is not 0.0."""
    return [row._replace(x=row.x.hex(), y=row.y.hex(), z=None if row.z is None else row.z.hex())
            for row in rows]


def micros(text):
    """Returns microseconds since 1970 of an ISO 8601 time in UTC."""
    at = datetime.datetime.fromisoformat(text.removesuffix("Z"))
    assert text.endswith("Z"), text
    return (at - trace_layouts.EPOCH) // datetime.timedelta(microseconds=1)


def optional(value, read):
    return read(value) if value else None


# Independent readers of what the program writes. Each returns rows.

def read_csv(data):
    places = [("lon", "x"), ("lat", "y"), ("alt", "z")]
    rows = []
    for record in csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True):
        assert None not in record and None not in record.values(), record
        x, y, z = (next((record[name] for name in names if name in record), None) for names in places)
        rows.append(Row(record["id"], int(record["time_us"]), float(x), float(y), optional(z, float),
                        optional(record.get("tags"), int)))
    return rows


def read_sumo(data):
    rows = []
    for step in ElementTree.fromstring(data):
        time_us = int(decimal.Decimal(step.get("time")) * 10**6)
        rows += [Row(vehicle.get("id"), time_us, float(vehicle.get("x")), float(vehicle.get("y")),
                     optional(vehicle.get("z"), float)) for vehicle in step.findall("vehicle")]
    return rows


def read_geojson(data):
    rows = []
    for feature in json.loads(data, parse_int=lambda text: -0.0 if text == "-0" else int(text))["features"]:
        place, said = feature["geometry"]["coordinates"], feature["properties"]
        rows.append(Row(said["id"], micros(said["time"]), float(place[0]), float(place[1]),
                        float(place[2]) if len(place) > 2 else None, said.get("tags")))
    return rows


def read_gpx(data):
    rows = []
    for track in ElementTree.fromstring(data).findall("trk", GPX):
        name = track.findtext("name", namespaces=GPX)
        rows += [Row(name, micros(point.findtext("time", namespaces=GPX)), float(point.get("lon")),
                     float(point.get("lat")), optional(point.findtext("ele", namespaces=GPX), float))
                 for point in track.findall("trkseg/trkpt", GPX)]
    return rows


READERS = {"csv": read_csv, "sumo": read_sumo, "geojson": read_geojson, "gpx": read_gpx}


def as_written(rows, to, objects=()):
    """Returns the rows that docs/traces.md promises for a file in format `to`. GPX has a track for each of
    `objects`, in this order."""
    if to in ("csv", "geojson"):
        return rows
    rows = sorted((row._replace(tags=None) for row in rows), key=lambda row: row.time_us)
    return rows if to == "sumo" else sorted(rows, key=lambda row: objects.index(row.id))


def flags_to_read_again(to, rows, is_geographic):
    has_z = rows[0].z is not None
    if to == "sumo" and is_geographic:
        return ["--space", "wgs84"] + ["--altitude"] * has_z
    if to == "csv" or not has_z:
        return ["--space", "planar3"] if has_z and not is_geographic else []
    return ["--altitude"] if is_geographic else ["--space", "planar3"]


class ConvertCase(FolderCase):
    any_time = ()  # flags; without them, a file in degrees is refused if all its times are implausible

    def convert(self, paths, to, *flags, out="-", status=0):
        done = subprocess.run(
            [PROGRAM, "convert", *paths, "--to", to, "--out", out, *flags, *self.any_time],
            capture_output=True, timeout=PATIENCE_S)
        self.said = done.stderr.decode()
        self.assertEqual(done.returncode, status, self.said)
        return done.stdout

    def convert_all(self, paths, to, *flags, out="-"):
        data = self.convert(paths, to, *flags, out=out)
        self.assertIn("skipped 0", self.said)
        return data

    def convert_text(self, text, to, *flags):
        return self.convert_all([self.write("trace", text)], to, *flags)

    def assert_rows(self, rows, wanted, about):
        self.assertEqual(exact(rows), exact(wanted), f"{about}; {self.said}")


class RoundTripTest(ConvertCase):
    csv_files = []  # written files, which PandasTest reads again

    def put_down(self, trace, folder, source):
        paths = []
        for name, text in trace.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = text.encode()
            path.write_bytes(gzip.compress(data) if source.random() < 0.2 else data)
            paths.append(path)
        return paths

    def check_format(self, paths, trace, to, source):
        rows, flags = trace.rows, trace.flags
        out = self.folder / ("out." + to + source.choice(["", "", ".gz", ".zst"]))
        self.convert_all(paths, to, *flags, out=out)
        written = out.read_bytes()
        if out.suffix == ".gz":
            written = gzip.decompress(written)
        if out.suffix == ".zst":
            written = self.convert_all(paths, to, *flags)
        seen = READERS[to](written)
        if to == "csv":
            self.csv_files.append(written)
        objects = list(dict.fromkeys(row.id for row in seen))
        wanted = as_written(rows, to, objects) if set(objects) == {row.id for row in rows} else rows
        self.assert_rows(seen, wanted, f"written as {to}")
        again = flags_to_read_again(to, rows, trace.is_geographic)
        self.assert_rows(read_csv(self.convert_all([out], "csv", *again)), wanted, f"read back from {to}")
        self.assertEqual(self.convert_all([out], to, *again), written, f"{to} of {to}")
        return out, wanted, again

    def check_chain(self, path, rows, flags, to, is_geographic):
        """Converts a converted file, which holds these rows, to one more format."""
        out = self.folder / ("chain." + to)
        self.convert_all([path], to, *flags, out=out)
        back = read_csv(self.convert_all([out], "csv", *flags_to_read_again(to, rows, is_geographic)))
        objects = list(dict.fromkeys(row.id for row in back))
        self.assert_rows(back, as_written(rows, to, objects), f"{path.name} by way of {to}")

    def check(self, make, seed):
        source = random.Random(f"{make.__name__} {seed}")
        trace = make(trace_layouts.Maker(source))
        if all(row.time_us >= micros("0001-01-01T00:00:00Z") for row in trace.rows):
            self.any_time = ("--from", "0001-01-01T00:00:00Z")
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            paths = self.put_down(trace, pathlib.Path(folder), source)
            told = trace.flags if "--columns" in trace.flags else (*trace.flags, "--format", trace.format)
            text = None
            if trace.format not in ("csv", "json"):
                text = self.convert_all(paths, "csv", *told)
                self.assert_rows(read_csv(text), trace.rows, "with --format")
            if trace.is_recognised:
                self.assertIn(text, (None, self.convert_all(paths, "csv", *trace.flags)))
            by_time = read_csv(self.convert_all(paths, "csv", *trace.flags, "--order", "time"))
            self.assert_rows(by_time, sorted(trace.rows, key=lambda row: row.time_us), "--order time")
            formats = ["csv", "sumo"] + ["geojson", "gpx"] * trace.is_geographic
            written = [self.check_format(paths, trace, to, source) for to in formats]
            self.check_chain(*source.choice(written), source.choice(formats), trace.is_geographic)

    def check_layout(self, make):
        for seed in range(SEED, SEED + TRACES):
            with self.subTest(layout=make.__name__, seed=seed):
                self.check(make, seed)


def add_layout(make):
    def test(self):
        self.check_layout(make)
    setattr(RoundTripTest, f"test_{make.__name__}_keeps_its_rows", test)


for maker in trace_layouts.LAYOUTS:
    add_layout(maker)


class LimitTest(ConvertCase):
    def test_positions_of_any_size_are_kept(self):
        rows = [Row("mercator", 1, 20037508.342789244, -20037508.342789244), Row("far", 2, 1e300, -1e18),
                Row("most", 3, sys.float_info.max, -sys.float_info.max)]
        text = "id,time_us,x,y\n" + "".join(f"{row.id},{row.time_us},{row.x!r},{row.y!r}\n" for row in rows)
        for to in ("csv", "sumo"):
            self.assert_rows(READERS[to](self.convert_text(text, to)), rows, to)
        orbit = [Row("satellite", 10**15, 1.5, 2.5, 35_786_000.0)]
        text = "id,time_us,lon,lat,alt\nsatellite,1000000000000000,1.5,2.5,35786000\n"
        for to, reader in READERS.items():
            self.assert_rows(reader(self.convert_text(text, to)), orbit, to)

    def test_years_beyond_those_of_dates_are_kept_or_refused(self):
        text = "id,time_us,lon,lat\na,{},1,2\n"
        for time_us in (trace_layouts.YEAR_10000_US, 2**62, -2**62):
            for to in ("csv", "sumo"):
                self.assert_rows(READERS[to](self.convert_text(text.format(time_us), to)),
                                 [Row("a", time_us, 1.0, 2.0)], to)
            for to in ("geojson", "gpx"):
                self.convert([self.folder / "trace"], to, out=self.folder / "out", status=1)
                self.assertIn("geojson and gpx hold times of the years 0000 to 9999", self.said)
                self.assertFalse((self.folder / "out").exists())

    def test_ids_that_xml_cannot_hold_are_pointed_out(self):
        text = "id,time_us,lon,lat\n" + "".join(f"{name},{time_us},1,2\n" for time_us, name in
                                                enumerate(["bell\x07", "ok", "\ufffe"]))
        for to, wanted in (("csv", ["bell\x07", "ok", "\ufffe"]), ("geojson", ["bell\x07", "ok", "\ufffe"]),
                           ("sumo", ["bell\ufffd", "ok", "\ufffd"]), ("gpx", ["bell\ufffd", "ok", "\ufffd"])):
            rows = READERS[to](self.convert_text(text, to))
            self.assertEqual(sorted(row.id for row in rows), sorted(wanted))
            self.assertEqual("XML cannot hold some characters of ids, such as 'bell\\x07'" in self.said,
                             to in ("sumo", "gpx"), self.said)

    def test_ids_that_are_not_utf8_are_read_as_latin1(self):
        text = b"id,time_us,lon,lat\nM\xfcller,1,1,2\n"
        for to in READERS:
            self.assertEqual(READERS[to](self.convert_text(text, to))[0].id, "M\u00fcller")

    def test_spaces_at_the_ends_of_ids_are_left_out(self):
        table = 'id,time_us,lon,lat\n" a b \n",1, 1 ,2\n'
        track = ('<gpx><trk><name>\n a b\t</name><trkseg><trkpt lon=" 1" lat="2 ">\n<time>\n'
                 ' 1970-01-01T00:00:00.000001Z\n</time></trkpt></trkseg></trk></gpx>')
        for text in (table, track, '{"id":" a b ","time_us":1,"lon":" 1 ","lat":2}\n'):
            self.assert_rows(read_csv(self.convert_text(text, "csv")), [Row("a b", 1, 1.0, 2.0)], text)

    def test_ids_that_are_one_object_have_the_first_text(self):
        text = "id,time_us,lon,lat\n007,1,1,2\n7,2,1,2\n"
        for to, reader in READERS.items():
            self.assertEqual([row.id for row in reader(self.convert_text(text, to))], ["007", "007"])

    def test_the_files_of_a_folder_are_in_order_of_name(self):
        names = ["c.csv", "a.csv", "b.csv"]
        for name in names:
            self.write(name, f"id,time_us,lon,lat\n{name},1,1,2\n")
        self.assertEqual([row.id for row in read_csv(self.convert([self.folder], "csv"))], sorted(names))


def recorded_ais(text):
    for row in csv.DictReader(text):
        yield Row(row["MMSI"], micros(row["BaseDateTime"] + "Z"), float(row["LON"]), float(row["LAT"]))


def recorded_buses(text):
    for row in csv.DictReader(text):
        at = datetime.datetime.fromisoformat(row["timestamp"])
        yield Row(row["vehicle_id"], int(at.timestamp()) * 10**6, float(row["longitude"]),
                  float(row["latitude"]))


def recorded_aircraft(text):
    for row in json.load(text):
        yield Row(row["icao24"], row["timestamp"] * 1000, row["longitude"], row["latitude"])


def recorded_requests(text):
    for row in csv.reader(text):
        yield Row(row[0], micros(row[2] + "Z"), float(row[6]), float(row[7]))


def recorded_sumo(text):
    for step in ElementTree.parse(text).getroot():
        for one in step:
            yield Row(one.get("id"), int(decimal.Decimal(step.get("time")) * 10**6), float(one.get("x")),
                      float(one.get("y")))


RECORDINGS = [("ais_marinecadastre_2022-01-03.csv.gz", recorded_ais, []),
              ("bus_capmetro_2016-03-22.csv.gz", recorded_buses, []),
              ("aircraft_opensky_switzerland.json.gz", recorded_aircraft, []),
              ("ride_requests_nyc_2013-01-01.csv.gz", recorded_requests,
               ["--columns", "id=1,time=3,lon=7,lat=8"]),
              ("sumo_spider_fcd.xml.gz", recorded_sumo, ["--persons"])]


class RecordingTest(ConvertCase):
    def converted(self, path, to, *flags):
        out = self.folder / f"{len(list(self.folder.iterdir()))}.{to}"
        self.convert([path], to, *flags, out=out)
        return out

    def test_recordings_keep_their_rows(self):
        for name, read, flags in RECORDINGS:
            with self.subTest(name):
                path = RECORDED / name
                if not path.exists():
                    self.skipTest(f"{path} is absent; STARLING_TRACES names the recordings' folder")
                if TRACES == 1 and path.stat().st_size > QUICK_BYTES:
                    self.skipTest(f"{name} takes seconds; apps.many_round_trips reads it")
                self.check(path, read, flags)

    def check(self, path, read, flags):
        is_geographic = read is not recorded_sumo
        with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
            wanted = [row for row in read(text) if not is_geographic or (
                (row.x != 0 or row.y != 0) and abs(row.x) <= 180 and abs(row.y) <= 90)]
        first = self.converted(path, "csv", *flags)
        self.assertTrue(read_csv(first.read_bytes()) == wanted, f"{path} has other rows as csv")
        # No field of a recording has quotes, so lines are rows.
        header, *lines = first.read_bytes().splitlines()
        lines.sort(key=lambda line: int(line.split(b",")[1]))
        self.assert_lines(self.converted(first, "csv", "--order", "time"), header, lines, "in order of time")
        back = self.converted(self.converted(first, "sumo"), "csv", *["--space", "wgs84"] * is_geographic)
        self.assert_lines(back, header, lines, "by way of sumo")
        if not is_geographic:
            return
        back = self.converted(self.converted(first, "geojson"), "csv", "--order", "time")
        self.assert_lines(back, header + b",tags", [line + b"," for line in lines], "by way of geojson")
        back = self.converted(self.converted(first, "gpx"), "csv")
        found = back.read_bytes().splitlines()[1:]
        objects = dict.fromkeys(line.split(b",")[0] for line in found)
        places = {name: place for place, name in enumerate(objects)}
        lines.sort(key=lambda line: places.get(line.split(b",")[0], -1))
        self.assert_lines(back, header, lines, "by way of gpx")

    def assert_lines(self, path, header, lines, about):
        self.assertTrue(path.read_bytes() == b"\n".join([header, *lines, b""]), f"other rows {about}")


class PandasTest(unittest.TestCase):
    def test_pandas_reads_the_same_fields(self):
        """Reads the files that the round trips wrote, and so runs after them."""
        if pandas is None:
            self.skipTest("pandas cannot be imported; the package python3-pandas has it")
        self.assertGreaterEqual(len(RoundTripTest.csv_files), len(trace_layouts.LAYOUTS))
        for data in RoundTripTest.csv_files:
            header, *records = csv.reader(io.StringIO(data.decode(), newline=""))
            frame = pandas.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
            self.assertEqual([list(frame.columns), *frame.values.tolist()], [header, *records])


def load_tests(loader, tests, pattern):
    """Returns all tests. PandasTest is the last."""
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (
        LimitTest, RoundTripTest, RecordingTest, PandasTest))


if __name__ == "__main__":
    unittest.main()
