# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the documentation site. build.py runs Sphinx with it."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))

project = "Starling"
author = "The Starling developers"
copyright = "The Starling developers, Apache-2.0"

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
highlight_language = "text"
html_theme = "furo"
html_title = "Starling"
html_static_path = [str(ROOT / "docs/site/static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

breathe_default_project = "starling"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["sklearn", "pandas"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False
copybutton_exclude = ".linenos"

# With -n, a reference that leads nowhere is an error. These names are of other projects, of namespaces, of
# types that are not installed, and of constants and functions that are looked up inside the wrong class.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t"),
    ("cpp:identifier", r"(std|zmq|flatbuffers)(::.*)?|u?int\d+_t|size_t"),
    ("cpp:identifier", r"starling(::(protocol|cpu|gpu))?|ThreadPool"),
    ("cpp:identifier", r"(ReportedList::)?(no|any|never)_\w+|\w+Handler|VectorFault::Reason"),
    ("py:class", r"numpy\..*"),
]


def to_rest(app, what, name, object_, options, lines):
    """Marks `code` and names such as classes_ in the package's texts as code of reStructuredText."""
    for number, line in enumerate(lines):
        line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
        lines[number] = re.sub(r"(?<![`\w])(\w+_)(?![\w`])", r"``\1``", line)


def setup(app):
    app.connect("autodoc-process-docstring", to_rest, priority=100)
