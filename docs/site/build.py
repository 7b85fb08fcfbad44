# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site: gathers the pages in a folder of the build, makes those of the interfaces,
and runs doxygen and Sphinx. A warning of either is an error. Run by the target docs-site and by a test.

Exit status: 0 if the site is built, 1 if not, 77 if a tool is missing."""

import argparse
import importlib.util
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import pages  # noqa: E402
import reference  # noqa: E402
from pages import ROOT  # noqa: E402

SITE = ROOT / "docs/site"
IS_MISSING = 77
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".h": "c", ".c": "c", ".py": "python",
             ".rs": "rust", ".json": "json", ".ipynb": "json", ".yml": "yaml", ".cmake": "cmake"}


class Stage:
    """The folder from which Sphinx builds. A file that has not changed keeps its time, so Sphinx reads only
    what is new."""

    def __init__(self, folder):
        self.folder = folder
        self.kept = set()
        self.sources = {}  # files and folders of the repository that pages link to, and their pages

    def put(self, name, content):
        path = self.folder / name
        self.kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, bytes) else content.encode()
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)

    def put_pages(self):
        found = pages.pages()
        self.names = {path: name for name, path in found.items()}
        for name, path in found.items():
            text = self.with_links(path.read_text(), path.parent, name)
            others = [other for other in found if name.endswith("/index") and other != name
                      and posixpath.dirname(other) == posixpath.dirname(name)]
            if others:  # a folder with a README: its pages are below it
                text += "\n:::{toctree}\n:hidden:\n\n" + "".join(f"/{other}\n" for other in others) + ":::\n"
            self.put(f"{name}.md", text)
        done = set()
        while set(self.sources) - done:
            for path in sorted(set(self.sources) - done):
                done.add(path)
                self.put_source(path, self.sources[path])

    def with_links(self, text, folder, name):
        """Returns a page's text with links that lead to pages of the site."""
        end = 0
        parts = []
        for link in pages.links(text):
            target, _, anchor = link["target"].partition("#")
            if pages.is_external(link["target"]) or not target:
                continue
            to = self.place_of((folder / target).resolve())
            to = posixpath.relpath(to, posixpath.dirname(name) or ".")
            parts += [text[end:link.start()], "](", to, "#" + anchor if anchor else "", ")"]
            end = link.end()
        return "".join(parts) + text[end:]

    def place_of(self, path):
        """Returns where the site has a file or a folder of the repository."""
        inside = path.relative_to(ROOT)
        if path.is_dir() and path / "README.md" in self.names:
            path = path / "README.md"
        if path in self.names:
            return f"{self.names[path]}.md"
        if path.suffix in pages.IMAGES:
            place = inside.as_posix().removeprefix("docs/")
            self.put(place, path.read_bytes())
            return place
        name = f"source/{inside}/index" if path.is_dir() else f"source/{inside}"
        self.sources[path] = name
        return f"{name}.md"

    def put_source(self, path, name):
        inside = path.relative_to(ROOT)
        head = f"---\norphan: true\nnosearch: true\n---\n# `{inside}`\n\n"
        if path.is_dir():
            rows = []
            for file in pages.files_below(path):
                to = posixpath.relpath(self.place_of(file), posixpath.dirname(name))
                rows.append(f"- [`{file.relative_to(path)}`]({to})\n")
            self.put(f"{name}.md", head + "".join(rows))
            return
        language = "cmake" if path.name == "CMakeLists.txt" else LANGUAGES.get(path.suffix, "text")
        self.put(f"{name}.md", f"{head}`````````{language}\n{path.read_text()}`````````\n")

    def remove_others(self):
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file() and path not in self.kept:
                path.unlink()

    def remove_old_html(self, out):
        """Removes the HTML of pages that are gone, which Sphinx leaves there."""
        names = {path.relative_to(self.folder).with_suffix("").as_posix() for path in self.kept}
        for path in out.rglob("*.html"):
            if path.relative_to(out).with_suffix("").as_posix() not in names | {"search", "genindex"}:
                path.unlink()


def missing_tools():
    found = [name for name in ("sphinx", "furo", "myst_parser", "breathe", "sphinx_copybutton")
             if importlib.util.find_spec(name) is None]
    if shutil.which("doxygen") is None:
        found.append("doxygen")
    return found


def for_breathe(group):
    """Returns the XML of a group with the namespace in the names of its members, which Breathe would leave
    out, and without the classes inside its classes, which Breathe would show twice."""
    names = re.findall(r"<innerclass [^>]*>([^<]*)<", group)
    for name in names:
        if name.rsplit("::", 1)[0] in names:
            group = re.sub(rf"<innerclass [^>]*>{re.escape(name)}</innerclass>", "", group)
    return re.sub(r"<name>[^<]*</name>(\s*<qualifiedname>)([^<]*)", r"<name>\2</name>\1\2", group)


def run_doxygen(folder, headers):
    """Runs doxygen into a folder, and returns whether it has no warning."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (SITE / "Doxyfile.in").read_text()
    for name, value in (("HEADERS", " ".join(f'"{header}"' for header in headers)), ("FOLDER", folder),
                        ("FILTER", f"{sys.executable} -B {SITE}/doxygen_filter.py")):
        text = text.replace(f"@{name}@", str(value))
    (folder / "Doxyfile").write_text(text)
    done = subprocess.run(["doxygen", folder / "Doxyfile"], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    for path in (folder / "xml").glob("group__starling*.xml"):
        path.write_text(for_breathe(path.read_text()))
    return done.returncode == 0 and not done.stderr


def main():
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for intermediate files")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the site")
    parser.add_argument("--headers", type=pathlib.Path, required=True,
                        help="file with the installed headers of C++, one a line")
    parser.add_argument("--version", required=True)
    options = parser.parse_args()

    missing = missing_tools()
    if missing:
        print(f"The site is not built: {', '.join(missing)} cannot be found. scripts/setup installs what it "
              "needs.")
        return IS_MISSING
    work = options.work.resolve()
    headers = options.headers.read_text().split()
    if not run_doxygen(work / "doxygen", [*headers, ROOT / "clients/c/starling.h"]):
        print("The site is not built: doxygen has errors or warnings.", file=sys.stderr)
        return 1

    stage = Stage(work / "pages")
    stage.put_pages()
    for path in (SITE / "api").glob("*.rst"):
        stage.put(f"api/{path.name}", path.read_text())
    stage.put("api/cpp.rst", reference.cpp_page(headers))
    stage.put("api/wire.md", reference.wire_page(ROOT / "protocol/wire/starling.fbs"))
    stage.put("api/http.md", reference.http_page(ROOT / "docs/openapi.json"))
    stage.remove_others()
    command = [sys.executable, "-B", "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q",
               "-j", str(min(4, os.cpu_count() or 1)), "-c", SITE, "-d", work / "doctrees",
               "-D", f"release={options.version}", "-D", f"breathe_projects.starling={work}/doxygen/xml",
               stage.folder, options.out]
    if subprocess.run([str(word) for word in command]).returncode:
        return 1
    stage.remove_old_html(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
