# SPDX-License-Identifier: Apache-2.0
"""Holds the alerts of Prometheus and the dashboard of Grafana against /metrics of a server and
docs/operating.md, and runs promtool, if it is on the PATH or STARLING_PROMTOOL names it. Run by ctest with
the paths of the program and of the sources."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

from server_case import PATIENCE_S, ServerCase

SOURCES = pathlib.Path(sys.argv.pop())
ServerCase.program = sys.argv.pop()
RULES = SOURCES / "packaging/prometheus/starling.rules.yml"
RULES_TEST = SOURCES / "packaging/prometheus/starling.rules.test.yml"
DASHBOARD = SOURCES / "packaging/grafana/starling.json"
PROMTOOL = os.environ.get("STARLING_PROMTOOL") or shutil.which("promtool")


class MonitoringTest(ServerCase):
    def expressions(self):
        """Returns the expressions of both files."""
        panels = json.loads(DASHBOARD.read_text())["panels"]
        return (re.findall(r"^ *expr: (.*)$", RULES.read_text(), re.MULTILINE) +
                [target["expr"] for panel in panels for target in panel.get("targets", [])])

    def served(self):
        """Returns the labels of each series' name."""
        self.serve("--tick", "10ms")
        address = f"http://{self.endpoints['http']}/metrics"
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        labels = {}
        for line in lines:
            found = re.match(r"(starling_\w+)(\{.*\})? ", line)
            if found:
                labels.setdefault(found[1], set()).update(re.findall(r'(\w+)="', found[2] or ""))
        return labels

    def test_each_metric_is_served_with_the_labels_that_are_asked_of_it(self):
        served = self.served()
        page = (SOURCES / "docs/operating.md").read_text()
        expressions = self.expressions()
        self.assertGreater(len(expressions), 30)
        of_prometheus = {"job", "instance", "le"}
        for expression in expressions:
            names = re.findall(r"starling_\w+", expression)
            self.assertTrue(names or expression.startswith("up{"), expression)
            for name in names:
                self.assertIn(name, served, expression)
                self.assertIn(f"| `{re.sub('_(bucket|sum|count)$', '', name)}` |", page)
            asked = re.findall(r'(\w+)=?[=!~]+"', expression)
            for group in re.findall(r"\b(?:by|without) \(([^)]*)\)", expression):
                asked += group.split(", ")
            have = set().union(*(served[name] for name in names)) if names else set()
            self.assertLessEqual(set(asked) - of_prometheus, have, expression)

    def test_the_page_has_every_alert_with_its_expression(self):
        page = (SOURCES / "docs/operating.md").read_text()
        alerts = re.findall(r"alert: (\w+)\n(?: *#.*\n)* *expr: (.*)", RULES.read_text())
        self.assertGreater(len(alerts), 5)
        shown = re.findall(r"^\| `(Starling\w+)` \| .* \| `(.*)` \|", page, re.MULTILINE)
        self.assertEqual(shown, alerts)

    def test_every_alert_is_tested_both_ways(self):
        text = RULES_TEST.read_text()
        for alert in re.findall(r"alert: (\w+)", RULES.read_text()):
            self.assertRegex(text, rf"\{{eval_time: \w+, alertname: {alert}\}}")
            self.assertRegex(text, rf"alertname: {alert}\n +exp_alerts:\n")

    def test_every_value_in_an_alert_is_written_as_what_it_is(self):
        """`humanize` writes 0.0109 as "10.9m", which reads as minutes or metres."""
        alerts = RULES.read_text().split("- alert: ")[1:]
        values = 0
        for alert in alerts:
            expression = re.search(r"^ *expr: (.*)$", alert, re.MULTILINE)[1]
            if re.match(r"(rate|increase)\(", expression):
                how = 'printf "%.3f"'
            elif re.search(r"_seconds\b", expression):
                how = "humanizeDuration"
            elif " / " in expression:
                how = "humanizePercentage"
            else:
                how = None  # states a fact without a number
            for written in re.findall(r"\{\{ *\$value *\|? *(.*?) *\}\}", alert):
                self.assertEqual(written, how, alert.split("\n")[0])
                values += 1
        self.assertGreater(values, 5)

    def test_the_dashboard_s_panels_are_whole(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        for panel in panels:
            if panel["type"] != "row":
                self.assertTrue(panel["description"].endswith("."), panel["title"])
                self.assertTrue(panel["targets"], panel["title"])

    @unittest.skipUnless(PROMTOOL, "promtool is not installed (package prometheus, which starts a service)")
    def test_promtool_accepts_the_rules_and_their_tests(self):
        for command, file in (("check", RULES), ("test", RULES_TEST)):
            done = subprocess.run([PROMTOOL, command, "rules", file], capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("SUCCESS", done.stdout)


if __name__ == "__main__":
    unittest.main()
