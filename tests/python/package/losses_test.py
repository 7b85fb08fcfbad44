#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy cuts the connections of starling.Client and its subscriptions again and again. Rows are applied
once, and a reader holds the server's exact lists. STARLING_CUTS is the number of cuts."""

import os
import random
import select
import socket
import threading
import unittest

import numpy

from package_case import PATIENCE_S, ServerCase
import starling

CUTS = int(os.environ.get("STARLING_CUTS", "25"))
SEED = int(os.environ.get("STARLING_SEED", "23"))


class Proxy:
    """Passes bytes of TCP on to a port, and cuts all connections when told to."""

    def __init__(self, endpoint):
        self.port = int(endpoint.rpartition(":")[2])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.pairs = []
        self.lock = threading.Lock()
        self.cuts = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            with self.lock:
                self.pairs.append((near, far))
            threading.Thread(target=self.carry, args=(near, far), daemon=True).start()

    @staticmethod
    def carry(near, far):
        try:
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    (far if ready is near else near).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            near.close()
            far.close()

    def cut(self):
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.cuts += bool(pairs)

    def close(self):
        self.listener.close()
        self.cut()


class Losses(ServerCase):
    def setUp(self):
        super().setUp()
        self.serve("--tick", "manual")
        self.proxies = {name: Proxy(self.endpoints[name]) for name in ("commands", "results")}
        for proxy in self.proxies.values():
            self.addCleanup(proxy.close)

    def test_after_random_cuts_a_reader_holds_the_servers_lists(self):
        straight = starling.Client(self.endpoints["commands"], timeout=PATIENCE_S)
        self.addCleanup(straight.close)
        straight.put_stream("s")
        straight.put_queries("s", [1, 2, 3], 5, at=[[0, 0], [4, 4], [9, 0]])
        straight.put_queries("s", 4, 3, every_object=True)
        straight.advance(0)
        subscription = starling.Subscription(
            "s", commands=self.proxies["commands"].endpoint, results=self.proxies["results"].endpoint,
            timeout=PATIENCE_S)
        self.addCleanup(subscription.close)
        chance, places = random.Random(SEED), numpy.random.default_rng(SEED)
        held, kinds, tau = {}, [], 0
        while min(self.proxies["results"].cuts, self.proxies["commands"].cuts) < CUTS:
            for _ in range(chance.randrange(1, 20)):
                tau += 1
                straight.update(places.integers(1, 50, size=5), places.uniform(-9, 9, size=(5, 2)), tau)
                straight.advance(tau)
            for proxy in self.proxies.values():
                if chance.random() < 0.5:
                    proxy.cut()
            event = subscription.next(chance.choice([0, 0.01, 0.3]))
            while event is not None:
                held = self.apply(held, event)
                kinds.append(event.kind)
                event = subscription.next(0)
        tau = self.catch_up(straight, subscription, held, tau)
        self.assertIn("lost", kinds)
        questions = straight.neighbors([[0, 0], [4, 4], [9, 0]], 5)
        lists = subscription.lists()
        for place in range(3):
            self.assertEqual(lists[place + 1].ids.tolist(), questions.at(place).ids.tolist())
        print(f"{self.proxies['results'].cuts} cuts of results, {self.proxies['commands'].cuts} of commands, "
              f"{kinds.count('lost')} gaps, {kinds.count('snapshot')} snapshots, {tau} ticks")

    def catch_up(self, straight, subscription, held, tau):
        """Ticks until `held` has the lists of the last tick. Compares it with the subscription's own
        lists."""
        for _ in range(600):
            tau += 1
            done = straight.advance(tau)
            event = subscription.next(0.1)
            while event is not None:
                held = self.apply(held, event)
                if event.tick is not None and event.tick.tick == done.tick:
                    kept = {(one.query, one.subject): (one.ids.tolist(), one.distances.tolist())
                            for one in subscription.lists()}
                    self.assertEqual(held, kept)
                    return tau
                event = subscription.next(0.1)
        self.fail("the reader does not catch up: " + subscription.obstacle)

    @staticmethod
    def apply(held, event):
        held = {} if event.kind == "snapshot" else dict(held)
        for one in event.lists or ():
            if one.is_removed:
                held.pop((one.query, one.subject), None)
            else:
                held[one.query, one.subject] = (one.ids.tolist(), one.distances.tolist())
        return held

    def test_after_random_cuts_each_row_was_applied_once(self):
        client = starling.Client(self.proxies["commands"].endpoint, timeout=PATIENCE_S)
        self.addCleanup(client.close)
        chance, sent, accepted = random.Random(SEED), 0, 0
        proxy, stop = self.proxies["commands"], threading.Event()

        def cut():
            while not stop.wait(chance.uniform(0.01, 0.3)):
                proxy.cut()

        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            while proxy.cuts < CUTS:
                for _ in range(10):
                    client.post(numpy.arange(sent, sent + 100), numpy.zeros((100, 2)), sent)
                    sent += 100
                accepted += client.flush().accepted
        finally:
            stop.set()
            cutter.join()
        self.assertEqual(accepted, sent)
        self.assertEqual(client.info().rows_lost, 0)
        self.assertEqual(client.advance(sent).object_count, sent)


if __name__ == "__main__":
    print(f"seed {SEED}: STARLING_SEED={SEED}")
    unittest.main()
