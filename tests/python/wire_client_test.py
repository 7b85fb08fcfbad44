# SPDX-License-Identifier: Apache-2.0
"""Runs a real `starling serve`, talks to it as protocol/README.md says, and compares every answer with
a brute force. Arguments: the starling program, flatc, the schema, a directory for flatc's output; then
the arguments of unittest.
"""

import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import zmq

from wire_client import (NO_LABEL, Client, Refused, Subscription, lists_of, means_of, position,
                         queries, vector, vector_of, votes_of)

STARLING, FLATC, SCHEMA, GENERATED = sys.argv[1:5]
RESOLUTION_M = 0.01
EVERY_OBJECT, FOLLOW = 2, 1
DISTANCE = 2  # ReportOn
BY_NONE, BY_UNIFORM, BY_DISTANCE = 0, 1, 2  # RegressionWeights
START_US = 1_700_000_000_000_000
OCCUPIED = 1


class World:
    """Objects in whole centimetres, and the k nearest by sorting all of them."""

    def __init__(self, seed, count):
        self.random = random.Random(seed)
        self.objects = {}  # id: [x_cm, y_cm, tags]
        for number in range(count):
            self.objects[1000 + number] = [self.coordinate(), self.coordinate(), number % 4]

    def coordinate(self):
        return self.random.randrange(-50_000, 50_000)

    def move_some(self):
        moved = self.random.sample(sorted(self.objects), len(self.objects) // 3)
        for number in moved:
            self.objects[number][:2] = self.coordinate(), self.coordinate()
        return moved

    def nearest(self, x_cm, y_cm, k, without=None, forbidden=0, distance_max_m=math.inf):
        found = []
        for number, (x, y, tags) in self.objects.items():
            distance_sq = (x - x_cm) ** 2 + (y - y_cm) ** 2
            if number == without or tags & forbidden:
                continue
            if math.sqrt(distance_sq) * RESOLUTION_M <= distance_max_m:
                found.append((distance_sq, number))
        return [(number, math.sqrt(d) * RESOLUTION_M) for d, number in sorted(found)[:k]]

    def lists(self):
        """Returns the lists that the queries of WireClientTest.put_queries must have."""
        x, y, _ = self.objects[1001]
        result = {(1, None): self.nearest(0, 0, 5),
                  (2, None): self.nearest(x, y, 3, without=1001),
                  (3, None): self.nearest(10_000, 0, 8, forbidden=OCCUPIED, distance_max_m=200.0)}
        for number, (x, y, tags) in self.objects.items():
            if tags & OCCUPIED:
                result[(4, number)] = self.nearest(x, y, 2, without=number, forbidden=OCCUPIED)
        return result


class ServerTest(unittest.TestCase):
    SPACE = "planar2"

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.start_server()
        self.context = zmq.Context()
        self.addCleanup(self.context.term)
        self.tau_us = START_US
        self.client = self.connect()

    def start_server(self):
        path = os.path.join(self.directory.name, "endpoints.json")
        self.server = subprocess.Popen(
            [STARLING, "serve", "--space", self.SPACE, "--tick", "manual",
             "--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*",
             "--http", "127.0.0.1:0", "--endpoints-file", path,
             "--threads", "2", "--log-level", "warning"])
        self.addCleanup(self.stop_server)
        deadline = time.monotonic() + 20
        while not os.path.exists(path):
            try:
                self.fail(f"the server ended with {self.server.wait(timeout=0.02)}")
            except subprocess.TimeoutExpired:
                self.assertLess(time.monotonic(), deadline, "the server did not start")
        with open(path) as file:
            self.endpoints = json.load(file)

    def stop_server(self):
        if self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def connect(self, kind=zmq.DEALER):
        client = Client(self.context, self.endpoints["commands"], kind)
        self.addCleanup(client.close)
        return client

    def subscribe(self, stream):
        subscription = Subscription(self.context, self.endpoints["results"], self.client, stream)
        self.addCleanup(subscription.close)
        return subscription

    def put_stream(self, name="riders"):
        self.client.change("PutStream", name=name, on=DISTANCE)

    def advance(self):
        self.tau_us += 100_000
        return self.client.advance(self.tau_us)

    def error_code(self, name):
        from starling.wire.ErrorCode import ErrorCode
        return getattr(ErrorCode, name)

    def assert_refused(self, name, call):
        with self.assertRaises(Refused) as caught:
            call()
        self.assertEqual(caught.exception.code, self.error_code(name), str(caught.exception))
        return caught.exception

    def read_or_ask(self, subscription, tick):
        """Reads messages up to `tick`. If no message has come at all, the subscription has not reached
        the server yet. In this case a snapshot replaces the messages."""
        while subscription.tick < tick:
            if subscription.read(500):
                continue
            self.assertEqual(subscription.messages_read, 0, f"tick {tick} did not come")
            subscription.take_snapshot()


class WireClientTest(ServerTest):
    def put_queries(self):
        reply = self.client.change("PutQueries", stream="riders", queries=queries([
            dict(id=1, k=5, position=position(0, 0)),
            dict(id=2, k=3, anchor=FOLLOW, object=1001),
            dict(id=3, k=8, position=position(100, 0), tags_forbidden=OCCUPIED,
                 distance_max_m=200.0),
            dict(id=4, k=2, anchor=EVERY_OBJECT, tags_forbidden=OCCUPIED,
                 subject_tags_required=OCCUPIED)]))
        self.assertEqual(reply.Accepted(), 4)

    def update(self, world, numbers, time_us=None):
        xy = [coordinate / 100 for number in numbers for coordinate in world.objects[number][:2]]
        return self.client.change(
            "UpdateBatch", ids=vector("Uint64", numbers),
            times_us=vector("Int64", [time_us or self.tau_us] * len(numbers)),
            coordinates=vector("Float64", xy),
            tags=vector("Uint32", [world.objects[number][2] for number in numbers]))

    def test_a_subscriber_holds_the_brute_forces_answer_at_every_tick(self):
        world = World(seed=1, count=120)
        self.put_stream()
        self.put_stream("rider")
        self.put_queries()
        subscriptions = [self.subscribe("riders")]
        self.assertEqual(self.update(world, list(world.objects)).Accepted(), 120)
        for tick in range(1, 21):
            done = self.advance()
            self.assertEqual(done.Tick(), tick)
            self.assertEqual(done.ObjectCount(), 120)
            if tick == 1:  # The subscription may reach the server later than the first tick.
                subscriptions[0].take_snapshot()
            if tick == 10:
                subscriptions.append(self.subscribe("riders"))
                subscriptions[1].take_snapshot()
            for subscription in subscriptions:
                self.read_or_ask(subscription, tick)
                self.assertEqual(subscription.lists, world.lists(), f"tick {tick}")
            moved = world.move_some()
            self.assertEqual(self.update(world, moved).Accepted(), len(moved))
        for subscription in subscriptions:
            reply = self.client.call("ReportReceived", stream="riders", epoch=subscription.epoch,
                                     sequence=subscription.sequence, lost=subscription.lost)
            self.assertEqual(reply.Sequence(), subscription.sequence)
            reply = self.client.call("ReportReceived", stream="riders", epoch=subscription.epoch + 1)
            self.assertEqual(reply.Sequence(), 0)
        self.assertEqual(self.client.hello.Results().decode(), self.endpoints["results"])
        self.assertGreater(subscriptions[0].messages_read, 10)

    def test_one_shot_questions_are_answered_from_the_last_tick(self):
        world = World(seed=2, count=50)
        self.update(world, list(world.objects))
        self.advance()
        reply = self.client.call("GetNeighbors", questions=queries([
            dict(k=7, position=position(12.34, -56.78)),
            dict(k=4, anchor=FOLLOW, object=1001),
            dict(k=4, anchor=FOLLOW, object=5)]))
        x, y, _ = world.objects[1001]
        self.assertEqual([neighbors for _, _, neighbors in lists_of(reply.Lists())],
                         [world.nearest(1234, -5678, 7), world.nearest(x, y, 4, without=1001), []])
        self.assertEqual([reply.Unknown(i) for i in range(reply.UnknownLength())], [2])
        self.assertEqual(reply.Tick(), 1)

    def test_a_resend_is_answered_alike_and_applied_once(self):
        world = World(seed=3, count=3)
        client = self.client
        client.sequence += 1
        frame = client.encode("UpdateBatch", dict(
            ids=vector("Uint64", [1]), times_us=vector("Int64", [START_US]),
            coordinates_f32=vector("Float32", [1.0, 2.0])), client.sequence)
        replies = []
        for _ in range(3):
            client.socket.send(frame)
            replies.append(client.socket.recv())
        self.assertEqual(replies[0], replies[1])
        self.assertEqual(replies[0], replies[2])
        gap = self.assert_refused("sequence_gap", lambda: client.exchange(
            client.encode("AdvanceTick", dict(tau_us=START_US), client.sequence + 5)))
        self.assertEqual(gap.sequence_expected, client.sequence + 1)
        client.request_id += 1
        self.assertEqual(self.update(world, [1000]).Accepted(), 1)
        self.assertEqual(self.advance().ObjectCount(), 2)

    def test_event_time_rules_hold(self):
        world = World(seed=4, count=2)
        self.update(world, [1000, 1001])
        self.assertEqual(self.update(world, [1000], START_US - 1).Late(), 1)
        tags = dict(ids=vector("Uint64", [1000, 77]),
                    times_us=vector("Int64", [START_US, START_US]),
                    set=vector("Uint32", [OCCUPIED, OCCUPIED]), clear=vector("Uint32", [0, 0]))
        reply = self.client.change("UpdateTags", **tags)
        self.assertEqual((reply.Accepted(), reply.Rejected()), (1, 1))
        self.assertEqual(reply.FirstRejected(0).Index(), 1)
        gone = dict(ids=vector("Uint64", [1001]), times_us=vector("Int64", [START_US + 5]))
        self.assertEqual(self.client.change("RemoveObjects", **gone).Accepted(), 1)
        self.assertEqual(self.update(world, [1001], START_US + 4).Late(), 1)
        self.assertEqual(self.advance().ObjectCount(), 1)

    def test_names_must_hash_to_their_ids(self):
        reply = self.client.change(
            "PutNames", ids=vector("Uint64", [0x44BC2CF5AD770999, 7, 8]),
            texts=vector_of(lambda builder: [builder.CreateString(text)
                                             for text in ("abc", "007", "abc")]))
        self.assertEqual((reply.Accepted(), reply.Rejected()), (2, 1))
        self.assertEqual(self.client.names([7, 0x44BC2CF5AD770999, 8]),
                         {0x44BC2CF5AD770999: "abc"})

    def test_names_are_told_in_as_many_requests_as_it_takes(self):
        abc, most = 0x44BC2CF5AD770999, self.client.hello.NamesAskedMax()
        self.client.change("PutNames", ids=vector("Uint64", [abc]),
                           texts=vector_of(lambda builder: [builder.CreateString("abc")]))
        self.assertEqual(self.client.names(list(range(most)) + [abc]), {abc: "abc"})
        self.assert_refused("too_many_rows", lambda: self.client.call(
            "GetNames", object_ids=vector("Uint64", [abc] * (most + 1))))
        none = self.client.call("GetNames", object_ids=vector("Uint64", []))
        self.assertEqual((none.TextsLength(), none.NameCount()), (0, 1))
        self.assertEqual(none.Epoch(), self.client.hello.Epoch())

    def test_objects_are_read_before_any_tick(self):
        world = World(seed=8, count=1500)
        self.update(world, list(world.objects))
        abc = 0x44BC2CF5AD770999
        world.objects[abc] = [12_345, -678, 9]
        self.update(world, [abc])
        self.client.change("PutNames", ids=vector("Uint64", [abc]),
                           texts=vector_of(lambda builder: [builder.CreateString("abc")]))

        def row(number):
            x, y, tags = world.objects[number]
            return (number, self.tau_us, (x * RESOLUTION_M, y * RESOLUTION_M, 0.0), tags,
                    "abc" if number == abc else None)

        numbers = [abc, 5] + list(world.objects) + [6]
        found, missing = self.client.objects(numbers)
        self.assertEqual(found, [row(number) for number in numbers if number not in (5, 6)])
        self.assertEqual(missing, [5, 6])
        self.client.change("RemoveObjects", ids=vector("Uint64", [1000]),
                           times_us=vector("Int64", [self.tau_us]))
        del world.objects[1000]
        inside = [row(number) for number, (x, y, _) in world.objects.items()
                  if -20_000 <= x <= 12_345 and -678 <= y <= 50_000]
        for fields in ({}, dict(rows_max=7)):
            self.assertEqual(sorted(self.client.objects_in(-200, -6.78, 123.45, math.inf, **fields)),
                             sorted(inside))
        self.assert_refused("bad_value", lambda: self.client.objects_in(1, 0, 0, 1))
        self.assert_refused("too_many_rows", lambda: self.client.objects_in(
            0, 0, 1, 1, rows_max=self.client.hello.PageRowsMax() + 1))

    def test_streams_and_their_queries_are_listed(self):
        self.put_stream()
        self.put_stream("drivers")
        self.put_queries()
        subscription = self.subscribe("riders")
        self.advance()
        subscription.take_snapshot()
        self.advance()
        self.read_or_ask(subscription, 2)
        streams = self.client.streams(rows_max=1)
        self.assertEqual(sorted(streams), ["drivers", "riders"])
        riders = streams["riders"]
        self.assertEqual((riders.QueryCount(), riders.Sequence(), riders.On()), (4, 2, DISTANCE))
        self.assertEqual(streams["drivers"].QueryCount(), 0)
        listed = self.client.queries("riders", rows_max=3)
        self.assertEqual(sorted(listed), [1, 2, 3, 4])
        place = listed[3].Position()
        self.assertEqual((listed[3].K(), place.X(), place.Y(), listed[3].TagsForbidden(),
                          listed[3].DistanceMaxM()), (8, 100.0, 0.0, OCCUPIED, 200.0))
        self.assertEqual((listed[2].Anchor(), listed[2].Object()), (FOLLOW, 1001))
        self.assertEqual((listed[4].Anchor(), listed[4].SubjectTagsRequired()),
                         (EVERY_OBJECT, OCCUPIED))
        self.assert_refused("unknown_stream", lambda: self.client.queries("nobody"))

    def test_a_subscriber_sees_that_its_stream_is_removed_and_put_again(self):
        world = World(seed=9, count=40)
        self.update(world, list(world.objects))
        self.put_stream()
        self.put_queries()
        subscription = self.subscribe("riders")
        self.advance()
        subscription.take_snapshot()
        self.read_or_ask(subscription, 1)
        while subscription.messages_read == 0:  # until the subscription has reached the server
            self.read_or_ask(subscription, self.advance().Tick())
        self.client.remove_stream("riders")
        self.assert_refused("unknown_stream", lambda: self.client.remove_stream("riders"))
        self.read_or_ask(subscription, self.advance().Tick())
        self.assertTrue(subscription.removed)
        self.assertEqual(subscription.lists, {})
        last = subscription.sequence
        self.advance()
        self.assertFalse(subscription.read(0))
        self.put_stream()
        self.put_queries()
        self.read_or_ask(subscription, self.advance().Tick())
        self.assertEqual(subscription.lists, world.lists())
        self.assertGreater(subscription.sequence, last)
        self.assertFalse(subscription.removed)

    def test_bad_requests_get_their_error_and_the_server_lives_on(self):
        self.put_stream()
        for k in (0, 1025):
            self.assert_refused("k_out_of_range", lambda: self.client.change(
                "PutQueries", stream="riders",
                queries=queries([dict(id=1, k=k, position=position(0, 0))])))
        self.assert_refused("unknown_stream", lambda: self.client.change(
            "PutQueries", stream="nobody", queries=queries([])))
        self.assert_refused("array_mismatch", lambda: self.client.change(
            "RemoveObjects", ids=vector("Uint64", [1, 2]), times_us=vector("Int64", [1])))
        for garbage in (b"", b"x", b"STRQSTRQSTRQSTRQ", os.urandom(100)):
            self.assert_refused("malformed", lambda: self.client.exchange(garbage))
        nan = self.client.change("UpdateBatch", ids=vector("Uint64", [1]),
                                 times_us=vector("Int64", [START_US]),
                                 coordinates=vector("Float64", [math.nan, 0.0]))
        self.assertEqual(nan.Rejected(), 1)
        self.assertEqual(self.advance().ObjectCount(), 0)

    def test_a_session_that_is_ended_is_unknown(self):
        client = self.connect()
        client.call("EndSession")
        self.assert_refused("unknown_session", lambda: client.call("GetStats"))

    def test_req_sockets_are_answered_too(self):
        stats = self.connect(zmq.REQ).call("GetStats")
        self.assertGreater(stats.CountersLength(), 0)

    def test_a_terminated_server_exits_with_0(self):
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(timeout=20), 0)


class EarthTest(ServerTest):
    SPACE = "wgs84"

    def test_a_rectangle_goes_over_the_antimeridian(self):
        places = {1: (179.5, -17.0), 2: (-179.5, -17.0), 3: (180.0, -17.0), 4: (0.0, -17.0),
                  5: (12.0, 90.0)}
        self.client.change(
            "UpdateBatch", ids=vector("Uint64", list(places)),
            times_us=vector("Int64", [self.tau_us] * len(places)),
            coordinates=vector("Float64", [each for place in places.values() for each in place]))

        def ids_in(*edges):
            return sorted(row[0] for row in self.client.objects_in(*edges))

        self.assertEqual(ids_in(179, -20, -179, -10), [1, 2, 3])
        self.assertEqual(ids_in(-180, -20, -179, -10), [2, 3])
        self.assertEqual(ids_in(-179, -20, 179, -10), [4])
        self.assertEqual(ids_in(-70, 80, -60, 90), [5])
        self.assert_refused("bad_value", lambda: self.client.objects_in(181, 0, 0, 1))


class VectorWorld:
    """Vectors of small whole numbers. The sums of their squares are exact."""

    DIMENSION = 5

    def __init__(self, seed, count):
        self.random = random.Random(seed)
        self.vectors = {number: self.vector() for number in range(count)}
        self.labels = {number: self.label() for number in range(count)}
        self.values = {number: self.value() for number in range(count)}

    def label(self):
        return self.random.choice([None, 1, 2, -3])

    def value(self):
        return self.random.choice([None, self.random.gauss(0, 1), 0.25])

    def vector(self):
        return [self.random.randrange(-9, 10) for _ in range(self.DIMENSION)]

    def nearest(self, anchor, k, without=None):
        found = sorted((sum((a - b) ** 2 for a, b in zip(anchor, other)), number)
                       for number, other in self.vectors.items() if number != without)
        return [(number, math.sqrt(square)) for square, number in found[:k]]

    def vote(self, neighbors):
        ballots = {}
        for number, distance in neighbors:
            ballots.setdefault(self.labels[number], []).append(distance)
        ballots.pop(None, None)
        return min(ballots, default=None,
                   key=lambda label: (-len(ballots[label]), sum(ballots[label]), label))


    def mean(self, neighbors, weights):
        known = [(self.values[number], distance) for number, distance in neighbors
                 if self.values[number] is not None]
        if weights == BY_DISTANCE:
            same = [each for each in known if each[1] == 0]
            known = [(value, 1.0 if same else 1 / distance) for value, distance in same or known]
        else:
            known = [(value, 1.0) for value, _ in known]
        if weights == BY_NONE or not known:
            return None
        # From Python 3.12 on, sum() of floats rounds only once.
        total = count = 0.0
        for value, weight in known:
            total += weight * value
            count += weight
        return total / count


class VectorWireTest(ServerTest):
    SPACE = f"vector:{VectorWorld.DIMENSION}"

    def update(self, world, numbers, with_labels=True, with_values=True):
        fields = {}
        if with_values:
            values = [world.values[number] for number in numbers]
            fields["values"] = vector("Float64", [math.nan if value is None else value
                                                  for value in values])
        if with_labels:
            labels = [world.labels[number] for number in numbers]
            fields["labels"] = vector("Int64", [NO_LABEL if label is None else label
                                                for label in labels])
        return self.client.change(
            "UpdateBatch", ids=vector("Uint64", numbers),
            times_us=vector("Int64", [self.tau_us] * len(numbers)), dimension=world.DIMENSION,
            coordinates_f32=vector("Float32", [component for number in numbers
                                               for component in world.vectors[number]]), **fields)

    def test_hello_tells_the_space(self):
        from starling.wire.Metric import Metric
        from starling.wire.Space import Space
        hello = self.client.hello
        self.assertEqual((hello.Space(), hello.Dimension(), hello.Metric()),
                         (Space.vector, VectorWorld.DIMENSION, Metric.l2))

    def test_lists_votes_and_means_are_the_brute_forces_at_every_tick(self):
        world = VectorWorld(seed=5, count=60)
        anchor = [1, 2, 3, -4, -5]
        at_anchor = dict(id=1, k=7, vector=vector("Float32", anchor), vote=True,
                         regress=BY_DISTANCE)
        following = dict(id=2, k=4, anchor=FOLLOW, object=3, vote=True, regress=BY_UNIFORM)
        weights = {1: BY_DISTANCE, 2: BY_UNIFORM, 3: BY_NONE}
        self.put_stream()
        self.client.change("PutQueries", stream="riders", queries=queries([
            at_anchor, following, dict(id=3, k=1, anchor=EVERY_OBJECT, vote=True)]))
        subscription = self.subscribe("riders")
        self.assertEqual(self.update(world, list(world.vectors)).Accepted(), 60)
        for tick in range(1, 11):
            self.advance()
            if tick == 1:
                subscription.take_snapshot()
            self.read_or_ask(subscription, tick)
            expected = {(1, None): world.nearest(anchor, 7),
                        (2, None): world.nearest(world.vectors[3], 4, without=3)}
            for number, components in world.vectors.items():
                expected[(3, number)] = world.nearest(components, 1, without=number)
            self.assertEqual(subscription.lists, expected, f"tick {tick}")
            votes = {key: world.vote(neighbors) for key, neighbors in expected.items()}
            self.assertEqual(subscription.votes, votes, f"tick {tick}")
            means = {key: world.mean(neighbors, weights[key[0]])
                     for key, neighbors in expected.items()}
            self.assertEqual(subscription.means, means, f"tick {tick}")
            reply = self.client.call("GetNeighbors", questions=queries([at_anchor, following]))
            self.assertEqual([neighbors for _, _, neighbors in lists_of(reply.Lists())],
                             [expected[(1, None)], expected[(2, None)]])
            self.assertEqual(list(votes_of(reply.Lists()).values()),
                             [votes[(1, None)], votes[(2, None)]])
            self.assertEqual(list(means_of(reply.Lists()).values()),
                             [means[(1, None)], means[(2, None)]])
            moved = world.random.sample(sorted(world.vectors), 20)
            with_labels, with_values = tick % 2 == 0, tick % 3 == 0
            for number in moved:
                world.vectors[number] = world.vector()
                if with_labels:
                    world.labels[number] = world.label()
                if with_values:
                    world.values[number] = world.value()
            self.assertEqual(self.update(world, moved, with_labels, with_values).Accepted(), 20)

    def test_subscribe_shows_distances_votes_and_means(self):
        world = VectorWorld(seed=7, count=9)
        anchor = [0, 0, 0, 0, 1]
        self.put_stream()
        self.client.change("PutQueries", stream="riders", queries=queries([
            dict(id=1, k=3, vector=vector("Float32", anchor), vote=True, regress=BY_UNIFORM)]))
        self.update(world, list(world.vectors))
        self.advance()
        neighbors = world.nearest(anchor, 3)
        vote = world.vote(neighbors)
        mean = world.mean(neighbors, BY_UNIFORM)

        def shown(*flags):
            return subprocess.run(
                [STARLING, "subscribe", "riders", "--connect", self.endpoints["commands"],
                 "--results", self.endpoints["results"], "--ticks", "1", *flags],
                check=True, timeout=60, capture_output=True, text=True).stdout.splitlines()

        head, *rows = shown("--format", "csv")
        self.assertEqual(head, "tick,time_us,query_id,rank,object_id,distance_m,vote,value")
        self.assertEqual([row.split(",")[4:7] for row in rows],
                         [[str(number), repr(distance).removesuffix(".0"),
                           "" if vote is None else str(vote)] for number, distance in neighbors])
        self.assertEqual([float(row.split(",")[7] or "nan") for row in rows], [mean] * 3)
        line = json.loads(shown("--format", "ndjson")[1])
        self.assertEqual(line["vote"], None if vote is None else str(vote))
        self.assertEqual(line["value"], mean)
        self.assertEqual([(each["object"], each["distance_m"]) for each in line["neighbors"]],
                         [(str(number), distance) for number, distance in neighbors])
        table = shown()
        self.assertEqual(table[3].split()[:4], ["query", "vote", "value", "nearest"])
        self.assertEqual(table[4].split()[:3],
                         ["1", "-" if vote is None else str(vote), f"{mean:.6g}"])

    def test_vectors_are_read_by_their_ids(self):
        world = VectorWorld(seed=8, count=3)
        self.update(world, list(world.vectors))
        found, missing = self.client.objects([2, 9, 0])
        self.assertEqual(found, [(2, self.tau_us, None, 0, None), (0, self.tau_us, None, 0, None)])
        self.assertEqual(missing, [9])
        refused = self.assert_refused("bad_value", lambda: self.client.objects_in(0, 0, 1, 1))
        self.assertIn("by their ids", str(refused))

    def test_bad_vectors_are_refused(self):
        from starling.wire.RowReason import RowReason
        world = VectorWorld(seed=6, count=3)
        world.vectors[1][3] = math.inf
        reply = self.update(world, [0, 1, 2])
        self.assertEqual((reply.Accepted(), reply.Rejected()), (2, 1))
        self.assertEqual((reply.FirstRejected(0).Index(), reply.FirstRejected(0).Reason(),
                          reply.RejectedColumns(0)), (1, RowReason.component_not_finite, 3))
        world.values[2] = -math.inf
        reply = self.update(world, [2, 0])
        self.assertEqual((reply.Accepted(), reply.FirstRejected(0).Reason()),
                         (1, RowReason.value_infinite))
        world.DIMENSION = 4
        refused = self.assert_refused("bad_value", lambda: self.update(world, [0]))
        self.assertIn("dimension 4; this server's vectors are of dimension 5", str(refused))
        self.assert_refused("array_mismatch", lambda: self.client.call(
            "GetNeighbors", questions=queries([dict(k=1, vector=vector("Float32", [1.0]))])))
        self.assert_refused("bad_value", lambda: self.client.call(
            "GetNeighbors", questions=queries([
                dict(k=1, vector=vector("Float32", [1.0] * 5), regress=3)])))


if __name__ == "__main__":
    subprocess.run([FLATC, "--python", "-o", GENERATED, SCHEMA], check=True)
    sys.path.insert(0, GENERATED)
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
