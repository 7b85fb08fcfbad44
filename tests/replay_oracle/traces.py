# SPDX-License-Identifier: Apache-2.0
"""Readers of the recorded and the made traces, for the replay oracle only. They share no code with the
product's readers. Each reader yields (id text, time in microseconds, x or longitude, y or latitude) in the
file's order."""

import csv
import gzip
import json
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timedelta, timezone
from decimal import Decimal

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def iso_time_us(text):
    """Reads an ISO 8601 time; without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - EPOCH) // timedelta(microseconds=1)


def read_sumo(path, persons=False):
    tags = ("vehicle", "person") if persons else ("vehicle",)
    with gzip.open(path, "rb") as file:
        time_us = None
        for event, element in ElementTree.iterparse(file, events=("start", "end")):
            if event == "start" and element.tag == "timestep":
                time_us = int(Decimal(element.get("time")) * 1_000_000)
            elif event == "end" and element.tag in tags:
                yield element.get("id"), time_us, element.get("x"), element.get("y")
            elif event == "end" and element.tag == "timestep":
                element.clear()


def read_csv(path, columns):
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            yield tuple(row.get(column) for column in columns)


def read_ais(path):
    for name, time, longitude, latitude in read_csv(path, ("MMSI", "BaseDateTime", "LON", "LAT")):
        yield name, iso_time_us(time), longitude, latitude


def read_bus(path):
    columns = ("vehicle_id", "timestamp", "longitude", "latitude")
    for name, time, longitude, latitude in read_csv(path, columns):
        yield name, iso_time_us(time), longitude, latitude


def read_opensky(path):
    with gzip.open(path, "rt") as file:
        for record in json.load(file):
            yield (record["icao24"], record["timestamp"] * 1000, record["longitude"],
                   record["latitude"])


def read_ais_2025(path):
    """Longitude 181 or latitude 91 means that there is no position."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            position = row["longitude"], row["latitude"]
            yield (row["mmsi"], iso_time_us(row["base_date_time"]),
                   *((None, None) if "181" in position or "91" in position else position))


def read_ais_danish(path):
    with open(path, encoding="utf-8", newline="") as file:
        header = file.readline().lstrip("# ").strip().split(",")
        for line in file:
            row = dict(zip(header, line.strip().split(",")))
            moment = datetime.strptime(row["Timestamp"], "%d/%m/%Y %H:%M:%S")
            latitude = row.get("Latitude")
            yield (row["MMSI"], iso_time_us(moment.isoformat()), row.get("Longitude"),
                   None if latitude is None or float(latitude) == 91 else latitude)


def read_tdrive(path):
    for file in sorted(path.iterdir(), key=str):
        for line in file.read_text().splitlines():
            name, time, longitude, latitude = line.split(",")
            yield name, iso_time_us(time), longitude, latitude


def read_cabspotting(path):
    for file in sorted(path.iterdir(), key=str):
        for line in file.read_text().splitlines():
            latitude, longitude, _, seconds = line.split(" ")
            yield (file.name.removeprefix("new_").removesuffix(".txt"), int(seconds) * 1_000_000,
                   longitude, latitude)


def read_porto(path):
    """Skips trips with missing positions, because the times of their positions are unknown."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["MISSING_DATA"] == "True":
                continue
            for index, (longitude, latitude) in enumerate(json.loads(row["POLYLINE"])):
                time_us = (int(row["TIMESTAMP"]) + 15 * index) * 1_000_000
                yield row["TAXI_ID"], time_us, longitude, latitude


READERS = {"sumo": read_sumo, "ais": read_ais, "bus": read_bus, "opensky": read_opensky,
           "ais-2025": read_ais_2025, "ais-danish": read_ais_danish, "tdrive": read_tdrive,
           "cabspotting": read_cabspotting, "porto": read_porto}
GEOGRAPHIC = set(READERS) - {"sumo"}
