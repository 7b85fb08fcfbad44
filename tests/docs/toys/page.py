# SPDX-License-Identifier: Apache-2.0
"""Reads the steps of docs/HACKING.md, and compares them with those of a toy."""

import pathlib
import re

from toys.edits import ToyError

FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.\w+)")
HEADER_RULE = "declared in the header beside it"
CMAKE_RULE = "`CMakeLists.txt` of its top folder"


def files_in(text):
    codes = (" ".join(code.split()) for code in re.findall(r"`([^`]+)`", text))
    return [code for code in codes if FILE.fullmatch(code)]


class Page:
    def __init__(self, text):
        self.sections = {part.split("\n", 1)[0].strip(): part for part in text.split("\n## ")}
        general = " ".join(self.sections.get("Before you change something", "").split())
        self.has_header_rule = HEADER_RULE in general
        self.has_cmake_rule = CMAKE_RULE in general

    def steps(self, section):
        """Returns the files that each step names, by its number."""
        if section not in self.sections:
            raise ToyError(f"docs/HACKING.md no longer has the section '{section}'")
        items = re.findall(r"^(\d+)\. (.*(?:\n +.*)*)", self.sections[section], re.MULTILINE)
        return {int(number): files_in(item) for number, item in items}

    def names(self, edit, files):
        """Returns whether one of the files, or a rule for all changes, leads to the edit."""
        if edit.like is not None:
            path, model = pathlib.PurePath(edit.file), pathlib.PurePath(edit.like)
            return edit.like in files and path.parent.parent == model.parent.parent
        path = pathlib.PurePath(edit.file)
        others = {str(path.with_suffix(suffix)) for suffix in (".cpp", ".hpp")}
        is_beside = path.suffix in (".cpp", ".hpp") and bool(others & set(files))
        return (edit.file in files or (is_beside and self.has_header_rule)
                or (path.name == "CMakeLists.txt" and self.has_cmake_rule))

    def check(self, name, toy):
        """Raises ToyError unless the toy takes the page's steps in order, and touches only their files."""
        about = f"\"{toy.SECTION}\" of docs/HACKING.md"
        both = f"bring tests/docs/toys/{name}.py and docs/HACKING.md up to date"
        steps = self.steps(toy.SECTION)
        taken = [number for number, _ in toy.STEPS]
        if taken != sorted(set(taken)):
            raise ToyError(f"the toy '{name}' does not take the steps of {about} in order: {taken}")
        for number, edits in toy.STEPS:
            for edit in edits:
                if not self.names(edit, steps.get(number, [])):
                    raise ToyError(f"the toy '{name}' touches {edit.file} in step {number}, where {about} "
                                   f"does not name it: {both}")
        for number in steps:
            if (number in taken) == (number in toy.LEFT_OUT):
                raise ToyError(f"the toy '{name}' must either take step {number} of {about}, "
                               f"{', '.join(steps[number])}, or say why it leaves it out: {both}")
        for number in {*taken, *toy.LEFT_OUT} - set(steps):
            raise ToyError(f"{about} has no step {number}, which the toy '{name}' knows: {both}")
