# SPDX-License-Identifier: Apache-2.0
"""Writes small traces of known rows in each layout that docs/traces.md names, with Python's json and as plain
text. round_trip_test.py has the program read them."""

import datetime
import decimal
import json
import math
from typing import NamedTuple, Optional
from xml.sax.saxutils import escape, quoteattr

EPOCH = datetime.datetime(1970, 1, 1)
SECOND_US = 10**6
FOOT_M = 0.3048
YEAR_2001_US = 978_307_200 * SECOND_US
YEAR_2030_US = 1_893_456_000 * SECOND_US
YEAR_0001_US = -62_135_596_800 * SECOND_US
YEAR_10000_US = 253_402_300_800 * SECOND_US

# All ids name different objects. 007 and 7 would name the same object.
NUMBER_IDS = ["7", "0101", "367379190", "18446744073709551615", "0"]
TEXT_IDS = [
    "M\u00fcller", "e\u0301", "\u65e5\u672c", "\U0001f68c 7", "\u0645\u0635\u0631", "a,b", "a;b", "a|b",
    'say "hi"', '"', "it's", "<&>", "]]>", "&amp;", "{}", "\\", "#101", "NA", "null", "0x5", "1e5", "-5",
    "+6", "1.0", "18446744073709551616", "two  words", "=1+1", "\ufeffx", "a\u2028b", "a\u00a0b", "a\x85b",
    "x" * 300]
IDS_WITH_LINES = ["tab\there", "two\nlines", "carriage\rreturn", "both\r\nof them"]
FILE_IDS = ["abboip", "0017", "M\u00fcller", "\u65e5\u672c", "a,b", "two words", "it's", "a.b"]


class Row(NamedTuple):
    id: str
    time_us: int
    x: float  # or the longitude
    y: float  # or the latitude
    z: Optional[float] = None
    tags: Optional[int] = None


class Trace(NamedTuple):
    format: str  # the layout's name for --format
    files: dict  # the content by name, in the order of the trace
    rows: list
    flags: tuple = ()  # flags that the program needs to read the trace
    is_recognised: bool = True  # whether the program reads it without --format and --columns
    is_geographic: bool = True


class Maker:
    """Draws rows and the spelling of their values."""

    def __init__(self, source):
        self.source = source
        self.pick = source.choice

    def ids(self, known=tuple(NUMBER_IDS + TEXT_IDS + IDS_WITH_LINES), most=8):
        return self.source.sample(known, self.source.randrange(1, min(most, len(known))))

    def degrees(self, limit):
        draw = self.source.uniform(-limit, limit)
        return self.pick([draw, draw, draw, round(draw, 6), round(draw, 2), float(round(draw)), limit, -limit,
                          math.nextafter(limit, 0), draw * 1e-300, 5e-324, -0.0])

    def metres(self):
        draw = self.source.uniform(-1e7, 1e7)
        return self.pick([draw, draw / 1e5, round(draw, 2), float(round(draw)), 1e7, -1e7, 0.1 + 0.2,
                          draw * 1e-310, -0.0])

    def time_us(self, step_us, first_us=YEAR_2001_US, end_us=YEAR_2030_US):
        return self.source.randrange(first_us // step_us, end_us // step_us) * step_us

    def rows(self, ids=None, step_us=1, is_geographic=True, has_z=False, has_tags=False, is_any_year=False):
        """Returns rows in random order. Some have equal times, and some are equal altogether."""
        ids = ids or self.ids()
        years = (YEAR_0001_US, YEAR_10000_US) if is_any_year else (YEAR_2001_US, YEAR_2030_US)
        times = [self.time_us(step_us, *years) for _ in range(8)]
        if is_any_year:
            times += [YEAR_0001_US, YEAR_10000_US - 1, 0, -1]
        rows = []
        for _ in range(self.pick([1, 2, 40])):
            x, y = ((self.degrees(180.0), self.degrees(90.0)) if is_geographic else
                    (self.metres(), self.metres()))
            if x == 0 and y == 0:
                y = 1.5
            rows.append(Row(self.pick(ids), self.pick(times), x, y,
                            self.pick([self.source.uniform(-400, 9e3), 0.0, 1e-7]) if has_z else None,
                            self.pick([None, 0, 1, 5, 2**32 - 1]) if has_tags else None))
            if self.source.random() < 0.1:
                rows.append(rows[-1])
        return rows

    def number(self, value):
        """Returns a spelling that reads back to the same float64, also as JSON."""
        return self.pick([repr, repr, lambda v: f"{v:.17e}", lambda v: f"{decimal.Decimal(v):f}"])(value)

    def table(self, header, records, separator=",", quotes_all=False):
        """Returns a table as text. Python's csv would leave a carriage return unquoted if lines end in a line
        feed."""
        def field(text):
            must = quotes_all or text.startswith('"') or any(mark in text for mark in (separator, "\n", "\r"))
            return '"' + text.replace('"', '""') + '"' if must else text
        line_end = self.pick(["\n", "\r\n"])
        return "".join(separator.join(map(field, record)) + line_end
                       for record in ([header] if header else []) + records)

    def word(self):
        return self.pick(["", "x", "a,b", 'a "quote"', "two\nlines", "M\u00fcller"])


def date_time(time_us, pattern, offset_hours=0):
    return (EPOCH + datetime.timedelta(microseconds=time_us, hours=offset_hours)).strftime(pattern)


def iso(time_us):
    return (EPOCH + datetime.timedelta(microseconds=time_us)).isoformat() + "Z"


def with_point(value):
    text = f"{decimal.Decimal(value):f}"
    return text if "." in text else text + ".0"


def json_id(maker, text):
    is_number = text.isdigit() and str(int(text)) == text and int(text) < 2**64
    return int(text) if is_number and maker.pick([True, False]) else text


def json_with_spellings(maker, value):
    """Returns the value as JSON, with random spellings of its float numbers."""
    if isinstance(value, float):
        return maker.number(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{json_with_spellings(maker, part)}"
                              for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(json_with_spellings(maker, part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=maker.pick([True, False]))


# Layouts of ships, buses and animals, in tables.

def ais(maker):
    rows = maker.rows(step_us=SECOND_US)
    header = ["MMSI", "BaseDateTime", "LAT", "LON", "SOG", "COG", "Heading", "VesselName", "IMO", "CallSign",
              "VesselType", "Status", "Length", "Width", "Draft", "Cargo", "TransceiverClass"]
    return Trace("ais", {"AIS_2022_01_03.csv": maker.table(header, [
        [row.id, date_time(row.time_us, "%Y-%m-%dT%H:%M:%S"), maker.number(row.y), maker.number(row.x), "0",
         "360", "511", maker.word(), "", "", "37", "", "14", "", "", "", "B"] for row in rows])}, rows)


def ais_2025(maker):
    rows = maker.rows(step_us=SECOND_US)
    header = ["mmsi", "base_date_time", "longitude", "latitude", "sog", "cog", "heading", "vessel_name"]
    return Trace("ais-2025", {"ais-2025-01-01.csv": maker.table(header, [
        [row.id, date_time(row.time_us, "%Y-%m-%d %H:%M:%S"), maker.number(row.x), maker.number(row.y), "1.5",
         "", "511", maker.word()] for row in rows])}, rows)


def ais_danish(maker):
    rows = maker.rows(step_us=SECOND_US)
    header = ["# Timestamp", "Type of mobile", "MMSI", "Latitude", "Longitude", "Navigational status", "Name"]
    return Trace("ais-danish", {"aisdk-2024-03-01.csv": maker.table(header, [
        [date_time(row.time_us, "%d/%m/%Y %H:%M:%S"), "Class A", row.id, maker.number(row.y),
         maker.number(row.x), "Unknown value", maker.word()] for row in rows])}, rows)


def gtfs(maker):
    rows = maker.rows()
    header = ["vehicle_id", "timestamp", "speed", "route_id", "trip_id", "latitude", "longitude",
              "trip_headsign"]
    return Trace("gtfs", {"buses.csv": maker.table(header, [
        [row.id, date_time(row.time_us, "%Y-%m-%dT%H:%M:%S.%f-05:00", -5), "8.5", "1", "1535212",
         maker.number(row.y), maker.number(row.x), maker.word()] for row in rows])}, rows)


def movebank(maker):
    rows = maker.rows(step_us=1000)
    header = ["event-id", "visible", "timestamp", "location-long", "location-lat", "sensor-type",
              "tag-local-identifier", "individual-local-identifier", "study-name"]
    columns = "id=individual-local-identifier,time=timestamp,lon=location-long,lat=location-lat"
    text = maker.table(header, [
        ["1", "true", date_time(row.time_us, "%Y-%m-%d %H:%M:%S.%f")[:-3], maker.number(row.x),
         maker.number(row.y), "gps", "3", row.id, maker.word()] for row in rows])
    return Trace("csv", {"storks.csv": text}, rows, ("--columns", columns), is_recognised=False)


def porto(maker):
    records, rows = [], []
    for trip in range(maker.pick([1, 5, 12])):
        taxi, start = maker.pick(TEXT_IDS + NUMBER_IDS), maker.time_us(SECOND_US)
        points = [[maker.degrees(180.0), maker.degrees(89.0) or 1.0] for _ in range(maker.pick([1, 2, 9]))]
        rows += [Row(taxi, start + 15 * SECOND_US * step, *point) for step, point in enumerate(points)]
        records.append([f"{trip}", "C", "", "", taxi, str(start // SECOND_US), "A", "False",
                        json_with_spellings(maker, points)])
    header = ["TRIP_ID", "CALL_TYPE", "ORIGIN_CALL", "ORIGIN_STAND", "TAXI_ID", "TIMESTAMP", "DAY_TYPE",
              "MISSING_DATA", "POLYLINE"]
    return Trace("porto", {"train.csv": maker.table(header, records, quotes_all=True)}, rows)


# Layouts with one file for each object.

def tdrive(maker):
    files, rows = {}, []
    for number in maker.ids(NUMBER_IDS):
        taxi = maker.rows([number], step_us=SECOND_US)
        taxi.append(Row(number, maker.time_us(SECOND_US), 116.25, 39.5))
        files[f"{number}.txt"] = maker.table(None, [
            [row.id, date_time(row.time_us, "%Y-%m-%d %H:%M:%S", 8), maker.number(row.x), maker.number(row.y)]
            for row in taxi])
        rows += taxi
    return Trace("tdrive", files, rows, ("--utc-offset", "+08:00"))


def cabspotting(maker):
    files, rows = {}, []
    for name in maker.ids(FILE_IDS):
        cab = [row._replace(tags=maker.pick([0, 1])) for row in maker.rows([name], step_us=SECOND_US)]
        cab.sort(key=lambda row: -row.time_us)
        files[f"new_{name}.txt"] = "".join(
            f"{with_point(row.y)} {with_point(row.x)} {row.tags} {row.time_us // SECOND_US}\n" for row in cab)
        rows += cab
    return Trace("cabspotting", files, rows)


def geolife(maker):
    files, rows = {}, []
    head = ("Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
            "0,2,255,My Track,0,0,2,8421376\r\n0\r\n")
    has_z = maker.pick([True, False])
    for name in maker.ids(FILE_IDS):
        for file in range(maker.pick([1, 2])):
            walk, text = [], head
            for row in maker.rows([name], step_us=SECOND_US):
                feet = maker.pick([492.0, -12.0, maker.source.uniform(0, 3e4)])
                walk.append(row._replace(z=feet * FOOT_M if has_z else None))
                days = row.time_us / SECOND_US / 86400 + 25569
                text += (f"{maker.number(row.y)},{maker.number(row.x)},0,{feet!r},{days:.10f},"
                         f"{date_time(row.time_us, '%Y-%m-%d,%H:%M:%S')}\r\n")
            files[f"{name}/Trajectory/{file}.plt"] = text
            rows += walk
    return Trace("geolife", files, rows, ("--altitude",) if has_z else ())


# Layouts in JSON.

def opensky(maker):
    has_z = maker.pick([True, False])
    rows, records = [], []
    for row in maker.rows(step_us=1000):
        feet = maker.pick([34975.0, -75.0, maker.source.uniform(0, 4e4)])
        rows.append(row._replace(z=feet * FOOT_M if has_z else None))
        records.append({"timestamp": row.time_us // 1000, "altitude": feet, "callsign": maker.word(),
                        "groundspeed": 443.5, "icao24": row.id, "latitude": row.y, "longitude": row.x,
                        "track": 324.25, "vertical_rate": None})
    return Trace("opensky", {"flights.json": json_with_spellings(maker, records)}, rows,
                 ("--altitude",) if has_z else ())


def json_records(maker, rows):
    names = maker.pick([("id", "time", "lat", "lon"), ("mmsi", "ts", "latitude", "lng"),
                        ("device_id", "timestamp", "lat", "longitude")])
    is_number = maker.pick([True, False])
    records = []
    for row in rows:
        time = decimal.Decimal(row.time_us) / SECOND_US if is_number else iso(row.time_us)
        values = (json_id(maker, row.id), time, row.y, row.x, row.tags, {"true": [1, {}]})
        records.append(json_with_spellings(maker, dict(zip((*names, "tags", "course"), values))))
    return records


def json_lines(maker):
    rows = maker.rows(has_tags=True)
    text = "\n".join(json_records(maker, rows)) + maker.pick(["", "\n"])
    return Trace("json", {"fleet.ndjson": text}, rows)


def json_array(maker):
    rows = maker.rows(has_tags=True)
    return Trace("json", {"fleet.json": "[\n" + ",\n".join(json_records(maker, rows)) + "]"}, rows)


def geojson(maker):
    has_z = maker.pick([True, False])
    rows = maker.rows(has_z=has_z, has_tags=True, is_any_year=True)
    features = []
    id_is_of_feature = maker.pick([True, False])
    for row in rows:
        feature = {"type": "Feature",
                   "geometry": {"type": "Point", "coordinates": [row.x, row.y] + [row.z] * has_z},
                   "properties": {"time": iso(row.time_us), "note": maker.word()}}
        (feature if id_is_of_feature else feature["properties"])["id"] = json_id(maker, row.id)
        if row.tags is not None:
            feature["properties"]["tags"] = row.tags
        features.append(feature)
    text = json_with_spellings(maker, {"type": "FeatureCollection", "name": "fleet", "features": features})
    return Trace("geojson", {"fleet.geojson": text}, rows, ("--altitude",) if has_z else ())


# Layouts in XML.

def attribute(text):
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def sumo_text(maker, rows, persons=()):
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- <configuration/> -->\n<fcd-export>\n'
    time_us = None
    for index, row in enumerate(rows):
        if row.time_us != time_us:
            text += ("    </timestep>\n" if index else "") + f'    <timestep time="{seconds(row.time_us)}">\n'
            time_us = row.time_us
        z = f' z="{maker.number(row.z)}"' if row.z is not None else ""
        text += (f'        <{"person" if index in persons else "vehicle"} id={attribute(row.id)} '
                 f'x="{maker.number(row.x)}" y="{maker.number(row.y)}"{z} angle="90.00" type="car" '
                 'speed="0.00" pos="5.10" lane="E0_0" slope="0.00"/>\n')
    return text + "    </timestep>\n</fcd-export>\n"


def seconds(time_us):
    """Returns the time with two decimals, as SUMO writes it, or with six if two are not exact."""
    value = decimal.Decimal(time_us) / SECOND_US
    return f"{value:.2f}" if value == round(value, 2) else f"{value:.6f}"


def sumo(maker):
    has_z = maker.pick([True, False])
    rows = maker.rows(is_geographic=False, has_z=has_z, is_any_year=True)
    rows.sort(key=lambda row: row.time_us)
    return Trace("sumo", {"fcd.xml": sumo_text(maker, rows)}, rows, ("--space", "planar3") if has_z else (),
                 is_geographic=False)


def sumo_persons(maker):
    rows = maker.rows(step_us=10_000, is_geographic=False)
    rows.sort(key=lambda row: row.time_us)
    persons = [index for index in range(len(rows)) if maker.pick([True, False])]
    text = sumo_text(maker, rows, persons)
    if maker.pick([True, False]) or len(persons) == len(rows):
        return Trace("sumo", {"fcd.xml": text}, rows, ("--persons",), is_geographic=False)
    return Trace("sumo", {"fcd.xml": text}, [row for index, row in enumerate(rows) if index not in persons],
                 is_geographic=False)


def sumo_degrees(maker):
    rows = maker.rows()
    rows.sort(key=lambda row: row.time_us)
    return Trace("sumo", {"fcd.xml": sumo_text(maker, rows)}, rows, ("--space", "wgs84"))


def gpx(maker):
    has_z = maker.pick([True, False])
    prefix = maker.pick(["", "", "g:"])
    space = ("xmlns:g" if prefix else "xmlns") + '="http://www.topografix.com/GPX/1/1"'
    files, rows = {}, []
    for file in range(maker.pick([1, 2])):
        text = f'<?xml version="1.0"?>\n<{prefix}gpx version="1.1" creator="a watch" {space}>\n'
        text += f"<{prefix}metadata><{prefix}name>walks</{prefix}name></{prefix}metadata>\n"
        for number, name in enumerate(maker.ids()):
            is_named = maker.pick([True, True, False])
            without_name = f"walk {file}" + (f"-{number + 1}" if number else "")
            track = maker.rows([name if is_named else without_name], has_z=has_z, is_any_year=True)
            text += f"<{prefix}trk>" + (
                f"<{prefix}name>" + escape(name, {"\r": "&#13;"}) + f"</{prefix}name>") * is_named
            text += f"<{prefix}trkseg>"
            for row in track:
                text += (f'<{prefix}trkpt lat="{maker.number(row.y)}" lon="{maker.number(row.x)}">' +
                         (f"<{prefix}ele>{maker.number(row.z)}</{prefix}ele>" if has_z else "") +
                         f"<{prefix}time>{iso(row.time_us)}</{prefix}time></{prefix}trkpt>\n")
                if maker.source.random() < 0.1:
                    text += f"</{prefix}trkseg><{prefix}trkseg>"
            text += f"</{prefix}trkseg></{prefix}trk>\n"
            rows += track
        files[f"walk {file}.gpx"] = text + f"</{prefix}gpx>\n"
    return Trace("gpx", files, rows, ("--altitude",) if has_z else ())


# Starling's own tables, and tables with columns of other names or without names.

def starling(maker, is_geographic):
    has_z, has_tags = maker.pick([True, False]), maker.pick([True, False])
    rows = maker.rows(is_geographic=is_geographic, has_z=has_z, has_tags=has_tags, is_any_year=True)
    header = ["id", "time_us"] + (["lon", "lat"] if is_geographic else ["x", "y"])
    header += [("alt" if is_geographic else "z")] * has_z + ["tags"] * has_tags
    records = []
    for row in rows:
        numbers = [row.x, row.y] + [row.z] * has_z
        tags = ["" if row.tags is None else str(row.tags)] * has_tags
        records.append([row.id, str(row.time_us)] + [maker.number(number) for number in numbers] + tags)
    name = "starling-lonlat" if is_geographic else "starling-xy"
    flags = ("--space", "planar3") if has_z and not is_geographic else ()
    return Trace(name, {"trace.csv": maker.table(header, records)}, rows, flags, is_geographic=is_geographic)


def starling_lonlat(maker):
    return starling(maker, True)


def starling_xy(maker):
    return starling(maker, False)


def common_names(maker):
    rows = maker.rows(has_tags=True)
    header = [maker.pick(["id", "Vehicle", "taxi_id", "TRACK"]), maker.pick(["Time", "datetime", "t"]),
              maker.pick(["LAT", "latitude"]), maker.pick(["lng", "long"]), "tags", "note"]
    separator = maker.pick([",", ";", "\t", "|"])
    records = [[row.id, iso(row.time_us), maker.number(row.y), maker.number(row.x),
                "" if row.tags is None else str(row.tags), "x"] for row in rows]
    return Trace("csv", {"table.csv": maker.table(header, records, separator)}, rows)


def numbered_columns(maker):
    rows = maker.rows(NUMBER_IDS)
    records = [["x", date_time(row.time_us, "%Y-%m-%d"), row.id, maker.number(row.y),
                date_time(row.time_us, "%H:%M:%S.%f"), maker.number(row.x)] for row in rows]
    return Trace("csv", {"table.csv": maker.table(None, records)}, rows,
                 ("--columns", "id=3,time=2+5,lat=4,lon=6"), is_recognised=False)


LAYOUTS = [ais, ais_2025, ais_danish, gtfs, movebank, porto, tdrive, cabspotting, geolife, opensky,
           json_lines, json_array, geojson, sumo, sumo_persons, sumo_degrees, gpx, starling_lonlat,
           starling_xy, common_names, numbered_columns]
