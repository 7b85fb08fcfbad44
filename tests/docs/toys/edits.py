# SPDX-License-Identifier: Apache-2.0
"""The edits that a toy is made of, and a copy of the sources in which they are made. Each edit names a file
and an anchor: text that the file has exactly once."""

import dataclasses
import os
import pathlib
import subprocess
from typing import Optional


MARK = ".toys"  # the file that marks a folder as a copy, whose other files may be removed


class ToyError(Exception):
    """What is wrong, in one sentence."""


@dataclasses.dataclass(frozen=True)
class Edit:
    file: str
    anchor: Optional[str]  # None: a new file
    text: str  # what stands in the place of the anchor afterwards
    like: Optional[str] = None  # a new file: the file that the page names as its model


def after(file, anchor, text):
    return Edit(file, anchor, anchor + text)


def before(file, anchor, text):
    return Edit(file, anchor, text + anchor)


def replace(file, anchor, text):
    return Edit(file, anchor, text)


def new(file, text, like):
    return Edit(file, None, text, like)


def changelog(text):
    """Returns the edit that tells of a toy in CHANGELOG.md."""
    return after("CHANGELOG.md", "## [Unreleased]\n\n### Added\n", f"- {text}\n")


class Tree:
    """The files that git knows, with edits. They stay in memory until write()."""

    def __init__(self, sources):
        self.sources = pathlib.Path(sources)
        listed = subprocess.run(["git", "-C", sources, "ls-files", "-z"], capture_output=True, check=True)
        names = filter(None, listed.stdout.decode().split("\0"))
        self.names = [name for name in names if (self.sources / name).exists()]
        self.edited = {}

    def text(self, file):
        if file not in self.edited:
            if file not in self.names:
                raise ToyError(f"{file} is not in the sources")
            self.edited[file] = (self.sources / file).read_text(encoding="utf-8")
        return self.edited[file]

    def apply(self, edit, home):
        """Makes an edit of the toy in the file `home`."""
        if edit.anchor is None:
            if edit.file in self.names or edit.file in self.edited:
                raise ToyError(f"{edit.file} is there already: bring {home} up to date")
            self.edited[edit.file] = edit.text
            return
        count = self.text(edit.file).count(edit.anchor)
        if count != 1:
            said = "no longer has" if count == 0 else f"has {count} times"
            first, *more = edit.anchor.strip().split("\n")
            raise ToyError(f"{edit.file} {said} the text '{first}{' ...' if more else ''}': bring {home} "
                           "and docs/HACKING.md up to date")
        self.edited[edit.file] = self.edited[edit.file].replace(edit.anchor, edit.text)

    def write(self, folder):
        """Makes `folder` a copy of the tree. Leaves the folder `build` alone, and files that are the same, so
        that a second build does not compile them again."""
        folder = pathlib.Path(folder)
        mark = folder / MARK
        if folder.exists() and any(folder.iterdir()) and not mark.exists():
            raise ToyError(f"{folder} has files that are no copy made here: name another folder for the copy")
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        wanted = {name: self.edited.get(name) for name in {*self.names, *self.edited}}
        for name, text in wanted.items():
            path, source = folder / name, self.sources / name
            data = source.read_bytes() if text is None else text.encode()
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            if source.exists():
                path.chmod(source.stat().st_mode)
        for root, folders, files in os.walk(folder):
            if pathlib.Path(root) == folder and "build" in folders:
                folders.remove("build")
            for path in (pathlib.Path(root) / file for file in files):
                if str(path.relative_to(folder)) not in {MARK, *wanted}:
                    path.unlink()
