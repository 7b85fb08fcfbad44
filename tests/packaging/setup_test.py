# SPDX-License-Identifier: Apache-2.0
"""Tests that scripts/setup removes and downgrades no package. Run by ctest with the path of the sources. This
file writes stand-ins for the distribution's tools into a folder of its own. They answer as Debian's do and
note each call, so nothing is installed."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SETUP = pathlib.Path(sys.argv.pop()) / "scripts/setup"

DPKG_QUERY = """#!/bin/sh
for package in $INSTALLED; do [ "$package" = "$3" ] && printf installed; done
exit 0
"""
APT_CACHE = """#!/bin/sh
for package in $ABSENT; do [ "$package" = "$3" ] && exit 0; done
echo "Package: $3"
"""
# A line of $COSTS is PACKAGE=TEXT. If PACKAGE is to be installed, apt-get --simulate prints TEXT.
APT_GET = """#!/usr/bin/python3
import os, sys
with open(os.environ["CALLS"], "a") as calls:
    print(*sys.argv[1:], file=calls)
if "--simulate" in sys.argv:
    for line in os.environ["COSTS"].splitlines():
        package, _, printed = line.partition("=")
        if package in sys.argv:
            print(printed.replace("|", chr(10)))
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        for name, text in {"dpkg-query": DPKG_QUERY, "apt-cache": APT_CACHE, "apt-get": APT_GET,
                           "sudo": '#!/bin/sh\nexec "$@"\n'}.items():
            (self.path / name).write_text(text)
            (self.path / name).chmod(stat.S_IRWXU)

    def setup(self, *arguments, installed="", absent="", costs="", without=""):
        self.calls_path = self.path / "calls"
        self.calls_path.write_text("")
        done = subprocess.run(
            ["bash", SETUP, *arguments], capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": f"{self.path}:{os.environ['PATH']}", "CALLS": str(self.calls_path), "INSTALLED": installed,
                 "ABSENT": absent, "COSTS": costs, "STARLING_WITHOUT": without})
        self.calls = [call.split() for call in self.calls_path.read_text().splitlines()]
        self.installs = [call for call in self.calls if "install" in call and "--simulate" not in call]
        return done

    def test_it_installs_nothing_if_a_package_would_be_removed_and_says_which(self):
        done = self.setup("--program", costs="libzmq3-dev=Remv python3-scipy [1.10.1-2]|Remv libfoo [1]")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.installs, [])
        self.assertIn("to install libzmq3-dev:\n  python3-scipy would be removed\n  libfoo would be removed", done.stderr)
        self.assertIn('STARLING_WITHOUT="libzmq3-dev" scripts/setup', done.stderr)

    def test_it_installs_nothing_if_a_package_would_be_downgraded(self):
        done = self.setup("--program", costs="cmake=The following packages will be DOWNGRADED:|  cmake-data|0 upgraded")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.installs, [])
        self.assertIn("cmake-data would be downgraded", done.stderr)

    def test_it_forbids_apt_get_to_remove_anything(self):
        done = self.setup("--program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.installs), 1)
        self.assertIn("--no-remove", self.installs[0])
        self.assertNotIn("--allow-downgrades", self.installs[0])

    def test_it_leaves_out_what_it_is_told_to(self):
        done = self.setup("--program", without="npm nodejs cmake")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("cmake", self.installs[0])
        self.assertNotIn("npm", self.installs[0])

    def test_the_boost_that_is_installed_stays(self):
        for boost in ("libboost-dev", "libboost1.74-dev", "libboost1.81-dev"):
            self.setup("--program", installed=boost)
            self.assertFalse([name for name in self.installs[0] if name.startswith("libboost")], boost)

    def test_it_takes_the_distributions_own_boost(self):
        self.setup("--program")
        self.assertIn("libboost-dev", self.installs[0])
        self.assertNotIn("libboost1.81-dev", self.installs[0])

    def test_the_program_needs_no_linter_and_no_site(self):
        self.setup("--program")
        for name in ("python3-sphinx", "doxygen", "clang-16", "mypy", "libgtest-dev"):
            self.assertNotIn(name, self.installs[0])
        self.setup("--ci")
        for name in ("python3-sphinx", "doxygen", "clang-16", "mypy", "libgtest-dev"):
            self.assertIn(name, self.installs[0])

    def test_it_does_nothing_twice(self):
        done = self.setup("--program", without=" ".join(self.all_of_program()))
        self.assertEqual(done.stdout, "setup: everything is installed.\n")
        self.assertEqual(self.calls, [])

    def all_of_program(self):
        self.setup("--program")
        chosen = self.installs[0][self.installs[0].index("-qq") + 1:]
        return chosen + ["libboost1.74-dev", "libboost1.81-dev", "libboost1.83-dev"]


if __name__ == "__main__":
    unittest.main()
