#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the Python package is typed, and that every public name has a docstring."""

import inspect
import os
import subprocess
import sys
import tempfile
import unittest

from package_case import PACKAGE, needs
import starling

USER = """
import numpy as np
import starling

engine = starling.Engine("wgs84", threads=2)
batch: starling.Batch = engine.update(["a", "b"], np.zeros((2, 2)), np.datetime64("now"))
for found in engine.tick().streams["s"]:
    first: int = int(found.ids[0])
found_rows = starling.knn(np.zeros((3, 2)), k=1)
shape: tuple[int, ...] = found_rows.indices.shape
async def follow(client: starling.aio.Client) -> float:
    batch = await client.update([1], [[0.0, 0.0]], tags=3)
    return batch.accepted + (await client.stats())["x"]
starling.Engine(space=3)  # a mistake
"""


@needs("mypy")
class Types(unittest.TestCase):
    def mypy(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(
                [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"),
                 "--cache-dir", cache, *arguments], capture_output=True, text=True, cwd=PACKAGE,
                env={**os.environ, "MYPYPATH": str(PACKAGE)})

    def test_mypy_has_nothing_to_say_about_the_package(self):
        done = self.mypy()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_is_checked_against_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "user.py")
            with open(path, "w") as file:
                file.write(USER)
            done = self.mypy(path)
        self.assertIn('Argument "space" to "Engine" has incompatible type "int"', done.stdout)
        self.assertIn("Found 1 error in 1 file", done.stdout)


class Docstrings(unittest.TestCase):
    def test_every_public_name_says_what_it_is(self):
        things = {name: getattr(starling, name) for name in starling.__all__ if name != "NO_LABEL"}
        things.update({f"aio.{name}": getattr(starling.aio, name) for name in ("Client", "Subscription")})
        for name, thing in things.items():
            self.assertTrue(inspect.getdoc(thing), name)
            if inspect.isclass(thing) and thing.__module__.startswith("starling"):
                for method, what in vars(thing).items():
                    if not method.startswith("_") and (callable(what) or isinstance(what, property)):
                        self.assertTrue(inspect.getdoc(what), f"{name}.{method}")


if __name__ == "__main__":
    unittest.main()
