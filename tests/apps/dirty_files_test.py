# SPDX-License-Identifier: Apache-2.0
"""Writes tables of known rows in the spellings of spreadsheets, loggers and other programs, and has `starling
convert` read them: no row may be lost or changed without being counted. Python's csv, and pandas if it is
installed, read the same files. Run by ctest with the path of the program as the only argument.
STARLING_DIRTY_FILES is the number of files, and STARLING_DIRTY_SEED the first seed."""

import codecs
import csv
import datetime
import gzip
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import pandas
except ImportError:
    pandas = None

PROGRAM = sys.argv.pop()
FILES = int(os.environ.get("STARLING_DIRTY_FILES", "60"))
SEED = int(os.environ.get("STARLING_DIRTY_SEED", "1"))
EPOCH = datetime.datetime(1970, 1, 1)
IDS = ["7", "#101", "NA", "null", "bus-5", "M\u00fcller", "\u65e5\u672c", "x1e5", "0x5", "sep=", "-", "N/A"]
IDS_WITH_MARKS = ['5" pipe', "a,b", "a;b", "a b", "tab\there", "two\nlines", 'say "hi"', "a|b"]
MISSING = ["", "NaN", "nan", "NA", "null", "NULL", "None", "\\N", "-", "N/A"]
NAMES = {"id": ["id", "ID", "mmsi", "vehicle_id", "Device_ID"], "lat": ["lat", "LATITUDE"],
         "lon": ["lon", "lng", "Longitude"], "time": ["time", "timestamp", "DateTime", "ts"]}


class Table:
    """One random file, and the rows that it holds."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pick = self.random.choice
        self.separator = pick([",", ",", ";", "\t", "|", " "])
        self.is_blank = self.separator == " "
        self.line_ends = pick([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]])
        self.comma = self.separator != "," and pick([False, True])
        self.quotes_all = not self.is_blank and pick([False, False, True])
        self.time_style = pick(["iso", "iso_t", "utc", "offset", "s", "ms", "us", "ns", "exponent", "slash",
                                "basic", "day_first", "points", "am_pm", "two_columns"])
        if self.is_blank and self.time_style in ("utc", "offset", "am_pm", "two_columns"):
            self.time_style = "iso"
        self.has_tags = pick([False, True])
        self.extra = [] if self.is_blank else ["note"] * pick([0, 1])
        self.rows = []  # (id, time_us, lon, lat, tags or None)
        self.bad = 0
        self.write()

    def quoted(self, text):
        if self.is_blank and re.fullmatch(r"[0-9-]+ [0-9:]+", text):
            return text  # a date and a time of day, which loggers write as two fields
        must = any(mark in text for mark in (self.separator, "\n", "\r")) or text.startswith('"')
        if self.quotes_all or must:
            return '"' + text.replace('"', '""') + '"'
        return text

    def number(self, value, decimals):
        text = f"{value:.{decimals}f}"
        style = self.random.random()
        if style < 0.1:
            text = "+" + text if value >= 0 else text
        elif style < 0.2 and not self.comma:
            text = f"{value:.9e}"
        return text.replace(".", ",") if self.comma else text

    def time(self, time_us):
        at = EPOCH + datetime.timedelta(microseconds=time_us)
        style = self.time_style
        if style == "s":
            return str(time_us // 10**6)
        if style == "ms":
            return str(time_us // 10**3)
        if style == "us":
            return str(time_us)
        if style == "ns":
            return str(time_us * 1000)
        if style == "exponent":
            return f"{time_us // 10**3:.12e}"
        if style == "offset":
            return (at + datetime.timedelta(hours=2)).strftime("%Y-%m-%d %H:%M:%S +0200")
        return at.strftime({"iso": "%Y-%m-%d %H:%M:%S", "iso_t": "%Y-%m-%dT%H:%M:%SZ",
                            "utc": "%Y-%m-%d %H:%M:%S UTC", "slash": "%Y/%m/%d %H:%M:%S",
                            "basic": "%Y%m%dT%H%M%SZ", "day_first": "%d/%m/%Y %H:%M:%S",
                            "points": "%d.%m.%Y %H:%M:%S", "am_pm": "%Y-%m-%d %I:%M:%S %p",
                            "two_columns": "%Y-%m-%d|%H:%M:%S"}[style])

    def write(self):
        pick = self.random.choice
        names = {part: pick(known) for part, known in NAMES.items()}
        columns = ["id", "time", "lat", "lon"] + ["tags"] * self.has_tags + self.extra
        self.random.shuffle(columns)
        header = []
        for column in columns:
            header += (["date", "time"] if column == "time" and self.time_style == "two_columns"
                       else [names.get(column, column)])
        text = ""
        if not self.is_blank and self.random.random() < 0.1:
            text += f"sep={self.separator}" + pick(self.line_ends)
        elif self.random.random() < 0.2:
            text += '# made "by" hand' + pick(self.line_ends)
        text += self.separator.join(header) + pick(self.line_ends)
        self.header = header
        self.expected_fields = []
        for row in range(pick([1, 2, 5, 30])):
            text += self.row(columns, row) + pick(self.line_ends)
            if self.random.random() < 0.05:
                text += pick(self.line_ends)
        if pick([False, True]):
            text = text.rstrip("\r\n")
        self.text = text
        self.encoding = coded = pick(["utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
        marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
        self.bytes = marks.get(coded, b"") + text.encode(coded)
        self.is_compressed = pick([False, False, True])
        if self.is_compressed:
            self.bytes = gzip.compress(self.bytes)

    def row(self, columns, index):
        chance = self.random.random
        # The first row is unambiguous: a day above 12 is no month, and 5 decimals are no group of thousands.
        day = 20 if index == 0 else self.random.randrange(1, 29)
        time_us = int((datetime.datetime(2022, self.random.randrange(1, 13), day, self.random.randrange(24),
                                         self.random.randrange(60), self.random.randrange(60))
                       - EPOCH).total_seconds()) * 10**6
        decimals = 5 if index == 0 else self.random.choice([1, 3, 5, 7])
        lat = round(self.random.uniform(1, 89) * self.random.choice([1, -1]), decimals)
        lon = round(self.random.uniform(1, 179) * self.random.choice([1, -1]), decimals)
        ids = IDS if self.is_blank else IDS + IDS_WITH_MARKS
        name = self.random.choice(ids)
        tags = self.random.choice([None, 0, 5, 2**32 - 1]) if self.has_tags else None
        values = {"id": name, "time": self.time(time_us), "lat": self.number(lat, decimals),
                  "lon": self.number(lon, decimals),
                  "note": self.random.choice(["", "x", 'a "quote"', f"with {self.separator} in it"])}
        missing = [word for word in MISSING if word or not self.is_blank]
        values["tags"] = (self.random.choice(missing) if tags is None else
                          self.random.choice([str(tags), f"{tags}.0" if not self.comma else str(tags),
                                              hex(tags)]))
        is_good = True
        if index > 0 and chance() < 0.15:
            is_good = False
            values[self.random.choice(["lat", "lon", "time"])] = self.random.choice(
                missing + ["abc", "12x", "1,2,3"])
            if self.time_style == "two_columns" and "|" not in values["time"]:
                values["time"] += "|" + values["time"]
        fields = []
        for column in columns:
            parts = values[column].split("|") if (
                column == "time" and self.time_style == "two_columns") else [values[column]]
            fields += parts
        beyond = index > 0 and is_good and not self.is_blank and chance() < 0.1
        if beyond:
            is_good = False
        line = self.separator.join(self.quoted(field) for field in fields + ["more"] * beyond)
        if is_good:
            self.rows.append((name, time_us, lon, lat, tags))
        else:
            self.bad += 1
        self.expected_fields.append(fields + ["more"] * beyond)
        return line


class DirtyFiles(unittest.TestCase):
    def test_no_row_is_lost_or_changed_in_silence(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(SEED, SEED + FILES):
                with self.subTest(seed=seed):
                    self.check(Table(seed), Path(folder) / "table")

    @unittest.skipIf(pandas is None, "pandas cannot be imported; the package python3-pandas has it")
    def test_pandas_reads_the_fields_that_were_meant(self):
        for seed in range(SEED, SEED + FILES):
            with self.subTest(seed=seed):
                self.check_with_pandas(Table(seed))

    def check(self, table, path):
        if not table.is_blank:
            self.check_with_csv(table)
        path.write_bytes(table.bytes)
        done = subprocess.run([PROGRAM, "convert", path, "--to", "csv", "--out", "-"],
                              capture_output=True, timeout=60)
        said = done.stderr.decode()
        if not table.rows:
            self.assertEqual(done.returncode, 1, said)
            return
        self.assertEqual(done.returncode, 0, table.text[:1000] + said)
        rows = [(row["id"], int(row["time_us"]), float(row["lon"]), float(row["lat"]),
                 int(row["tags"]) if row.get("tags") else None)
                for row in csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))]
        self.assertEqual(rows, table.rows, table.text[:2000] + said)
        self.assertEqual(int(re.search(r"skipped (\d+)", said)[1]), table.bad, table.text[:2000] + said)
        if table.bad:
            self.assertRegex(said, r"convert: the first row .*table:\d+:\d+: ")

    def check_with_csv(self, table):
        """Checks the generated file itself: Python's csv must read the intended fields."""
        lines = [line for line in csv.reader(io.StringIO(table.text, newline=""), delimiter=table.separator)
                 if line]
        while lines[0][0].startswith(("sep=", "#")):
            del lines[0]
        self.assertEqual(lines, [table.header] + table.expected_fields)

    def check_with_pandas(self, table):
        """Skips files that pandas misreads. It splits at each single blank, and loses an empty first field
        after a carriage return."""
        if table.is_blank or "\r" + table.separator in table.text:
            return
        skipped = sum(line.startswith(("sep=", "#")) for line in table.text.splitlines()[:1])
        frame = pandas.read_csv(
            io.BytesIO(table.bytes), dtype=str, keep_default_na=False, sep=table.separator, quotechar='"',
            encoding=table.encoding, compression="gzip" if table.is_compressed else None, header=None,
            names=range(len(table.header) + 1), skiprows=skipped, index_col=False)
        lines = [[*table.header, ""]] + [(fields + [""])[:len(table.header) + 1]
                                         for fields in table.expected_fields]
        self.assertEqual(frame.fillna("").values.tolist(), lines)


unittest.main(argv=sys.argv[:1])
