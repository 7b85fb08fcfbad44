#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel into a fresh environment, and uses it there with its own libraries."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from package_case import PACKAGE, PATIENCE_S

HERE = pathlib.Path(__file__).resolve().parent
OF_EVERY_LINUX = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+))\.so")
CUDA_LIBRARY = os.environ.get("STARLING_TESTED_CUDA_LIBRARY")  # empty in a build without CUDA
# Prints the engine's name, or why there is none.
CUDA = """
import starling
try:
    print(starling.Engine("planar2", backend="cuda").backend)
except starling.StarlingError as error:
    print(error)
"""
LOADED = """
for line in open("/proc/self/maps"):
    if ".so" in line and "r-xp" in line:
        print("loaded", line.split()[-1])
"""


@unittest.skipUnless(shutil.which("patchelf"), "patchelf is not installed; scripts/setup installs it")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.wheel = cls.build("first")
        cls.run_program(sys.executable, "-m", "venv", "--system-site-packages", cls.folder / "venv")
        cls.python = cls.folder / "venv/bin/python"
        cls.run_program(cls.python, "-m", "pip", "install", "--quiet", "--no-index", cls.wheel)

    @classmethod
    def build(cls, name):
        cuda = ["--cuda-library", CUDA_LIBRARY] if CUDA_LIBRARY else []
        said = cls.run_program(sys.executable, "-B", PACKAGE / "wheel.py", "--library",
                               os.environ["STARLING_LIBRARY"], "--output", cls.folder / name, *cuda)
        return pathlib.Path(said.strip())

    @staticmethod
    def run_program(*command, **more):
        without = ("STARLING_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")
        environment = {name: value for name, value in os.environ.items() if name not in without}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=4 * PATIENCE_S,
                              env={**environment, **more})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test_its_name_says_what_it_runs_on(self):
        self.assertRegex(self.wheel.name,
                         r"^starling_knn-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl$")

    def test_the_same_inputs_give_the_same_bytes(self):
        self.assertEqual(self.wheel.read_bytes(), self.build("second").read_bytes())

    def test_every_library_needs_only_others_inside_and_those_of_every_linux(self):
        inside = next((self.folder / "venv").rglob("starling/lib"))
        libraries = [path for path in inside.iterdir() if path.is_file()]
        names = {path.name for path in libraries}
        self.assertIn("libstarling.so.0", names)
        for path in libraries:
            needed = set(self.run_program("patchelf", "--print-needed", path).split())
            outside = {name for name in needed - names if not OF_EVERY_LINUX.match(name)}
            self.assertEqual(outside, set(), path.name)
            self.assertEqual(self.run_program("patchelf", "--print-rpath", path).strip(), "$ORIGIN")
            self.assertEqual(self.run_program("patchelf", "--print-soname", path).strip(), path.name)

    def test_the_cuda_engine_is_inside_where_it_was_built(self):
        said = self.run_program(self.python, "-c", CUDA, STARLING_CUDA_LIBRARY="")
        if CUDA_LIBRARY:
            self.assertRegex(said, "^(cuda$|The cuda backend cannot be used: "
                                   "(NVIDIA's driver|no GPU can|there is no NVIDIA))")
        else:
            self.assertIn("the CUDA engine is not installed", said)

    def test_every_bundled_library_comes_with_its_licence(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))
        if shutil.which("dpkg-query"):
            self.assertTrue(any("libzmq" in name and "licenses" in name for name in names))

    def test_the_readmes_example_runs_with_the_wheels_own_libraries(self):
        (block,) = re.findall(r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text(), re.S | re.M)
        said = self.run_program(self.python, "-c", block + LOADED)
        self.assertIn("['taxi-1' 'taxi-3']", said)
        inside = f"{self.folder}/venv/"
        for name in ("libstarling", "libzmq", "libhwy", "libxxhash", "libsodium"):
            paths = re.findall(rf"^loaded (.*/{name}\W.*)$", said, re.M)
            self.assertTrue(paths and all(path.startswith(inside) for path in paths), (name, paths))

    def test_the_tests_of_engine_and_vectors_pass_on_the_installed_package(self):
        for name in ("engine_test.py", "vectors_test.py"):
            self.run_program(self.python, "-B", HERE / name, STARLING_INSTALLED="1")

    def test_it_can_be_taken_off_again(self):
        self.run_program(sys.executable, "-m", "venv", "--system-site-packages", self.folder / "other")
        python = self.folder / "other/bin/python"
        self.run_program(python, "-m", "pip", "install", "--quiet", "--no-index", self.wheel)
        self.run_program(python, "-m", "pip", "uninstall", "--quiet", "--yes", "starling-knn")
        left = [path for path in (self.folder / "other").rglob("*") if "starling" in path.name]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
