# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation site: which files of the repository they are, and where their links lead.
build.py makes the site of them. The tests run their snippets and follow their links. Needs no Sphinx."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = (".png", ".svg", ".gif", ".jpg")
LEFT_OUT = {"node_modules", "build", "dist", "__pycache__"}
# A fenced block, a code span, or the end of a link with its target.
PIECES = re.compile(r"^(?P<fence>`{3,}|:{3,})[^\n]*\n.*?^(?P=fence)[ ]*$"
                    r"|(?P<ticks>`+)[^`].*?(?<!`)(?P=ticks)(?!`)"
                    r"|\]\((?P<target>[^)\s]+)\)", re.MULTILINE | re.DOTALL)


def pages():
    """Returns the Markdown files of the site by their names in it, such as "concepts" or
    "decisions/index"."""
    found = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        name = name.removeprefix("site/")
        found[re.sub(r"(^|/)README$", r"\1index", name)] = path
    for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "CODE_OF_CONDUCT"):
        found[name] = ROOT / f"{name}.md"
    found["protocol"] = ROOT / "protocol/README.md"
    return found


def links(text):
    """Returns the links of a page, as matches whose group "target" is where each leads."""
    return [piece for piece in PIECES.finditer(text) if piece["target"]]


def is_external(target):
    return re.match(r"[a-z]+:", target) is not None


def headings(text):
    """Returns the anchors of a page: what a link names after "#"."""
    seen = {}
    found = set()
    prose = re.sub(r"^(`{3,}|:{3,})[^\n]*\n.*?^\1[ ]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r"^#{1,6} +(.+?) *$", prose, re.MULTILINE):
        title = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def files_below(folder):
    """Returns the files of a folder that a page links to."""
    return sorted(path for path in folder.rglob("*") if path.is_file()
                  and not any(part in LEFT_OUT or part.startswith(".")
                              for part in path.relative_to(folder).parts))
