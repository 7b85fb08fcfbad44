#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs examples/python/sumo_taxis.py, in which Starling dispatches the taxis of a SUMO simulation."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import unittest

from package_case import PACKAGE, PATIENCE_S, ROOT

SAMPLE = ROOT / "examples/python/sumo_taxis.py"
SUMO_TOOLS = os.path.join(os.environ.get("SUMO_HOME", "/usr/share/sumo"), "tools")


def has_sumo():
    sys.path.append(SUMO_TOOLS)
    try:
        import traci  # noqa: F401
    except ImportError:
        return False
    return all(map(shutil.which, ("sumo", "netgenerate")))


@unittest.skipUnless(has_sumo(), "SUMO is not installed: apt install sumo sumo-tools")
class SumoTaxis(unittest.TestCase):
    def run_sample(self, *arguments, before=""):
        """Runs the sample with --check after some statements. Returns its exit status, output and errors."""
        program = f"{before}\nimport runpy; runpy.run_path({str(SAMPLE)!r}, run_name='__main__')"
        paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, "-B", "-c", program, "--check", *map(str, arguments)],
                              capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": paths})
        return done.returncode, done.stdout, done.stderr

    def test_every_reservation_of_600_seconds_is_served_from_lists_that_are_sumos(self):
        status, said, errors = self.run_sample("--seconds", 600, "--taxis", 50, "--reservations", 100)
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("600 s, 50 taxis, 100 reservations, 100 served\n", said)
        (checked,) = re.findall(r"(\d+) lists checked against SUMO's positions", said)
        self.assertGreaterEqual(int(checked), 100)

    def test_a_reservation_that_is_not_served_is_an_error(self):
        status, said, errors = self.run_sample("--seconds", 60, "--taxis", 1, "--reservations", 3)
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"^Not served within 60 s: \d of 3 reservations\. [^\n]*\n$")

    def test_positions_that_are_not_sumos_are_an_error(self):
        for moved in ("(-x, y)", "(x + 0.02, y)"):
            with self.subTest(moved):
                status, said, errors = self.run_sample(before=f"""
import starling
update = starling.Engine.update
starling.Engine.update = lambda engine, ids, places, *more: update(
    engine, ids, [{moved} for x, y in places], *more)
""")
                self.assertEqual((status, said), (1, ""))
                self.assertRegex(errors, r"^At \d+ s, the list of reservation \d+ is \[.*\]\. "
                                         r"By SUMO's positions, it is \[.*\]\.\n$")


@unittest.skipUnless(has_sumo(), "SUMO is not installed: apt install sumo sumo-tools")
class BruteForce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = runpy.run_path(str(SAMPLE))

    def test_halves_are_rounded_away_from_zero(self):
        self.assertEqual(self.sample["to_centimetres"]((0.125, -0.125)), [13, -13])
        self.assertEqual(self.sample["to_centimetres"]((0.12, -0.1249)), [12, -12])

    def test_the_order_is_by_exact_distance_and_then_by_id(self):
        taxis = {"12": (3.0, 4.0), "7": (-4.0, 3.0), "9": (0.0, 5.01), "8": (5.004, 0.0), "3": (9.0, 0.0)}
        self.assertEqual(self.sample["nearest"]((0.0, 0.0), taxis, 4),
                         [("7", 5.0), ("8", 5.0), ("12", 5.0), ("9", 5.01)])


if __name__ == "__main__":
    unittest.main()
