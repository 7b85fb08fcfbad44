# SPDX-License-Identifier: Apache-2.0
"""Proves docs/HACKING.md: follows its steps in a copy of the sources, with one toy of each kind of change
that the page describes, builds the copy once and runs the tests that show that the toys work.

    hacking_toys_test.py SOURCES SCRATCH    SCRATCH becomes the copy, with a build folder inside
    hacking_toys_test.py --edits SOURCES    compares the toys with the page, and makes their edits in memory

Exits with 77, which ctest counts as skipped, if SOURCES is not a git checkout."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from toys import flag, gpu_method, layout, limit, metric, query_kind, request
from toys.edits import Edit, ToyError, Tree, after
from toys.page import Page

SKIPPED = 77
STREAM_FILES_MAX = 5  # the most files of stream/ that a request may touch
TOYS = {"request": request, "query_kind": query_kind, "flag": flag, "limit": limit, "metric": metric,
        "layout": layout, "gpu_method": gpu_method}
HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ["starling", "test_house", "test_support", "test_requests", "test_protocol", "test_rights",
           "test_toy_tables", "test_toy_layouts", "test_toy_scripts"]


def files_of(toy):
    return list(dict.fromkeys(edit.file for _, edits in toy.STEPS for edit in edits))


def toys_in(sources):
    """Returns the sources with all toys, each of which follows the page."""
    tree = Tree(sources)
    page = Page(tree.text("docs/HACKING.md"))
    for name, toy in TOYS.items():
        page.check(name, toy)
        for _, edits in toy.STEPS:
            for edit in edits:
                tree.apply(edit, f"tests/docs/toys/{name}.py")
        print(f"{name}: {', '.join(files_of(toy))}")
        for step, why in toy.LEFT_OUT.items():
            print(f"{name}: step {step} is left out: {why}")
    of_stream = [file for file in files_of(request) if file.startswith("stream/")]
    print(f"request: {len(of_stream)} files of stream/: {', '.join(of_stream)}")
    if len(of_stream) > STREAM_FILES_MAX:
        raise ToyError(f"a request touches {len(of_stream)} files of stream/, more than {STREAM_FILES_MAX}")
    home = "tests/docs/hacking_toys_test.py"
    tree.apply(after("tests/CMakeLists.txt", "  add_subdirectory(${folder})\nendforeach()\n",
                     "add_subdirectory(toys)\n"), home)
    tree.apply(Edit("tests/toys/CMakeLists.txt", None, (HERE / "toys/programs.cmake").read_text()), home)
    return tree


class Copy:
    """The copy of the sources, and its build folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.build = self.folder / "build/release"
        self.begun_s = time.monotonic()

    def run(self, *command, cwd=None):
        """Runs a command, and raises ToyError with what it said if it fails. Returns its output."""
        words = [str(word) for word in command]
        begun_s = time.monotonic()
        done = subprocess.run(words, cwd=cwd or self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode(errors="replace")
        now_s = time.monotonic()
        shown = " ".join(words).replace(f"{self.folder}/", "")
        print(f"{now_s - begun_s:6.1f} s, {now_s - self.begun_s:6.1f} s so far: {shown}", flush=True)
        if done.returncode != 0:
            raise ToyError(f"`{shown}` ended with {done.returncode} in {self.folder}:\n{text[-8000:]}")
        return text

    def configure(self, folder, *flags):
        self.run("cmake", "--preset", "release", "-B", folder, "-DSTARLING_LONG_TESTS=OFF", *flags)

    def make(self, folder, *targets):
        self.run("cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", *targets)

    def test(self, program, gtest_filter="*"):
        """Runs tests of a GoogleTest program, of which there must be one at least."""
        text = self.run(next(self.build.rglob(program)), f"--gtest_filter={gtest_filter}", "--gtest_brief=1")
        count = int(re.search(r"(\d+) tests? from", text)[1])
        if count == 0:
            raise ToyError(f"{program} has no test {gtest_filter}")

    def python(self, script, *arguments):
        return self.run(sys.executable, "-B", self.folder / script, *arguments)


def test_program(copy):
    """The flag, and the layout by the program."""
    program = copy.build / "apps/starling"
    if "--toy-greeting" not in copy.run(program, "serve", "--help"):
        raise ToyError("starling serve --help does not show the flag --toy-greeting")
    copy.python("tests/apps/check_config_test.py", program)
    copy.python("tests/apps/round_trip_test.py", "RoundTripTest.test_toy_keeps_its_rows", program)
    copy.python("tests/replay_oracle/run.py", "--starling", program, "--trace", "toy")


def first_script(copy):
    """Returns the name of the random scripts on the first engine, which is the fastest of this machine."""
    listed = copy.run(next(copy.build.rglob("test_toy_scripts")), "--gtest_list_tests",
                      "--gtest_filter=*RandomScriptsEqualTheOracle*")
    return "*" + re.search(r"RandomScriptsEqualTheOracle/\w+", listed)[0]


def compile_cuda(copy):
    """Compiles the sources of the GPU method, each alone, where nvcc is."""
    if not (shutil.which("nvcc") or pathlib.Path("/usr/local/cuda/bin/nvcc").exists()):
        print("gpu_method: nvcc is not there, so its kernels are not compiled")
        return
    folder = copy.folder / "build/cuda"
    copy.configure(folder, "-DSTARLING_CUDA=ON", "-DSTARLING_BENCH=ON", "-DSTARLING_UNITY=OFF")
    copy.make(folder, *(f"{copy.folder / source}^" for source in gpu_method.CUDA_SOURCES))


def run_toys(sources, scratch):
    tree = toys_in(sources)
    copy = Copy(scratch)
    tree.write(copy.folder)
    copy.configure(copy.build, "-DSTARLING_CUDA=OFF", "-DSTARLING_BENCH=OFF", "-DSTARLING_SIMD=native")
    copy.make(copy.build, *TARGETS)
    copy.test("test_house")
    copy.test("test_support", "Oracle*")
    copy.test("test_requests")
    copy.test("test_protocol", "RequestCodec.*:ReplyCodec.*:Corruption.*:ClientTest.*")
    copy.test("test_rights", "RightsMatrix.*")
    copy.test("test_toy_tables")
    copy.test("test_toy_layouts")
    copy.test("test_toy_scripts", f"*QuestionsThatNoListAnswers*:{first_script(copy)}")
    test_program(copy)
    copy.python("tests/docs/hacking_test.py", copy.folder)
    compile_cuda(copy)


def main():
    sources, *scratch = [argument for argument in sys.argv[1:] if argument != "--edits"]
    if not (pathlib.Path(sources) / ".git").exists():
        print(f"skipped: {sources} is not a git checkout, so the files to copy are not known")
        sys.exit(SKIPPED)
    try:
        if "--edits" in sys.argv:
            toys_in(sources)
        else:
            run_toys(sources, *scratch)
    except ToyError as error:
        sys.exit(f"docs toys: {error}")


if __name__ == "__main__":
    main()
