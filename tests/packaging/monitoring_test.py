# SPDX-License-Identifier: Apache-2.0
"""Compares the alerts of Prometheus and the dashboard of Grafana with a server's /metrics and with
docs/operating.md, scrapes a server with keys as prometheus.yml says, and runs promtool, if it is on the PATH
or STARLING_PROMTOOL names it. Run by ctest with the paths of the program and of the sources."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import unittest
import urllib.error
import urllib.request

from server_case import PATIENCE_S, ServerCase

SOURCES = pathlib.Path(sys.argv.pop())
ServerCase.program = sys.argv.pop()
RULES = SOURCES / "packaging/prometheus/starling.rules.yml"
RULES_TEST = SOURCES / "packaging/prometheus/starling.rules.test.yml"
EXAMPLE = SOURCES / "packaging/prometheus/prometheus.yml"
DASHBOARD = SOURCES / "packaging/grafana/starling.json"
PROMTOOL = os.environ.get("STARLING_PROMTOOL") or shutil.which("promtool")
KEYS = """[server]
key = "server.key"
[[principal]]
name = "prometheus"
token_sha256 = "{hash}"
roles = ["stats"]
"""


class MonitoringTest(ServerCase):
    def expressions(self):
        """Returns the expressions of the alerts and of the dashboard."""
        panels = json.loads(DASHBOARD.read_text())["panels"]
        return (re.findall(r"^ *expr: (.*)$", RULES.read_text(), re.MULTILINE) +
                [target["expr"] for panel in panels for target in panel.get("targets", [])])

    def served(self):
        """Starts a server. Returns the labels of its series by the name of the series."""
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

    def test_a_server_with_keys_is_scraped_with_the_authorization_of_the_example(self):
        token_file = self.folder / "prometheus.token"
        made = tomllib.loads(self.run_program("keygen", "--token", "prometheus", "--out", token_file).stdout)
        self.run_program("keygen", "server", "--out", self.folder / "server.key")
        keys = self.write("keys.toml", KEYS.format(hash=made["principal"][0]["token_sha256"]))
        keys.chmod(0o600)
        self.serve("--tick", "10ms", "--keys", keys)
        address = f"http://{self.endpoints['http']}/metrics"
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address, timeout=PATIENCE_S)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        scheme = re.search(r"^    authorization:\n +type: (\w+)\n +credentials_file: /", EXAMPLE.read_text(),
                           re.MULTILINE)[1]
        token = token_file.read_text().strip()  # as Prometheus does
        scrape = urllib.request.Request(address, headers={"Authorization": f"{scheme} {token}"})
        with urllib.request.urlopen(scrape, timeout=PATIENCE_S) as answer:
            self.assertIn("starling_ticks_total", answer.read().decode())

    def test_the_example_is_that_of_the_page(self):
        page = (SOURCES / "docs/operating.md").read_text()
        example = EXAMPLE.read_text()
        parts = [block for block in re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
                 if "authorization" in block or "scrape_configs" in block]
        self.assertEqual(len(parts), 2)
        for line in "".join(parts).splitlines():
            self.assertIn(line + "\n", example)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed (package prometheus, which starts a service)")
    def test_promtool_accepts_the_example(self):
        token = self.write("starling.token", "a-token\n")
        rules = self.write("starling.rules.yml", RULES.read_text())
        example = self.write("prometheus.yml", EXAMPLE.read_text().replace(
            "/etc/prometheus/starling.token", str(token)))
        done = subprocess.run([PROMTOOL, "check", "config", example], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(rules.name, done.stdout)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed (package prometheus, which starts a service)")
    def test_promtool_accepts_the_rules_and_their_tests(self):
        for command, file in (("check", RULES), ("test", RULES_TEST)):
            done = subprocess.run([PROMTOOL, command, "rules", file], capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("SUCCESS", done.stdout)


if __name__ == "__main__":
    unittest.main()
