# SPDX-License-Identifier: Apache-2.0
"""Runs `starling serve --check-config`: the values that it prints for flags, environment and file, and that
it starts nothing. Run by ctest with the path of the program as the only argument."""

import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import unittest

from server_case import ServerCase

ServerCase.program = sys.argv.pop()


class CheckConfigTest(ServerCase):
    def check(self, *arguments, status=0, environment=()):
        done = self.run_program("serve", "--check-config", *arguments, status=status,
                                environment=environment)
        rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
        return {row[0]: tuple(row[1:]) for row in rows}, done.stderr

    def test_each_value_is_shown_with_its_source(self):
        path = self.write("a b.toml", '[serve]\ntick = "manual"\norigin = [1.0, 2.0]\nlinger = "9s"\n'
                          'rows-max = 1000\n')
        values, said = self.check(
            "--config", path, "--linger", "1s", "--k-max=7",
            environment={"STARLING_SERVE_FRAME_BYTES_MAX": "32MiB", "STARLING_SERVE_K_MAX": "9",
                         "STARLING_SERVE_ROWS_MAX": "2000"})
        self.assertEqual(said, "starling serve: nothing is wrong that can be seen without starting\n")
        self.assertEqual(values["tick"], ("manual", str(path)))
        self.assertEqual(values["origin"], ("1.0,2.0", str(path)))
        self.assertEqual(values["rows-max"], ("2000", "STARLING_SERVE_ROWS_MAX"))
        self.assertEqual(values["frame-bytes-max"], ("32MiB", "STARLING_SERVE_FRAME_BYTES_MAX"))
        self.assertEqual(values["linger"], ("1s", "command line"))
        self.assertEqual(values["k-max"], ("7", "command line"))
        self.assertEqual(values["space"], ("planar2", "default"))
        self.assertEqual(values["object-ttl"], ("-", "default"))
        self.assertEqual(values["insecure"], ("false", "default"))
        for flag in ("help", "check-config"):
            self.assertNotIn(flag, values)

    def test_an_address_of_the_network_needs_insecure(self):
        path = self.write("d.toml", "[serve]\ninsecure = true\n")
        for endpoint in (["--commands", "tcp://*:7411"], ["--results", "tcp://0.0.0.0:7412"],
                         ["--http", "0.0.0.0:7413"]):
            self.assertRegex(self.check(*endpoint, status=1)[1],
                             r"^starling serve: cannot listen on \S+: other machines could reach it")
            values, said = self.check(*endpoint, "--config", path)
            self.assertIn("nothing is wrong", said)
            self.assertEqual(values["insecure"], ("true", str(path)))
        for variable in ("true", "1"):
            values, _ = self.check(*endpoint, environment={"STARLING_SERVE_INSECURE": variable})
            self.assertEqual(values["insecure"], (variable, "STARLING_SERVE_INSECURE"))
        values, _ = self.check(*endpoint, "--insecure")
        self.assertEqual(values["insecure"], ("true", "command line"))

    def test_all_faults_are_said_together(self):
        _, said = self.check("--commands", "127.0.0.1:7411", "--http", "example.com:80",
                             "--credit-rows", "5", "--endpoints-file", "/nowhere/file", status=1)
        faults = said.splitlines()
        self.assertRegex(faults[0], "^starling serve: credit-rows: a session's credit must cover")
        self.assertRegex(faults[1], "cannot listen on 127.0.0.1:7411: write tcp://HOST:PORT")
        self.assertRegex(faults[2], "cannot listen on example.com:80: the host must be a numeric")
        self.assertRegex(faults[3], "--endpoints-file: nothing can be written into /nowhere")
        self.assertEqual(len(faults), 4)

    def test_the_folder_of_the_page_must_hold_a_page(self):
        remedy = "; name the folder of a built page, such as build/release/page, or --page none\n"
        page = self.folder / "page"
        page.mkdir()
        for folder, fault in [
                (self.folder / "none", f"cannot read {self.folder}/none: No such file or directory"),
                (page, f"{page} has no index.html, so it is no page")]:
            said = f"--page: {fault}{remedy}"
            self.assertEqual(self.check("--page", folder, status=1)[1], f"starling serve: {said}")
            endpoints = ["--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*"]
            done = self.run_program("serve", *endpoints, "--http", "127.0.0.1:0", "--page", folder,
                                    status=1)
            self.assertTrue(done.stderr.endswith(f"starling: {said}"), done.stderr)
        (page / "index.html").write_text("a page")
        for flag in (page, "none"):
            self.assertIn("nothing is wrong", self.check("--page", flag)[1])

    def test_the_network_of_the_page_is_read(self):
        network = pathlib.Path(__file__).parents[1] / "sim" / "city" / "spider.net.xml"
        self.assertIn("nothing is wrong", self.check("--page-network", network)[1])
        self.assertRegex(self.check("--page-network", "/nowhere.net.xml", status=1)[1],
                         r"^starling serve: .*/nowhere\.net\.xml")
        said = self.check("--page-network", network, "--space", "wgs84", status=1)[1]
        self.assertTrue(said.startswith("starling serve: --page-network: a SUMO network is in metres"), said)
        done = self.run_program("serve", "--page-network", network, "--space", "wgs84", "--commands",
                                "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*", "--http",
                                "127.0.0.1:0", status=2)
        self.assertIn("--page-network: a SUMO network is in metres", done.stderr)

    def test_a_value_that_cannot_be_read_is_wrong_usage(self):
        path = self.write("c.toml", '[serve]\ntik = "1s"\n')
        self.assertIn("[serve] has the unknown key 'tik'",
                      self.check("--config", path, status=2)[1])
        self.assertIn("--tick", self.check(status=2, environment={"STARLING_SERVE_TICK": "soon"})[1])

    def test_nothing_is_bound_or_written(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            file = self.folder / "endpoints.json"
            self.check("--commands", f"tcp://127.0.0.1:{port}", "--endpoints-file", file)
            self.assertFalse(file.exists())
        self.run_program("serve", "--engine", "cuda", "--check-config", "--devices", "1023", status=1)

    def test_the_log_has_no_colours_with_no_color(self):
        for more, has_colors in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
            ours, theirs = pty.openpty()
            variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
            server = subprocess.Popen(
                [self.program, "serve", "--commands", "tcp://127.0.0.1:*", "--results",
                 "tcp://127.0.0.1:*", "--http", "127.0.0.1:0"], stdin=theirs, stdout=theirs,
                stderr=theirs, env={**variables, "TERM": "xterm", **more})
            self.addCleanup(self.end, server)
            os.close(theirs)
            said = b""
            while b"ready" not in said:
                said += os.read(ours, 65536)
            self.assertEqual(self.end(server, signal.SIGTERM), 0)
            os.close(ours)
            self.assertEqual(b"\x1b[" in said, has_colors, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
