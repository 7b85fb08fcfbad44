#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheel of the package, with libstarling.so and the libraries that it needs inside.

    wheel.py --library build/release/clients/c/libstarling.so --output build/release/python \\
        [--cuda-library build/release/lib/starling/libstarling-cuda.so]

Nothing is fetched: the libraries are those of this machine. Each bundled library gets a name of its
own, so that another package's copy in the same process cannot take its place. The same inputs give
the same bytes. CMake's target `wheel` calls this; it needs patchelf."""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
# Libraries that every Linux with the wheel's glibc has (PEP 600), and the GPU driver's library.
OF_THE_SYSTEM = re.compile(
    r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+"
    r"|libcuda)\.so.*")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_by(library):
    """Returns {name: path} of the libraries that a library needs, directly or not."""
    found = {}
    for line in run("ldd", str(library)).splitlines():
        name, _, rest = line.strip().partition(" => ")
        if rest == "not found":
            raise SystemExit(f"wheel: {library} needs {name}, which is not found")
        if rest and not OF_THE_SYSTEM.fullmatch(name):
            found[name] = pathlib.Path(rest.rpartition(" (")[0])
    return found


def own_name(name):
    """Returns libzmq-starling.so.5 for libzmq.so.5."""
    return name.replace(".so", "-starling.so", 1)


def bundle(library, folder):
    """Copies a library and all libraries that it needs into a folder. Returns the paths of the
    needed libraries."""
    folder.mkdir()
    others = needed_by(library)
    targets = {folder / "libstarling.so.0": library}
    targets.update({folder / own_name(name): path for name, path in others.items()})
    for target, source in targets.items():
        shutil.copyfile(source, target)
        target.chmod(0o755)
        # patchelf 0.14 damages a file if it makes several of these changes at once.
        for name in run("patchelf", "--print-needed", str(target)).split():
            if name in others:
                run("patchelf", "--replace-needed", name, own_name(name), str(target))
        run("patchelf", "--set-soname", target.name, str(target))
        run("patchelf", "--set-rpath", "$ORIGIN", str(target))
    return sorted(others.values())


def licences_of(paths):
    """Returns {file name: text} of the licences of libraries that come from Debian's packages."""
    found = {}
    for path in paths:
        try:
            package = run("dpkg-query", "--search", str(path.resolve())).split(":")[0]
        except (OSError, subprocess.CalledProcessError):
            continue
        text = pathlib.Path("/usr/share/doc", package, "copyright")
        if text.exists():
            found[f"{package}.txt"] = text.read_bytes()
    return found


def metadata_of(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Requires-Dist: {package}" for package in project["dependencies"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {package} ; extra == '{extra}'" for package in packages]
    lines += ["Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + (HERE / project["readme"]).read_text()


def tag():
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    return f"py3-none-manylinux_{glibc}_{platform.machine()}"


def write(wheel, files):
    """Writes {name in the wheel: bytes}, and their hashes as the last file."""
    record = next(name for name in files if name.endswith("/METADATA")).replace("METADATA", "RECORD")
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*sorted(files.items()), (record, None)]:
            if content is None:
                content = ("\n".join([*lines, f"{record},,"]) + "\n").encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}")
            entry = zipfile.ZipInfo(name)  # dated 1980, so that the same files give the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            archive.writestr(entry, content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--cuda-library", type=pathlib.Path)
    arguments = parser.parse_args()
    if not shutil.which("patchelf"):
        sys.exit("wheel: patchelf is not installed; scripts/setup installs it")
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    package = HERE / "starling"
    files = {f"starling/{path.name}": path.read_bytes()
             for path in package.iterdir() if path.suffix == ".py" or path.name == "py.typed"}
    with tempfile.TemporaryDirectory() as folder:
        others = bundle(arguments.library, pathlib.Path(folder, "lib"))
        for path in pathlib.Path(folder, "lib").iterdir():
            files[f"starling/lib/{path.name}"] = path.read_bytes()
    if arguments.cuda_library:  # it may need only libraries of the system
        if needed_by(arguments.cuda_library):
            sys.exit(f"wheel: {arguments.cuda_library} needs libraries that the wheel does not have")
        files["starling/lib/starling/libstarling-cuda.so"] = arguments.cuda_library.read_bytes()
    for name, text in licences_of(others).items():
        files[f"{info}/licenses/{name}"] = text
    files[f"{info}/licenses/LICENSE"] = (HERE.parents[1] / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata_of(project).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: starling\nRoot-Is-Purelib: false\nTag: {tag()}\n").encode()
    arguments.output.mkdir(parents=True, exist_ok=True)
    wheel = arguments.output / f"{stem}-{tag()}.whl"
    write(wheel, files)
    print(wheel)


if __name__ == "__main__":
    main()
