# SPDX-License-Identifier: Apache-2.0
"""Runs the program and libstarling.so without the library of the CUDA engine, with one of another version,
with a file that is no library, and with the right one. Run by ctest with the paths of the program, of
libstarling.so, of a library of another version, of the right library or "none", and of the sources."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from folder_case import FolderCase

SOURCES = pathlib.Path(sys.argv.pop())
RIGHT = sys.argv.pop()
OTHER = sys.argv.pop()
LIBRARY = sys.argv.pop()
PROGRAM = sys.argv.pop()
PATIENCE_S = 60  # how long anything may take before its test fails
VERSION = re.search(r"project\(starling VERSION (\S+)", (SOURCES / "CMakeLists.txt").read_text())[1]
INSTALL = f"; install the package starling-cuda of version {VERSION}, or use --engine cpu\n"
NO_GPU = ("(NVIDIA's driver is not .*, or|no GPU can be used, .*, or|there is no NVIDIA GPU;|"
          "this build has no code for .*, or) use")
# Makes an engine in Python, and prints its name, or the error if there is no engine.
PYTHON = """
import sys, starling
try:
    print(starling.Engine("planar2", backend=sys.argv[1]).backend)
except starling.StarlingError as error:
    print(error)
"""


class PluginTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.program = self.put(PROGRAM, "bin/starling")
        self.library = self.put(LIBRARY, "lib/libstarling.so.0")
        self.points = self.write("points.csv", "x,y\n0,0\n3,0\n1,0\n")

    def put(self, path, name):
        """Puts a file into the tree of an installation. A link would lead back to the build."""
        target = self.folder / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copy(path, target)
        return target

    def put_plugin(self, path):
        return self.put(path, "lib/starling/libstarling-cuda.so")

    def run_in_tree(self, *command, status=0, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("STARLING_")}
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**environment, **variables})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def knn(self, engine, status=0, **variables):
        return self.run_in_tree(self.program, "knn", "--points", self.points, "--graph", "-k", 1,
                                "--out", "-", "--engine", engine, status=status, **variables)

    def info(self):
        return self.run_in_tree(self.program, "info").stdout

    def engine_of_python(self, backend):
        return self.run_in_tree(sys.executable, "-B", "-c", PYTHON, backend,
                                STARLING_LIBRARY=str(self.library)).stdout

    def expect_refused(self, why, phrase):
        """Checks that `--engine cuda` ends with the sentence, and that `auto` uses the CPU and says the
        phrase."""
        done = self.knn("cuda", status=1)
        self.assertEqual((done.stdout, done.stderr), ("", "starling: --engine cuda: " + why + INSTALL))
        done = self.knn("auto")
        self.assertEqual(done.stdout, self.knn("cpu").stdout)
        self.assertIn(f"answered by cpu (chosen by --engine auto: {phrase}): ", done.stderr)
        self.assertRegex(self.info(), rf"(?m)^--engine auto +cpu, chosen by --engine auto: {phrase}$")

    def test_without_it_the_sentence_says_what_to_install(self):
        self.expect_refused("the CUDA engine is not installed", "the CUDA engine is not installed")
        self.assertIn(f"not found; looked for {self.folder}/tree/bin/starling/libstarling-cuda.so, "
                      f"{self.folder}/tree/lib/starling/libstarling-cuda.so", self.info())
        self.assertEqual(self.engine_of_python("auto"), "cpu\n")
        self.assertEqual(self.engine_of_python("cuda"),
                         "The cuda backend cannot be used: the CUDA engine is not installed; install the "
                         f"package starling-cuda of version {VERSION}, or use the cpu backend.\n")

    def test_another_version_is_refused_with_both(self):
        path = self.put_plugin(OTHER)
        said = self.knn("cuda", status=1).stderr
        own = re.search(r"this is Starling (\S+);", said)[1]
        self.assertRegex(own, rf"^{re.escape(VERSION)}\+[0-9a-f]{{8}}$")
        self.expect_refused(f"{path} is of Starling 0.0.1+00000000, and this is Starling {own}",
                            "the CUDA engine cannot be used")
        self.assertRegex(self.info(), rf"(?m)^CUDA engine +{path}, which cannot be used$")
        self.assertEqual(self.engine_of_python("auto"), "cpu\n")
        self.assertIn(f"{path} is of Starling 0.0.1+00000000, and this is Starling {own}; install",
                      self.engine_of_python("cuda"))

    def test_a_file_that_is_no_library_is_refused(self):
        path = self.put_plugin(self.write("text", "no library\n" * 100))
        self.expect_refused(f"the CUDA engine cannot be loaded: {path}: invalid ELF header",
                            "the CUDA engine cannot be used")

    def test_a_server_says_it_too(self):
        done = self.run_in_tree(self.program, "serve", "--engine", "cuda", "--check-config", status=1)
        self.assertIn("the CUDA engine is not installed", done.stdout + done.stderr)

    @unittest.skipIf(RIGHT == "none", "this build has no CUDA engine")
    def test_the_right_one_is_used_where_a_gpu_is(self):
        path = self.put_plugin(RIGHT)
        self.assertRegex(self.info(), rf"(?m)^CUDA engine +{path}$")
        auto = self.knn("auto")
        self.assertEqual(auto.stdout, self.knn("cpu").stdout)
        if "answered by cuda" in auto.stderr:
            self.assertEqual(self.knn("cuda").stdout, auto.stdout)
            self.assertEqual(self.engine_of_python("auto"), "cuda\n")
            return
        self.assertIn("answered by cpu (chosen by --engine auto: no GPU is available): ", auto.stderr)
        self.assertRegex(self.knn("cuda", status=1).stderr, f"^starling: --engine cuda: {NO_GPU} --engine")
        self.assertEqual(self.engine_of_python("auto"), "cpu\n")
        self.assertRegex(self.engine_of_python("cuda"), f"^The cuda backend cannot be used: {NO_GPU} the cpu")

    @unittest.skipIf(RIGHT == "none", "this build has no CUDA engine")
    def test_the_environment_may_name_it(self):
        done = self.run_in_tree(self.program, "info", STARLING_CUDA_LIBRARY=RIGHT)
        self.assertRegex(done.stdout, rf"(?m)^CUDA engine +{RIGHT}$")


if __name__ == "__main__":
    unittest.main()
