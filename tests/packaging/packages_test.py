# SPDX-License-Identifier: Apache-2.0
"""Tests the built packages and the wheel: what they hold, lintian, and that the program and the library run
from them. scripts/test-packages builds them and calls this with the packages' folder."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

PACKAGES = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE_S = 60  # how long anything may take before its test fails
RELEASE = "bookworm"


def run(*command, status=0, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **{"timeout": PATIENCE_S, **options})
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def package(pattern):
    found = sorted(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{pattern}: {found}")
    return found[0]


ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = list((ROOT / "build/release/python").glob("starling_knn-*.whl"))
NAMES = ["starling", "libstarling0", "libstarling-dev", "python3-starling"]
HAS_CUDA = any(PACKAGES.glob("starling-cuda_*.deb"))  # scripts/test-packages removes older packages
if HAS_CUDA:
    NAMES.append("starling-cuda")
DEBS = {name: package(f"{name}_*.deb") for name in NAMES}
needs_cuda = unittest.skipUnless(HAS_CUDA, "nvcc is missing, so there is no package starling-cuda")
NO_CUDA = "--engine cuda: the CUDA engine is not installed; install the package starling-cuda of version "
NO_GPU = ("--engine cuda: (NVIDIA's driver is not installed|no GPU can be used, CUDA says: |"
          "there is no NVIDIA GPU|this build has no code for the GPU )")


# The booted system runs this unit and script, which write /root/report for the test.
CHECK_UNIT = """[Unit]
After=starling.service
[Service]
Type=oneshot
ExecStart=/bin/sh /root/check
StandardOutput=file:/root/report
StandardError=inherit
"""
CHECK_SCRIPT = """
curl --silent --retry 60 --retry-delay 1 --retry-connrefused --output /dev/null \\
    --write-out 'healthz %{http_code}\\n' http://127.0.0.1:7413/healthz
curl --silent http://127.0.0.1:7413/
systemctl show --property=User starling
starling put --id 1 --x 1 --y 2
starling top --once
journalctl --unit starling --no-pager
systemctl stop starling
echo after stop $(systemctl is-active starling)
systemctl show --property=Result starling
systemctl poweroff
"""
# Prints the two points that are nearest to the first point.
PYTHON_PROGRAM = """
import numpy, starling
points = numpy.array([[0.0, 0.0], [9.0, 9.0], [1.0, 0.0]], dtype=numpy.float32)
print(starling.knn(points, points[:1], 2).indices.tolist())
"""


class PackageCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_server(self, command, top=None):
        """Runs a server on free ports, reads its page and its health, and ends it."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/bin", "STARLING_SERVE_COMMANDS": "tcp://127.0.0.1:*",
                       "STARLING_SERVE_RESULTS": "tcp://127.0.0.1:*", "STARLING_SERVE_HTTP": "127.0.0.1:0"}
        with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True,
                              env=environment, cwd="/") as server:
            try:
                said = ""
                for line in server.stderr:
                    said += line
                    ready = re.search(r"ready: .* commands (\S+), .*http (\S+)", line)
                    if ready:
                        break
                else:
                    self.fail(said)
                with urllib.request.urlopen(f"http://{ready[2]}/healthz", timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.status, 200)
                with urllib.request.urlopen(f"http://{ready[2]}/", timeout=PATIENCE_S) as answer:
                    self.assertIn("page.js", answer.read().decode())
                if top:
                    self.assertIn("ticks/s", run(*top, "top", "--once", "--connect", ready[1]))
            finally:
                server.terminate()
            server.stderr.read()
            self.assertEqual(server.wait(PATIENCE_S), 0)

    def check_cuda(self, program, said):
        """Checks that `--engine cuda` is refused in these words, and that `auto` answers on the CPU. With a
        GPU and the CUDA engine, both write the same bytes, on the GPU."""
        points = self.folder / "points.csv"
        points.write_text("x,y\n0,0\n3,0\n1,0\n")
        command = [program, "knn", "--points", points, "--graph", "-k", "1", "--out", self.folder / "out.csv"]
        chosen = run(*command)
        bytes_of_auto = (self.folder / "out.csv").read_bytes()
        self.assertEqual(len(bytes_of_auto.splitlines()), 4)
        if "answered by cuda" in chosen and said != NO_CUDA:
            run(*command, "--engine", "cuda")
            self.assertEqual((self.folder / "out.csv").read_bytes(), bytes_of_auto)
            return
        self.assertIn("answered by cpu (chosen by --engine auto: ", chosen)
        self.assertRegex(run(*command, "--engine", "cuda", status=1), said)

    def check_sbom(self, root, program, name="starling", libraries_min=10):
        """Checks that the list has the package of each library that the loader finds, and no other package
        except those of static libraries."""
        bill = json.loads((root / f"share/doc/{name}/sbom.spdx.json").read_text())
        static = {each["relatedSpdxElement"] for each in bill["relationships"]
                  if each["relationshipType"] == "STATIC_LINK"}
        self.assertEqual(static, {"SPDXRef-cuda-cudart"} if name == "starling-cuda" else set())
        listed = {each["name"]: each["versionInfo"] for each in bill["packages"][1:]
                  if each["SPDXID"] not in static}
        owners = {}
        for path in re.findall(r"(?:=> |\t)(/\S+)", run("ldd", program)):
            real = os.path.realpath(path)
            for name in (real, real.removeprefix("/usr")):
                found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
                if found.returncode == 0:
                    owner = found.stdout.rpartition(": ")[0]
                    owners[owner.split(":")[0]] = run("dpkg-query", "-W", "-f${Version}", owner)
        self.assertGreaterEqual(len(owners), libraries_min)
        self.assertEqual(listed, owners)


class DebsTest(PackageCase):
    def contents(self, name):
        return {line.split()[5].removeprefix("."): line.split()[0]
                for line in run("dpkg-deb", "--contents", DEBS[name]).splitlines()}

    def test_lintian_finds_nothing(self):
        said = run("lintian", "--allow-root", "--fail-on", "error,warning", *DEBS.values(), timeout=300)
        self.assertEqual(re.findall(r"^[EW]: .*", said, re.MULTILINE), [])

    def test_each_package_holds_its_part(self):
        program = self.contents("starling")
        for path in ("/usr/bin/starling", "/etc/starling/starling.toml",
                     "/lib/systemd/system/starling.service", "/usr/share/starling/page/index.html",
                     "/usr/share/man/man1/starling-serve.1.gz",
                     "/usr/share/bash-completion/completions/starling",
                     "/usr/share/zsh/site-functions/_starling",
                     "/usr/share/fish/vendor_completions.d/starling.fish",
                     "/usr/share/doc/starling/sbom.spdx.json", "/usr/share/doc/starling/docs/operating.md",
                     "/usr/share/doc/starling/protocol/README.md",
                     "/usr/share/doc/starling/examples/prometheus.yml"):
            self.assertIn(path, program)
        library = self.contents("libstarling0")
        names = sorted(os.path.basename(path) for path in library if "/libstarling.so" in path)
        self.assertRegex(" ".join(names), r"^libstarling\.so\.0 libstarling\.so\.0\.\d+\.\d+$")
        files = self.contents("libstarling-dev")
        for end in ("/starling.h", "/libstarling.so", "/pkgconfig/starling.pc", "/starlingConfig.cmake",
                    "/starling/starling.hpp", "/starling/clients/cpp/engine.hpp",
                    "/starling/knn/engine/engine.hpp", "/libstarling_cpu.a"):
            self.assertTrue(any(path.endswith(end) for path in files), end)

    def test_dependencies_are_those_of_the_linked_libraries(self):
        def depends(name):
            return run("dpkg-deb", "--field", DEBS[name], "Depends")
        for name in ("libc6 ", "libzmq5 ", "libstdc++6 "):
            self.assertIn(name, depends("starling"))
            self.assertIn(name, depends("libstarling0"))
        version = run("dpkg-deb", "--field", DEBS["libstarling0"], "Version").strip()
        self.assertIn(f"libstarling0 (= {version})", depends("libstarling-dev"))
        for name in DEBS:
            self.assertNotRegex(depends(name), "cuda|nvidia|nccl", name)
        if HAS_CUDA:
            self.assertIn(f"starling (= {version}) | libstarling0 (= {version})", depends("starling-cuda"))

    @needs_cuda
    def test_the_cuda_engine_is_one_library_with_no_other_of_nvidia(self):
        libraries = [path for path in self.contents("starling-cuda") if ".so" in path]
        self.assertEqual([os.path.basename(path) for path in libraries], ["libstarling-cuda.so"])
        self.assertTrue(libraries[0].endswith("/starling/libstarling-cuda.so"), libraries)
        run("dpkg-deb", "--extract", DEBS["starling-cuda"], self.folder)
        library = self.folder / libraries[0].lstrip("/")
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
        self.assertLessEqual(set(needed), {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
                                           "ld-linux-x86-64.so.2"})
        exported = run("nm", "-D", "--defined-only", "--format=just-symbols", library).split()
        self.assertEqual(sorted(exported), ["starling_cuda_build_id", "starling_cuda_door"])
        self.check_sbom(self.folder / "usr", library, "starling-cuda", 3)

    def test_the_program_says_that_the_cuda_engine_is_missing(self):
        run("dpkg-deb", "--extract", DEBS["starling"], self.folder)
        self.check_cuda(self.folder / "usr/bin/starling", NO_CUDA)

    @needs_cuda
    def test_the_program_finds_the_cuda_engine_beside_itself(self):
        for name in ("starling", "starling-cuda"):
            run("dpkg-deb", "--extract", DEBS[name], self.folder)
        program = self.folder / "usr/bin/starling"
        (library,) = self.folder.glob("usr/lib/*/starling/libstarling-cuda.so")
        self.assertRegex(run(program, "info"), rf"(?m)^CUDA engine +{library}$")
        self.check_cuda(program, NO_GPU)

    def test_the_program_runs_where_it_is_unpacked(self):
        run("dpkg-deb", "--extract", DEBS["starling"], self.folder)
        program = self.folder / "usr/bin/starling"
        self.assertIn("engine cpu", run(program, "info"))
        self.assertNotRegex(run("readelf", "-d", program), "RPATH|RUNPATH")
        self.check_server([program, "serve", "--config", self.folder / "etc/starling/starling.toml"])
        self.check_sbom(self.folder / "usr", program)

    def test_man_pages_are_compressed_and_whole(self):
        run("dpkg-deb", "--extract", DEBS["starling"], self.folder)
        page = self.folder / "usr/share/man/man1/starling-serve.1.gz"
        self.assertIn(".TH STARLING-SERVE 1", gzip.decompress(page.read_bytes()).decode())

    def run_built(self, compiler, source):
        """Builds a program with the libraries of the packages, and returns what it prints."""
        for name in ("libstarling0", "libstarling-dev"):
            run("dpkg-deb", "--extract", DEBS[name], self.folder)
        libraries = next(self.folder.glob("usr/lib/*/libstarling.so")).parent
        flags = run("pkg-config", "--cflags", "--libs", "starling",
                    env={**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}).split()
        run(*compiler, source, "-o", self.folder / "program", *flags)
        return run(self.folder / "program", env={"LD_LIBRARY_PATH": str(libraries)})

    @unittest.skipUnless(shutil.which("g++") and shutil.which("pkg-config"), "g++ or pkg-config is missing")
    def test_a_cpp_program_is_built_with_the_one_header(self):
        said = self.run_built(["g++", "-std=c++20"], ROOT / "examples/ask.cpp")
        self.assertEqual(said, "1 at 1\n0 at 1.41421\n")

    @unittest.skipUnless(shutil.which("gcc") and shutil.which("pkg-config"), "gcc or pkg-config is missing")
    def test_a_c_program_is_built_with_the_library(self):
        source = self.folder / "program.c"
        source.write_text("#include <starling.h>\n#include <stdio.h>\n"
                          "int main(void) { puts(starling_version()); return 0; }\n")
        said = self.run_built(["gcc"], source)
        version = run("dpkg-deb", "--field", DEBS["libstarling0"], "Version").strip()
        self.assertEqual(said.strip(), version.rpartition("-")[0])


class TarballTest(PackageCase):
    def test_it_runs_from_any_folder_with_its_own_libraries_and_page(self):
        folder = self.folder / "a folder"
        folder.mkdir()
        run("tar", "--extract", "--file", package("starling-[0-9]*.tar.gz"), "--directory", folder)
        (root,) = folder.iterdir()
        program = root / "bin/starling"
        self.assertIn("engine cpu", run(program, "info"))
        for path in re.findall(r"=> (/\S.*) \(", run("ldd", program)):
            own = path.startswith(str(folder)) or re.match(
                r"lib(c|m|stdc\+\+|gcc_s|pthread|resolv|dl|rt)\.so", os.path.basename(path))
            self.assertTrue(own, path)
        self.check_server([program, "serve"])
        self.check_cuda(program, NO_CUDA)
        if HAS_CUDA:
            run("tar", "--extract", "--file", package("starling-cuda-*.tar.gz"), "--directory", folder)
            self.assertEqual(list(folder.iterdir()), [root])
            self.check_cuda(program, NO_GPU)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap"),
                     "needs root and debootstrap (apt-get install debootstrap)")
class CleanSystemTest(PackageCase):
    """A clean Debian 12 in a folder, made once from the mirror that apt here uses."""

    def make_system(self):
        clean = PACKAGES / "debian-12"
        if not clean.exists():
            targets = run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)")
            mirror = re.search(rf"^(\S+) {RELEASE} main$", targets, re.MULTILINE)
            if not mirror:
                self.skipTest(f"apt has no source of {RELEASE}")
            made = clean.with_suffix(".part")
            shutil.rmtree(made, ignore_errors=True)
            try:
                run("debootstrap", "--variant=minbase", RELEASE, made, mirror[1], timeout=900)
            except AssertionError as error:
                self.skipTest(f"debootstrap cannot make the system: {str(error)[-200:]}")
            made.rename(clean)
        root = self.folder / "root"
        run("cp", "--archive", clean, root, timeout=300)
        run("mount", "-t", "proc", "proc", root / "proc")
        self.addCleanup(subprocess.run, ["umount", root / "proc"], stderr=subprocess.DEVNULL)
        return root

    def start(self):
        """Makes the system, and fetches apt's lists."""
        self.root = self.make_system()
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        self.inside("apt-get", "update", "-qq")

    def install(self, *more):
        """Makes the system and installs the packages, and others by name, in it."""
        self.start()
        self.files_before = self.files()
        self.packages_before = self.inside("dpkg-query", "-W", "-f${Package}\n").split()
        (self.root / "packages").mkdir()
        for deb in DEBS.values():
            shutil.copy(deb, self.root / "packages")
        self.inside("sh", "-c", "apt-get install -y -qq --no-install-recommends /packages/*.deb " +
                    " ".join(more))

    def inside(self, *command, **options):
        return run("chroot", self.root, *command, timeout=600,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                        "LC_ALL": "C.UTF-8"}, **options)

    def files(self):
        """Returns all paths, except temporary ones and those where apt and dpkg keep records of packages."""
        kept = re.compile(r"/(proc|sys|dev|tmp|packages|var/(cache|lib/(apt|dpkg)|log))(/|$)")
        paths = run("find", self.root, "-xdev").splitlines()
        inside = {path.removeprefix(str(self.root)) for path in paths}
        return {path for path in inside if not kept.match(path)}

    def test_apt_installs_it_the_service_runs_and_purge_leaves_no_file(self):
        self.install()
        unit = (self.root / "lib/systemd/system/starling.service").read_text()
        line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
        user = ["setpriv", "--reuid=65500", "--regid=65500", "--clear-groups", "--no-new-privs"]
        self.check_server(["chroot", self.root, *user, *line], ["chroot", self.root, "/usr/bin/starling"])
        enabled = self.root / "etc/systemd/system/multi-user.target.wants/starling.service"
        self.assertTrue(enabled.is_symlink())
        for name in DEBS:
            self.assertEqual(self.inside("dpkg", "--verify", name), "")
        said = self.inside("python3", "-c", PYTHON_PROGRAM)
        self.assertEqual(said.strip(), "[[0, 2]]")
        if HAS_CUDA:  # a clean system has no driver
            said = self.inside("starling", "info")
            self.assertRegex(said, r"(?m)^CUDA engine +/usr/lib/\S+/starling/libstarling-cuda.so$")
            self.assertIn("NVIDIA's driver is not installed; install it, or use --engine cpu", said)

        installed = self.inside("dpkg-query", "-W", "-f${Package}\n").split()
        added = set(installed) - set(self.packages_before)
        self.inside("apt-get", "purge", "-y", "-qq", *DEBS)
        left = {path for path in self.files() if "starling" in path}
        self.assertEqual(left, set())
        self.inside("apt-get", "purge", "-y", "-qq", *(added - set(DEBS)))
        after = self.files()
        self.assertEqual((after - self.files_before, self.files_before - after), (set(), set()))

    @unittest.skipUnless(WHEELS, "there is no wheel: patchelf is missing (scripts/setup)")
    def test_pip_installs_the_wheel_and_the_readmes_example_runs(self):
        self.start()
        self.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "python3-venv",
                    "python3-numpy")
        shutil.copy(WHEELS[0], self.root / "root")
        self.inside("python3", "-m", "venv", "--system-site-packages", "/root/environment")
        self.inside("/root/environment/bin/pip", "install", "--no-index", f"/root/{WHEELS[0].name}")
        (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        said = self.inside("/root/environment/bin/python", "-c", example)
        self.assertEqual(said.strip(), "['taxi-1' 'taxi-3']")

    @unittest.skipUnless(shutil.which("systemd-nspawn"), "systemd-nspawn is missing (systemd-container)")
    def test_systemd_starts_it_in_its_sandbox_and_stops_it(self):
        self.install("systemd", "systemd-sysv", "curl")
        run("umount", self.root / "proc")
        check = self.root / "etc/systemd/system/check.service"
        check.write_text(CHECK_UNIT)
        (check.parent / "multi-user.target.wants/check.service").symlink_to("../check.service")
        script = self.root / "root/check"
        script.write_text(CHECK_SCRIPT)
        booted = subprocess.run(
            ["systemd-nspawn", "--quiet", f"--directory={self.root}", f"--machine=starling-{os.getpid()}",
             "--boot", "--private-network", "--register=no", "--keep-unit"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        report = self.root / "root/report"
        if not report.exists():
            self.skipTest(f"systemd-nspawn boots nothing here: {booted.stdout[-200:]}{booted.stderr[-200:]}")
        said = report.read_text()
        for line in ("healthz 200", "User=starling", "page.js", "1 accepted", "ticks/s", "ready: cpu engine",
                     "after stop inactive", "Result=success"):
            self.assertIn(line, said)


if __name__ == "__main__":
    unittest.main()
