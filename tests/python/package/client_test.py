#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests starling.Client, its subscriptions and starling.aio against a real server, which some tests kill."""

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
import unittest

import numpy

from package_case import PATIENCE_S, ServerCase
import starling
from starling import aio

SECOND = 1_000_000


def replaced(held, event):
    """Applies an event as a reader does, and returns the lists held after it."""
    if event.kind == "snapshot":
        held = {}
    for found in event.lists or ():
        if found.is_removed:
            held.pop((found.query, found.subject), None)
        else:
            held[found.query, found.subject] = found.ids.tolist()
    return held


class ManualServer(ServerCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--tick", "manual")
        self.client = self.connect()

    def connect(self, **options):
        client = starling.Client(self.endpoints["commands"], timeout=PATIENCE_S,
                                 **options)
        self.addCleanup(client.close)
        return client

    def follow(self, stream, **options):
        subscription = self.client.subscribe(stream, **options)
        self.addCleanup(subscription.close)
        return subscription

    def next(self, subscription):
        event = subscription.next(timeout=PATIENCE_S)
        self.assertIsNotNone(event, subscription.obstacle)
        return event

    def held_at(self, subscription, tick, held):
        """Applies events up to a tick or a later one, and returns the lists held then."""
        while True:
            event = self.next(subscription)
            held = replaced(held, event)
            if event.tick is not None and event.tick.tick >= tick:
                return held

    def kinds_until(self, subscription, ids):
        """Ticks until the list of query 1 has these ids, and returns the kinds of the events. A subscription
        notices a restart when the next tick reaches it."""
        kinds, held = [], {}
        for tau in range(2, 10_000):
            event = subscription.next(timeout=0.05)
            if event is None:
                self.client.advance(tau)
                continue
            kinds.append(event.kind)
            held = replaced(held, event)
            if held.get((1, None)) == ids:
                return kinds
        self.fail(kinds)

    def test_a_server_says_what_it_is(self):
        info = self.client.info()
        self.assertEqual((info.space, info.resolution_m, info.metric, info.manual_ticks, info.restarts),
                         ("planar2", 0.01, None, True, 0))
        self.assertGreater(info.epoch, 0)
        self.assertEqual(repr(self.client), f"<Client of {self.endpoints['commands']}>")

    def test_a_snapshot_and_ticks_are_followed(self):
        self.client.put_stream("s", with_position=True)
        self.client.put_queries("s", ["home", 2], 2, at=[[0, 0], [9, 9]])
        self.assertEqual(self.client.update(["a", "b", 7], [[1, 1], [2, 2], [8, 8]], 1).accepted, 3)
        self.client.advance(1)
        subscription = self.follow("s")
        event = self.next(subscription)
        self.assertEqual((event.kind, event.tick.tick), ("snapshot", 1))
        self.assertEqual(event.lists["home"].texts.tolist(), ["a", "b"])
        self.client.update(["b"], [[0.5, 0]], 2)
        tick = self.client.advance(2)
        self.assertEqual((tick.tick, tick.tau_us, dict(tick.streams)), (2, 2, {}))
        event = self.next(subscription)
        self.assertEqual((event.kind, event.tick.tick), ("tick", 2))
        self.assertEqual(event.lists["home"].texts.tolist(), ["b", "a"])
        self.assertEqual(event.lists["home"].positions[0].tolist(), [0.5, 0, 0])
        self.assertEqual(subscription.lists()["home"].texts.tolist(), ["b", "a"])
        self.assertIsNone(subscription.next(timeout=0.05))

    def test_questions_about_the_past_are_answered_from_the_log(self):
        with self.assertRaisesRegex(starling.StarlingError, "start it with --journal DIR"):
            self.client.neighbors([[0, 0]], time=1)
        self.endpoints = {}
        self.serve("--tick", "manual", "--space", "planar2", "--journal", self.folder / "log")
        with starling.Client(self.endpoints["commands"], self.endpoints["results"]) as client:
            for tau in 1000, 2000:
                client.update([tau], [[0, 0]], tau)
                client.advance(tau)
                client.remove(tau, tau)
            self.assertEqual(client.neighbors([[0, 0]], time=1500)[0].ids.tolist(), [1000])
            self.assertEqual(client.neighbors([[0, 0]], time=2000)[0].ids.tolist(), [2000])
            with self.assertRaisesRegex(starling.StarlingError, "no tick at or before"):
                client.neighbors([[0, 0]], time=999)
            self.assertEqual(len(client.neighbors(follow=1000, time=1500)[0]), 0)
            with self.assertRaisesRegex(starling.UnknownObject, "Tick 1 has no object 2000"):
                client.neighbors(follow=2000, time=1500)
            self.assertEqual(client.neighbors(follow=[1000, 2000], time=2000).is_unknown.tolist(), [True, False])

    def test_questions_are_answered_and_statistics_counted(self):
        self.client.update([1, 2, 3], [[0, 0], [1, 0], [2, 0]], 1, tags=[1, 0, 1])
        self.client.advance(1)
        self.assertEqual(self.client.neighbors([[0, 0]], 2)[0].ids.tolist(), [1, 2])
        self.assertEqual(self.client.neighbors(follow=1, k=2, tags_required=1)[0].ids.tolist(), [3])
        self.client.update_tags([2], 2, set=1)
        self.client.remove(3, 2)
        self.client.advance(2)
        self.assertEqual(self.client.neighbors(follow=1, k=2, tags_required=1)[0].ids.tolist(), [2])
        with self.assertRaisesRegex(starling.UnknownObject, "Tick 2 has no object 3"):
            self.client.neighbors(follow=3)
        lists = self.client.neighbors(follow=[3, 1, 9], distance_max=0.5)
        self.assertEqual((lists.is_unknown.tolist(), lists.counts.tolist()), ([True, False, True], [0, 0, 0]))
        stats = self.client.stats()
        self.assertTrue(all(isinstance(value, float) for value in stats.values()))
        self.assertGreater(len(stats), 10)

    def test_posted_rows_are_summed_up(self):
        for i in range(50):
            self.client.post(numpy.arange(100), numpy.full((100, 2), i, dtype=numpy.float32), i)
        self.client.post([1], [[numpy.nan, 0]], 99)
        batch = self.client.flush()
        self.assertEqual((batch.accepted, batch.late, batch.rejected), (5000, 0, 1))
        self.assertEqual(self.client.flush().accepted, 0)
        self.assertEqual(self.client.advance(99).object_count, 100)

    def test_some_queries_and_subjects_are_followed(self):
        self.client.put_stream("s")
        self.client.put_queries("s", [1, 2], 1, at=[[0, 0], [5, 5]])
        self.client.put_queries("s", 3, 1, every_object=True)
        self.client.update([1, 2, 3], [[0, 0], [1, 0], [2, 0]], 1)
        self.client.advance(1)
        one = self.next(self.follow("s", queries=[2])).lists
        self.assertEqual([found.query for found in one], [2])
        two = self.next(self.follow("s", queries=[3], subjects=[2, 3])).lists
        self.assertEqual([(found.query, found.subject) for found in two], [(3, 2), (3, 3)])

    def test_a_refusal_has_the_servers_sentence(self):
        with self.assertRaisesRegex(starling.StarlingError, 'no stream "t"') as caught:
            self.client.put_queries("t", 1, 1, at=(0, 0))
        self.assertEqual((caught.exception.code, caught.exception.name),
                         (starling.ErrorCode.REFUSED, "unknown_stream"))
        self.client.put_stream("s")
        with self.assertRaises(starling.StarlingError) as caught:
            self.client.put_queries("s", 1, 5000, at=(0, 0))
        self.assertEqual(caught.exception.limit, ("k-max", 1024))

    def test_an_unknown_stream_is_an_error_until_it_is_there(self):
        subscription = self.follow("nowhere")
        with self.assertRaisesRegex(starling.StarlingError, 'no stream "nowhere"') as caught:
            subscription.next()
        self.assertEqual(caught.exception.name, "unknown_stream")
        self.assertIn("nowhere", subscription.obstacle)
        self.client.put_stream("nowhere")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.assertEqual(self.next(subscription).kind, "snapshot")
                break
            except starling.StarlingError:  # the next call of next() asks again
                self.assertLess(time.monotonic(), deadline)

    def test_a_server_that_ticks_on_request_is_not_waited_for(self):
        with self.assertRaisesRegex(ValueError, "call advance"):
            self.client.update([1], [[0, 0]], wait=True)

    def test_another_endpoint_of_the_server_is_told_at_once(self):
        since = time.monotonic()
        with self.assertRaisesRegex(starling.StarlingError, "it may be the results endpoint") as caught:
            starling.Client(self.endpoints["results"], self.endpoints["commands"], timeout=PATIENCE_S)
        self.assertEqual(caught.exception.code, starling.ErrorCode.UNAVAILABLE)
        http = self.endpoints["http"].replace("http://", "tcp://").rstrip("/")
        with self.assertRaisesRegex(starling.StarlingError, "does not answer as a server's commands"):
            starling.Client(http if "://" in http else "tcp://" + http, timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - since, PATIENCE_S / 2)

    def test_a_server_that_is_not_there_times_out(self):
        self.end(self.server)
        with self.assertRaises(starling.TimedOut) as caught:
            starling.Client(self.endpoints["commands"], timeout=0.3)
        self.assertIsInstance(caught.exception, TimeoutError)
        since = time.monotonic()
        with self.assertRaisesRegex(starling.TimedOut, "Nothing listens at .*starling serve"):
            starling.Client(self.endpoints["commands"], timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - since, PATIENCE_S / 2)
        with self.assertRaisesRegex(ValueError, "timeout is -1"):
            starling.Client(self.endpoints["commands"], timeout=-1)
        with self.assertRaises(starling.StarlingError):
            starling.Client("nonsense", timeout=0.3)

    def test_after_a_kill_streams_and_queries_are_put_again_and_lost_rows_said(self):
        self.client.put_stream("s")
        self.client.put_queries("s", 1, 3, at=(0, 0))
        self.client.update([1, 2], [[1, 0], [2, 0]], 1)
        self.client.advance(1)
        subscription = self.follow("s")
        self.assertEqual(self.next(subscription).kind, "snapshot")
        for restart in range(1, 4):
            self.end(self.server)
            self.server = self.serve("--tick", "manual")
            self.client.update([3], [[restart, 0]], 1)
            self.client.advance(1)
            info = self.client.info()
            self.assertEqual((info.restarts, info.rows_lost), (restart, 1 + restart))
            self.assertIn("restarted", self.kinds_until(subscription, [3]))
            self.assertEqual(subscription.lists()[1].distances.tolist(), [restart])

    def test_texts_are_names_of_the_server_also_after_its_restart(self):
        for restart in range(2):
            self.client.update("truck", [1, 2], 1)
            self.client.advance(1)
            said = subprocess.run(
                [os.environ["STARLING_PROGRAM"], "ask", "--connect", self.endpoints["commands"], "--x", "0",
                 "--y", "0", "--json"], capture_output=True, text=True, check=True).stdout
            self.assertEqual(json.loads(said)["neighbors"][0]["name"], "truck")
            self.end(self.server)
            self.server = self.serve("--tick", "manual")

    def test_a_thread_follows_while_another_updates(self):
        self.client.put_stream("s")
        self.client.put_queries("s", 1, 5, at=(0, 0))
        self.client.advance(1)
        random = numpy.random.default_rng(7)
        subscription, held = self.follow("s"), {}

        def read():
            nonlocal held
            held = self.held_at(subscription, 200, held)

        reader = threading.Thread(target=read)
        reader.start()
        for tick in range(2, 201):
            self.client.update(numpy.arange(20), random.uniform(-9, 9, size=(20, 2)), tick)
            self.client.advance(tick)
        reader.join(PATIENCE_S)
        self.assertEqual(held[1, None], self.client.neighbors((0, 0), 5)[0].ids.tolist())

    def test_the_asynchronous_client_has_the_same_names(self):
        async def run():
            async with await aio.Client.connect(self.endpoints["commands"], self.endpoints["results"],
                                                timeout=PATIENCE_S) as client:
                await client.put_stream("s")
                await client.put_queries("s", 1, 2, at=(0, 0))
                batch = await client.update(["a", "b"], [[1, 0], [2, 0]], 1)
                self.assertEqual(batch.accepted, 2)
                await client.advance(1)
                async with await client.subscribe("s") as subscription:
                    seen = [(await subscription.next()).kind]
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(subscription.next(), 0.05)
                    await client.update(["b"], [[0, 0]], 2)
                    await client.advance(2)
                    async for event in subscription:
                        seen.append(event.kind)
                        break
                    self.assertEqual(seen, ["snapshot", "tick"])
                    self.assertEqual((await subscription.lists())[1].texts.tolist(), ["b", "a"])
                self.assertEqual((await client.neighbors((0, 0), 1))[0].texts.tolist(), ["b"])
                with self.assertRaisesRegex(starling.StarlingError, 'no stream "t"'):
                    await client.remove_stream("t")

        asyncio.run(run())
        blocking = {name for name in dir(starling.Client) if not name.startswith("_")}
        self.assertEqual(blocking - set(dir(aio.Client)), set())

    def test_an_interrupt_ends_a_wait(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.client.put_stream("s")
        subscription = self.follow("s")
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with self.assertRaises(KeyboardInterrupt):
            for _ in subscription:
                pass

    def test_a_closed_client_is_refused_and_its_lists_stay(self):
        self.client.update([1], [[3, 4]], 1)
        self.client.advance(1)
        lists = self.client.neighbors((0, 0), 1)
        self.client.close()
        with self.assertRaisesRegex(starling.StarlingError, "The client is closed"):
            self.client.info()
        self.assertEqual(lists[0].distances.tolist(), [5.0])


class VectorServer(ServerCase):
    def test_vectors_labels_and_values_are_put(self):
        self.serve("--tick", "manual", "--space", "vector:2")
        with starling.Client(self.endpoints["commands"], timeout=PATIENCE_S) as client:
            self.assertEqual((client.info().dimension, client.info().metric), (2, "l2"))
            client.update([1, 2, 3], [[0, 1], [0, 2], [0, 3]], 1, labels=[7, 7, 8], values=[1.0, 2, 6])
            client.advance(1)
            found = client.neighbors([0, 0], 3, vote=True, regress="uniform")[0]
            self.assertEqual((found.ids.tolist(), found.vote, found.mean), ([1, 2, 3], 7, 3.0))
            with self.assertRaisesRegex(ValueError, "positions has 3 columns"):
                client.update([1], [[0, 1, 2]], 1)



class TickingServer(ServerCase):
    def test_rows_that_are_waited_for_are_seen(self):
        self.serve("--tick", "20ms")
        with starling.Client(self.endpoints["commands"], timeout=PATIENCE_S) as client:
            for x in range(20):
                client.update(["bus"], [[x, 0]], wait=True)
                self.assertEqual(client.neighbors(at=(0, 0)).distances.tolist(), [x])

        async def ask():
            async with await aio.Client.connect(self.endpoints["commands"]) as client:
                await client.update(["tram"], [[0, 0]], wait=True)
                return await client.neighbors(at=(0, 0))

        self.assertEqual(asyncio.run(ask())[0].texts.tolist(), ["tram"])

    def test_a_wait_ends_with_the_timeout(self):
        self.serve("--tick", "1h")
        with starling.Client(self.endpoints["commands"], timeout=0.5) as client:
            with self.assertRaisesRegex(starling.TimedOut, "are accepted"):
                client.update(["bus"], [[0, 0]], wait=True)


if __name__ == "__main__":
    unittest.main()
