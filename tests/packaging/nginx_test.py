# SPDX-License-Identifier: Apache-2.0
"""Runs nginx with the settings of docs/operating.md before a real server, without TLS. nginx is on the PATH or
STARLING_NGINX names it. Run by ctest with the paths of the program and of the sources."""

import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import unittest

from server_case import PATIENCE_S, ServerCase

SOURCES = pathlib.Path(sys.argv.pop())
ServerCase.program = sys.argv.pop()
NGINX = os.environ.get("STARLING_NGINX") or shutil.which("nginx")
EVENTS_S = 15  # how long the next bytes of events may take
NAME = "starling.example.org"
ORIGIN = f"https://{NAME}"
KEYS = """[server]
key = "server.key"
[[principal]]
name = "board"
token_sha256 = "{hash}"
roles = ["query", "subscribe", "stats"]
[anonymous]
roles = ["stats"]
"""


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(NGINX, "nginx is not installed (package nginx, which starts a service)")
class NginxTest(ServerCase):
    def start(self, *more, left_out=None):
        """Starts a server, and nginx with the settings of the page without the line `left_out`."""
        self.serve("--tick", "1s", "--http-allow-host", NAME, "--http-allow-origin", ORIGIN, *more)
        (settings,) = re.findall(r"^```nginx\n(.*?)^```", (SOURCES / "docs/operating.md").read_text(),
                                 re.DOTALL | re.MULTILINE)
        self.port = free_port()
        for old, new in ((r"listen 443 ssl;", f"listen 127.0.0.1:{self.port};"),
                         (r"ssl_certificate\w* .*;", ""),
                         (r"127\.0\.0\.1:7413", self.endpoints["http"])) + (((left_out, ""),) if left_out else ()):
            settings, count = re.subn(old, new, settings)
            self.assertGreater(count, 0, old)
        folders = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = self.write("nginx.conf", f"""daemon off; master_process off; pid {self.folder}/nginx.pid;
            error_log {self.folder}/errors; events {{}} http {{ access_log off; {folders} {settings} }}""")
        nginx = subprocess.Popen([NGINX, "-e", self.folder / "errors", "-c", config])
        self.addCleanup(self.end, nginx)
        deadline = time.monotonic() + PATIENCE_S
        while not is_open(self.port):
            self.assertIsNone(nginx.poll(), "nginx ended")
            self.assertLess(time.monotonic(), deadline, "nginx does not start")

    def ask(self, path, port=None, timeout=PATIENCE_S, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=timeout)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Host": NAME} | {
            name.replace("_", "-"): value for name, value in fields.items()})
        return connection.getresponse()

    def expect_events(self):
        self.ask_server("put", "stream", "riders")
        answer = self.ask("/v1/streams/riders/events", timeout=EVENTS_S, Origin=ORIGIN)
        self.assertEqual(answer.status, 200)
        # A snapshot and a tick. nginx's buffer of 4 KiB holds about a minute of ticks.
        lines = [answer.readline().decode() for _ in range(8)]
        self.assertIn("event: snapshot\n", lines)
        self.assertIn("event: tick\n", lines)

    def test_events_come_one_by_one(self):
        self.start()
        self.expect_events()

    def test_events_come_one_by_one_through_a_proxy_that_buffers_answers(self):
        self.start(left_out="proxy_buffering off;")
        self.expect_events()

    def test_a_web_socket_is_opened_for_a_page_of_the_public_name(self):
        self.start()
        fields = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
                  "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Protocol": "starling.v1"}
        self.assertEqual(self.ask("/v1/ws", Origin=ORIGIN, **fields).status, 101)
        self.assertEqual(self.ask("/v1/ws", Origin="https://other.example.org", **fields).status, 403)

    def test_requests_from_elsewhere_have_no_rights_of_this_machine_and_tokens_pass(self):
        board = self.run_program("keygen", "--token", "board", "--out", self.folder / "board.token").stdout
        self.run_program("keygen", "server", "--out", self.folder / "server.key")
        keys = self.write("keys.toml", KEYS.format(hash=tomllib.loads(board)["principal"][0]["token_sha256"]))
        keys.chmod(0o600)
        self.start("--keys", keys, "--trusted-proxy", "127.0.0.2")
        direct = int(self.endpoints["http"].rpartition(":")[2])
        self.assertEqual(self.ask("/metrics", port=direct).status, 200)
        self.assertEqual(self.ask("/metrics").status, 401)
        token = (self.folder / "board.token").read_text().strip()
        self.assertEqual(self.ask("/metrics", Authorization=f"Bearer {token}").status, 200)


if __name__ == "__main__":
    unittest.main()
