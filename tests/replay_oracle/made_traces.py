# SPDX-License-Identifier: Apache-2.0
"""Makes traces for the replay oracle, in the layouts for which there is no recording, with the quirks
that their documentation and their users describe. Each function writes one trace into a folder and
returns its path: a file, or a folder of files."""

import csv
import random
from datetime import datetime, timedelta, timezone

START_S = 1_700_000_000
OBJECTS = 40
FIXES = 25
SPACING_S = 20


def walks(seed):
    """Yields (object number, seconds, longitude, latitude), by object and time."""
    source = random.Random(seed)
    for number in range(OBJECTS):
        longitude, latitude = source.uniform(9.9, 10.1), source.uniform(54.9, 55.1)
        for fix in range(FIXES):
            longitude += source.uniform(-1e-3, 1e-3)
            latitude += source.uniform(-1e-3, 1e-3)
            yield (number, START_S + fix * SPACING_S + source.randrange(SPACING_S),
                   f"{longitude:.6f}", f"{latitude:.6f}")


def shuffled(seed):
    rows = list(walks(seed))
    random.Random(seed).shuffle(rows)
    return rows


def moment(seconds, style):
    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).strftime(style)


def make_ais_2025(folder):
    """The file has a byte order mark, quoted names, repeated rows, and invalid positions."""
    path = folder / "ais-2025-01-01.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["mmsi", "base_date_time", "longitude", "latitude", "sog", "cog", "heading",
                        "vessel_name", "imo", "call_sign", "vessel_type"])
        for row, (number, seconds, longitude, latitude) in enumerate(shuffled(1)):
            time = moment(seconds, "%Y-%m-%d %H:%M:%S")
            place = [longitude, latitude]
            if row % 50 == 7:
                place = ["181", "91"]
            if row % 50 == 8:
                place = ["0", "0"]
            if row % 50 == 9:
                place = [longitude, "-90.5"]
            line = [367000000 + number, time, *place, 102.3, 360, 511, f'THE "{number}", AFLOAT']
            table.writerow(line)
            if row % 20 == 0:
                table.writerow(line)
    return path


def make_ais_danish(folder):
    """The header is a comment, dates begin with the day, and base stations have no position."""
    path = folder / "aisdk-2023-11-14.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status,ROT\r\n")
        for row, (number, seconds, longitude, latitude) in enumerate(shuffled(2)):
            time = moment(seconds, "%d/%m/%Y %H:%M:%S")
            if row % 30 == 3:
                file.write(f"{time},Base Station,2190045,91.000000,{longitude},Unknown value,\r\n")
            line = f"{time},Class A,{219000000 + number},{latitude},{longitude},Under way,0.0\r\n"
            file.write(line * (3 if row % 25 == 0 else 1))
            if row % 40 == 5:
                file.write(f"{time},Class A,{219000000 + number}\r\n")
    return path


def make_tdrive(folder):
    """One file per taxi, without a header; one file is empty. The longitudes are those of Beijing. They
    distinguish this layout from one whose third column is the latitude."""
    path = folder / "taxi_log"
    path.mkdir()
    for number, seconds, longitude, latitude in walks(3):
        with open(path / f"{number + 1}.txt", "a", encoding="ascii") as file:
            time = moment(seconds, "%Y-%m-%d %H:%M:%S")
            file.write(f"{number + 1},{time},{float(longitude) + 106:.6f},{latitude}\n")
            if seconds % 9 == 0:
                file.write(f"{number + 1},{time},0.00000,0.00000\n")
    (path / "9999.txt").write_bytes(b"")
    return path


def make_cabspotting(folder):
    """One file per cab, newest row first; the file's name contains the cab's name."""
    path = folder / "cabs"
    path.mkdir()
    lines = {}
    for number, seconds, longitude, latitude in walks(4):
        lines.setdefault(number, []).append(f"{latitude} {longitude} {seconds % 2} {seconds}")
    for number, rows in lines.items():
        name = "".join(chr(ord("a") + letter % 26) for letter in (number * 7, number + 3, 5))
        text = "\n".join(reversed(rows)) + ("\n" if number % 2 else "")
        (path / f"new_{name}{number}.txt").write_text(text, encoding="ascii")
    return path


def make_porto(folder):
    """All fields are quoted; some trips have no positions, and some are marked as incomplete."""
    path = folder / "train.csv"
    source = random.Random(5)
    with open(path, "w", encoding="ascii", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        table.writerow(["TRIP_ID", "CALL_TYPE", "ORIGIN_CALL", "ORIGIN_STAND", "TAXI_ID",
                        "TIMESTAMP", "DAY_TYPE", "MISSING_DATA", "POLYLINE"])
        for trip in range(120):
            longitude, latitude = source.uniform(-8.7, -8.5), source.uniform(41.1, 41.3)
            points = []
            for _ in range(source.choice((0, 1, 2, 17, 40))):
                longitude += source.uniform(-1e-3, 1e-3)
                latitude += source.uniform(-1e-3, 1e-3)
                points.append(f"[{longitude:.6f},{latitude:.6f}]")
            start_s = START_S + source.randrange(400)
            table.writerow([f"T{trip}", "C", "", "", 20000000 + trip % 30, start_s, "A",
                            "True" if trip % 20 == 11 else "False", f"[{','.join(points)}]"])
    return path


MAKERS = {"ais-2025": make_ais_2025, "ais-danish": make_ais_danish, "tdrive": make_tdrive,
          "cabspotting": make_cabspotting, "porto": make_porto}
