"""Readers of the recorded traces, for the replay oracle alone: no code and no habits shared with
the product's readers. Each yields (id text, time in microseconds, x or longitude, y or latitude)
in the file's order."""

import csv
import gzip
import json
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timedelta, timezone
from decimal import Decimal

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def iso_time_us(text):
    """ISO 8601 with or without an offset; without one it is UTC."""
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


READERS = {"sumo": read_sumo, "ais": read_ais, "bus": read_bus, "opensky": read_opensky}
GEOGRAPHIC = {"ais", "bus", "opensky"}
