#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of examples/python, and compares the names of docs/python.md with the package."""

import json
import os
import subprocess
import sys
import unittest

import package_case

package_case.enter_peers()

from package_case import PACKAGE, PATIENCE_S, ROOT  # noqa: E402


class Documents(unittest.TestCase):
    def run_program(self, *arguments):
        """Runs a program of Python in the project's folder, and returns what it prints."""
        paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-B", *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
            env={**os.environ, "PYTHONPATH": paths}, cwd=ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

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
