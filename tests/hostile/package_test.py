# SPDX-License-Identifier: Apache-2.0
"""Calls the Python package, and by it the C interface, against each hostile server. A call must end in time
with a result or a StarlingError whose sentence names the server. Run by ctest with the path of the hostile
server."""

import sys
import time
import unittest

from hostile_case import HostileCase
import package_case  # noqa: F401, finds the package
import starling

HostileCase.server = sys.argv.pop(1)
PATIENCE_S = 60
TIMEOUT_S = 2
FOLLOW_S = 1
# Sentences of the server's own, and misbehaviours that a call may survive.
OWN = ("\\x1b[2J", "No.", "Say hello.", "Later, later.")


def calls(client):
    yield lambda: client.put_stream("riders")
    yield lambda: client.put_queries("riders", 5, 2, at=(0, 0))
    yield lambda: client.put_names({starling.text_id("ship"): "ship"})
    yield lambda: client.post([1, 2], [[0.0, 0.0], [1.0, 1.0]], [1, 2])
    yield client.flush
    yield lambda: client.neighbors((0, 0), 10)
    yield lambda: client.advance(7)
    yield client.stats


class Package(HostileCase):
    def told(self, call):
        try:
            call()
        except starling.StarlingError as error:
            return [str(error)]
        return []

    def call_all(self, endpoint):
        sentences = self.told(lambda: starling.Client(endpoint, timeout=TIMEOUT_S).close())
        if sentences:
            return sentences
        with starling.Client(endpoint, timeout=TIMEOUT_S) as client:
            for call in calls(client):
                sentences += self.told(call)
                if sentences and "did not answer" in sentences[-1]:
                    return sentences
            sentences += self.told(lambda: self.follow(client, sentences))
        return sentences

    def follow(self, client, sentences):
        with client.subscribe("riders") as subscription:
            until = time.monotonic() + FOLLOW_S
            while time.monotonic() < until and not subscription.obstacle:
                subscription.next(timeout=0.1)
            if subscription.obstacle:
                sentences.append(subscription.obstacle)

    def test_no_server_harms_a_program(self):
        for name in self.names():
            with self.subTest(name=name):
                server, endpoint, _ = self.misbehave(name)
                begun = time.monotonic()
                sentences = self.call_all(endpoint)
                self.assertLess(time.monotonic() - begun, PATIENCE_S)
                for sentence in sentences:
                    self.assertNotIn("\x1b", sentence)
                    self.assertLess(len(sentence), 5000)
                    if not any(own in sentence for own in OWN) and name != "results_that_are_nowhere":
                        self.assertIn(endpoint, sentence)
                self.end(server)


if __name__ == "__main__":
    unittest.main()
