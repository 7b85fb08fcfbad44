# SPDX-License-Identifier: Apache-2.0
"""Checks packaging/Containerfile, which no test runs. Its packages are those of `scripts/setup --program` and
of the benchmarks, it copies a file that the build makes, and the program accepts its command line. Run by
ctest with the paths of the program and of the sources."""

import json
import pathlib
import re
import sys
import unittest

from server_case import ServerCase

SOURCES = pathlib.Path(sys.argv.pop())
ServerCase.program = sys.argv.pop()
FILE = (SOURCES / "packaging/Containerfile").read_text()
# A package that scripts/setup installs for the program, and that an image built once does not use.
FOR_FURTHER_BUILDS = {"ccache"}
# What benchmarks need beyond the program.
FOR_BENCHMARKS = {"libnanoflann-dev"}
# What making packages and fetching the page's libraries over TLS need beyond a build.
FOR_PACKAGES = {"ca-certificates", "dpkg-dev", "fakeroot", "file"}


class ContainerTest(ServerCase):
    def test_its_packages_are_those_of_setup(self):
        script = (SOURCES / "scripts/setup").read_text()
        script = script[:script.index("if ((level >= 2)); then")]
        names = [name.split("|")[0] for name in re.findall(r'^ +"([a-z0-9+.|-]+) +\w', script, re.MULTILINE)]
        stage = FILE[:FILE.index("COPY . ")]
        installed = re.findall(r"^    ([a-z0-9+.-]+)(?: \\)?$", stage, re.MULTILINE)
        self.assertEqual(len(installed), len(set(installed)))
        self.assertEqual(set(installed) - FOR_PACKAGES - FOR_BENCHMARKS, set(names) - FOR_FURTHER_BUILDS)

    def test_it_installs_the_package_that_the_build_makes(self):
        presets = json.loads((SOURCES / "CMakePresets.json").read_text())
        self.assertIn("packages", [preset["name"] for preset in presets["buildPresets"]])
        self.assertIn("cmake --preset packages && cmake --build --preset packages", FILE)
        self.assertIn("/source/build/packages/starling_*.deb", FILE)

    def test_the_program_accepts_its_command_line(self):
        command = re.search(r"^CMD (\[.*?\])$", FILE.replace("\\\n", ""), re.MULTILINE)[1]
        self.run_program(*json.loads(command), "--check-config")


if __name__ == "__main__":
    unittest.main()
