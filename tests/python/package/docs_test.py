#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every snippet of docs/python.md and of both READMEs, and the programs of examples/python."""

import json
import os
import re
import subprocess
import sys
import unittest

import package_case

package_case.enter_peers()

from package_case import PACKAGE, PATIENCE_S, ROOT, ServerCase  # noqa: E402


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)


class Documents(ServerCase):
    def run_program(self, *arguments):
        """Runs a program of Python in the project's folder, and returns what it prints."""
        paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-B", *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
            env={**os.environ, "PYTHONPATH": paths}, cwd=ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    @package_case.needs("pandas")
    def test_the_snippets_of_the_page_run_one_after_the_other(self):
        self.serve("--tick", "20ms")
        blocks = blocks_of(ROOT / "docs/python.md")
        self.assertEqual(len(blocks), 11)
        program = "\n".join(blocks)
        for port, endpoint in (("7411", "commands"), ("7412", "results")):
            self.assertIn(f"tcp://127.0.0.1:{port}", program)
            program = program.replace(f"tcp://127.0.0.1:{port}", self.endpoints[endpoint])
        said = self.run_program("-c", program)
        self.assertIn("REFUSED unknown_stream", said)
        self.assertIn("['bus' 'tram']", said)

    def test_the_readmes_snippet_runs(self):
        (block,) = blocks_of(PACKAGE / "README.md")
        said = self.run_program("-c", block).splitlines()
        self.assertRegex(said[0], r"\['taxi-1' 'taxi-3'\] \[ 374\.\d+ 1066\.\d+ *\]")
        self.assertIn("[[0 1]]", said[1])

    def test_the_snippet_of_the_projects_readme_runs(self):
        (block,) = blocks_of(ROOT / "README.md")
        self.assertEqual(self.run_program("-c", block), "['taxi-1' 'taxi-3']\n")

    def test_the_fleet_reports_free_taxis(self):
        lines = self.run_program(ROOT / "examples/python/fleet.py").splitlines()
        self.assertGreater(len(lines), 60)
        for line in lines:
            self.assertRegex(line, r"^2026-01-01T12:00:\d\d (opera|castle|park):")

    def test_the_graph_has_two_parts(self):
        self.assertIn("parts: [800, 1200]", self.run_program(ROOT / "examples/python/knn_graph.py"))

    @package_case.needs("pandas")
    def test_the_cells_of_the_notebook_run_and_lists_are_tables(self):
        cells = json.loads((ROOT / "examples/python/lists.ipynb").read_text())["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        program = "import ast\nseen, names = [], {}\n" + "".join(f"""
cell = ast.parse({source!r})
exec(compile(ast.Module(cell.body[:-1], []), "cell", "exec"), names)
seen.append(eval(compile(ast.Expression(cell.body[-1].value), "cell", "eval"), names))
""" for source in sources)
        said = self.run_program("-c", program + "print(seen[0]._repr_html_(), len(seen[1]), repr(seen[3]))")
        self.assertIn("<td>Oslo</td><td>ship-", said)
        self.assertIn("</table> 6 <Lists of 'harbours'", said)

    @package_case.needs("sklearn")
    def test_the_digits_are_classified(self):
        said = self.run_program(ROOT / "examples/python/digits.py")
        self.assertGreater(float(said.split()[-1]), 0.95)

    def test_every_name_of_the_package_is_on_the_page(self):
        import starling
        page = (ROOT / "docs/python.md").read_text()
        for name in starling.__all__:
            if name not in ("Limit", "ErrorCode", "aio"):
                self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    unittest.main()
