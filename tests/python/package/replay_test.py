#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that starling.Engine gives the bytes that `starling replay` writes, and the bytes that a subscriber
of a server gets."""

import datetime
import gzip
import os
import subprocess
import unittest
import warnings
import xml.etree.ElementTree

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
from package_case import PATIENCE_S, ROOT, ServerCase  # noqa: E402
import starling  # noqa: E402

SECOND = 1_000_000
HEADER = "tick,time_us,query_id,rank,object_id,distance_m\n"


class Writer:
    """Holds the lists of a stream of every object, and writes all of them at each tick."""

    def __init__(self, k, space, object_ttl_us):
        self.engine = starling.Engine(space, threads=2, object_ttl=object_ttl_us)
        self.engine.put_stream("all", "distance")
        self.engine.put_queries("all", 1, k, every_object=True)
        self.held = {}
        self.lines = [HEADER]

    def tick(self, tau_us):
        tick = self.engine.tick(tau_us)
        for found in tick.streams["all"]:
            if found.is_removed:
                del self.held[found.subject]
            else:
                self.held[found.subject] = (found.ids.tolist(), found.distances.tolist())
        for subject in sorted(self.held):
            if not self.held[subject][0]:
                self.lines.append(f"{tick.tick},{tau_us},{subject},0,,\n")
            for rank, (other, distance) in enumerate(zip(*self.held[subject]), start=1):
                self.lines.append(
                    f"{tick.tick},{tau_us},{subject},{rank},{other},{distance:.3f}\n")


@package_case.needs("pandas")
class Frames(ServerCase):
    def test_a_replay_is_a_frame(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time,x,y\na,0,0,0\nb,0,3,4\nb,2,6,8\n007,2,0,1\n")
        frame = starling.replay(trace, k=1, tick=datetime.timedelta(seconds=2), every_tick=True)
        self.assertEqual(frame.columns.tolist(),
                         ["tick", "time", "query_id", "rank", "object_id", "distance_m"])
        self.assertEqual(frame["query_id"].tolist(), ["a", "b", "007", "a", "b"])
        self.assertEqual(frame["distance_m"].tolist(), [5.0, 5.0, 1.0, 1.0, 9.22])
        self.assertEqual(frame["time"].tolist()[-1], numpy.datetime64("1970-01-01T00:00:02"))

    def test_with_is_a_word_of_python_so_an_underscore_may_follow(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time,x,y\na,0,0,0\nb,0,3,4\n")
        frame = starling.replay(trace, k=1, with_=["time", "position"])
        self.assertEqual(frame.columns.tolist(), [
            "tick", "time", "query_id", "rank", "object_id", "distance_m", "x", "y"])
        self.assertEqual(frame["x"].tolist(), [3.0, 0.0])
        self.assertTrue(frame.equals(starling.replay(trace, k=1, **{"with": ["time", "position"]})))
        self.assertEqual(frame["time"].dtype.kind, "M")

    def test_the_distances_of_a_frame_are_the_float64_of_the_programs_text(self):
        random = numpy.random.default_rng(1)
        places = random.uniform(-1, 1, size=(300, 2)) * 10 ** random.uniform(0, 7, size=(300, 1))
        trace = self.folder / "trace.csv"
        trace.write_text("id,time,x,y\n" + "".join(
            f"{number},0,{x!r},{y!r}\n" for number, (x, y) in enumerate(places.tolist())))
        engine = starling.Engine("planar2")
        engine.put_stream("all", "distance")
        engine.put_queries("all", 1, 10, every_object=True)
        engine.update(numpy.arange(300), places, 0)
        lists = {found.subject: found.distances.tolist() for found in engine.tick(0).streams["all"]}
        exact = [distance for subject in range(300) for distance in lists[subject]]
        self.assertEqual(starling.replay(trace, k=10, exact=True)["distance_m"].tolist(), exact)
        self.assertEqual(starling.replay(trace, k=10)["distance_m"].tolist(),
                         [float(f"{distance:.3f}") for distance in exact])

    def test_an_empty_list_is_a_row_of_rank_0_and_a_removed_one_a_row_without_a_rank(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time,x,y\nNA,1,0,0\nnull,1,3,4\nnull,2,30,40\nnull,5,30,40\n")
        frame = starling.replay(trace, tick="1s", distance_max=10)
        self.assertEqual(frame["tick"].tolist(), [1, 1, 2, 2, 5, 5])
        self.assertEqual(frame["query_id"].tolist(), ["NA", "null"] * 3)
        self.assertEqual(frame["rank"].tolist(), [1, 1, 0, 0, 0, 0])
        self.assertEqual(frame["object_id"].tolist()[:2], ["null", "NA"])
        self.assertEqual(frame["object_id"].isna().tolist(), [False] * 2 + [True] * 4)
        self.assertEqual(frame["distance_m"].isna().tolist(), [False] * 2 + [True] * 4)
        frame = starling.replay(trace, tick="1s", changes=True, object_ttl="2500ms")
        self.assertEqual((frame["tick"].tolist(), frame["query_id"].tolist()),
                         ([1, 1, 4, 4], ["NA", "null"] * 2))
        self.assertEqual(frame["rank"].dtype, "Int64")
        self.assertEqual(frame["rank"].isna().tolist(), [False, False, True, False])
        self.assertEqual(frame["rank"].tolist()[3], 0)

    def test_what_the_program_warns_of_is_a_warning(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time,x,y\na,0,0,0\nb,0,3,4\nc,soon,1,1\n")
        queries = self.folder / "queries.csv"
        queries.write_text("query_id,k,follow\nq,1,missing\n")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frame = starling.replay(trace, queries=queries, tick="1s")
        self.assertEqual([(each.category, str(each.message), each.filename) for each in caught], [
            (UserWarning, f"rows were skipped: the first row unparsable: {trace}:4:3: the time 'soon' "
             "cannot be understood", __file__),
            (UserWarning, "query 'q' follows 'missing', but the trace has no row of this object",
             __file__)])
        self.assertEqual(frame["query_id"].tolist(), ["q"])
        trace.write_text("id,time,x,y\na,0,0,0\nb,0,3,4\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            starling.replay(trace, k=1, tick="1s")

    def test_what_the_program_refuses_is_an_error_with_its_words(self):
        with self.assertRaisesRegex(starling.InvalidArgument, "--k"):
            starling.replay("x.csv", k=0)
        with self.assertRaisesRegex(starling.StarlingError, "nowhere.csv"):
            starling.replay("/nowhere.csv")
        with self.assertRaises(FileNotFoundError):
            starling.replay("x.csv", program="/nowhere/starling")


class Replays(ServerCase):
    def replay(self, trace, *more):
        return subprocess.run(
            [os.environ["STARLING_PROGRAM"], "replay", trace, "--out", "-", "--every-tick", *more],
            capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout

    def test_a_recording_of_a_city_gives_the_same_bytes(self):
        with gzip.open(ROOT / "data/demo_fcd.xml.gz") as file:
            steps = [(float(step.get("time")), [(int(car.get("id")), float(car.get("x")), float(car.get("y")))
                                                for car in step.iter("vehicle")])
                     for _, step in xml.etree.ElementTree.iterparse(file) if step.tag == "timestep"]
        writer = Writer(5, "planar2", 3 * SECOND)
        for time, cars in steps:
            if time <= 90:
                ids, x, y = zip(*cars)
                time_us = round(time * SECOND)
                self.assertEqual(writer.engine.update(ids, numpy.column_stack([x, y]), time_us).late, 0)
                writer.tick(time_us)
        said = self.replay(ROOT / "data/demo_fcd.xml.gz", "-k", "5", "--object-ttl", "3s", "--until", "90")
        self.assertGreater(len(writer.lines), 1000)
        self.assertEqual("".join(writer.lines), said)

    def test_ships_at_the_date_line_give_the_same_bytes(self):
        random = numpy.random.default_rng(11)
        rows = [(int(ship), second, 60 + random.uniform(0, 0.05), random.uniform(179.95, 180.05))
                for second in range(20) for ship in random.integers(1, 60, size=25)]
        rows = [(ship, second, lat, lon - 360 if lon > 180 else lon) for ship, second, lat, lon in rows]
        trace = self.folder / "ships.csv"
        trace.write_text("id,time,lat,lon\n" + "".join(f"{ship},{second},{lat!r},{lon!r}\n"
                                                       for ship, second, lat, lon in rows))
        writer = Writer(4, "wgs84", 10 * SECOND)
        for second in range(20):
            ids, _, lat, lon = zip(*(row for row in rows if row[1] == second))
            writer.engine.update(ids, numpy.column_stack([lon, lat]), second * SECOND)
            writer.tick(second * SECOND)
        said = self.replay(trace, "-k", "4", "--object-ttl", "10s")
        self.assertGreater(len(writer.lines), 1000)
        self.assertEqual("".join(writer.lines), said)

    def test_a_server_reports_the_same_lists_as_an_engine(self):
        self.serve("--tick", "manual")
        random = numpy.random.default_rng(13)
        with starling.Client(self.endpoints["commands"], self.endpoints["results"]) as client, \
                starling.Engine() as engine:
            for one in (client, engine):
                one.put_stream("s", "order", with_position=True, with_tags=True)
                one.put_queries("s", [1, 2], [3, 8], at=[[0, 0], [5, 5]], distance_max=[4, numpy.inf])
                one.put_queries("s", 3, 2, every_object=True, tags_forbidden=1)
                one.put_queries("s", "ahead", 2, follow=7)
            tick = engine.tick(0)
            client.advance(0)
            with client.subscribe("s") as subscription:
                self.assertEqual(subscription.next(PATIENCE_S).kind, "snapshot")
                for tau in range(1, 30):
                    ids = random.integers(1, 30, size=20)
                    places = random.integers(-10, 10, size=(20, 2)) * 0.5
                    tags = random.integers(0, 4, size=20)
                    for one in (client, engine):
                        one.update(ids, places, tau, tags)
                        one.remove(random.permutation(30)[:0], tau)
                    client.advance(tau)
                    tick = engine.tick(tau)
                    event = subscription.next(PATIENCE_S)
                    self.assertEqual((event.kind, event.tick.tick, event.tick.tau_us),
                                     ("tick", tick.tick, tick.tau_us))
                    self.compare(event.lists, tick.streams["s"])

    def compare(self, one, other):
        def rows(lists):
            return sorted(
                (found.query, found.subject or 0, found.is_removed, found.ids.tobytes(),
                 found.distances.tobytes(), found.positions.tobytes(), found.tags.tobytes())
                for found in lists)
        self.assertEqual(rows(one), rows(other))


if __name__ == "__main__":
    unittest.main()
