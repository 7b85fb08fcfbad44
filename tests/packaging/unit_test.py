# SPDX-License-Identifier: Apache-2.0
"""Checks packaging/systemd/starling.service: systemd accepts it, it is well sandboxed, and the program
accepts its command line. Run by ctest with the paths of the program and of the sources."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from server_case import ServerCase

SOURCES = pathlib.Path(sys.argv.pop())
ServerCase.program = sys.argv.pop()
UNIT = SOURCES / "packaging/systemd/starling.service"
EXPOSURE_MAX = 2.0


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed (package systemd)")
class SystemdTest(ServerCase):
    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", "--no-pager", *map(str, arguments)],
                              capture_output=True, text=True, timeout=60)

    def test_its_exposure_is_low(self):
        said = self.analyze("security", "--offline=true", UNIT).stdout
        found = re.search(r"Overall exposure level for starling.service: ([0-9.]+)", said)
        self.assertIsNotNone(found, said)
        self.assertLessEqual(float(found[1]), EXPOSURE_MAX, said)

    def test_systemd_understands_every_line(self):
        text = UNIT.read_text().replace("/usr/bin/starling", str(self.program))
        unit = self.write("starling.service", text.replace("Documentation=", "#"))
        done = self.analyze("verify", unit)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class CommandLineTest(ServerCase):
    def test_the_program_accepts_it_with_the_packaged_settings(self):
        self.run_program("documents", self.folder)
        line = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)[1]
        program, *arguments = shlex.split(line)
        self.assertEqual(program, "/usr/bin/starling")
        settings = arguments.index("/etc/starling/starling.toml")
        arguments[settings] = self.folder / "starling.toml"
        self.run_program(*arguments, "--check-config")


if __name__ == "__main__":
    unittest.main()
