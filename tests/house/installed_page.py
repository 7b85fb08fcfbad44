# SPDX-License-Identifier: Apache-2.0
"""Starts an installed `starling serve` without --page, and checks what it answers at /. Then checks what the
report of `starling simulate` contains. Run by examples_test.cmake with the path of the program and
"with-page" or "without-page"."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE_S = 60


def read_page(program, folder):
    """Starts a server, and returns the status and the text of its page /."""
    endpoints = folder / "endpoints.json"
    server = subprocess.Popen([program, "serve", "--commands", "tcp://127.0.0.1:*", "--results",
                               "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--log-level", "error",
                               "--endpoints-file", endpoints])
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not endpoints.exists():
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)
        http = json.loads(endpoints.read_text())["http"]
        address = http if "://" in http else f"http://{http}"
        with urllib.request.urlopen(address + "/", timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    finally:
        server.kill()
        server.wait(PATIENCE_S)


def main(program, wanted):
    has_page = wanted == "with-page"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, text = read_page(program, folder)
        assert (status, "<title>Starling</title>" in text) == ((200, True) if has_page else (404, False)), (
            status, text[:200])
        subprocess.run([program, "simulate", "--out", folder / "run", "--drivers", "10", "--rate", "100",
                        "--for", "10m", "--engine", "cpu"], check=True, stderr=subprocess.DEVNULL)
        report = (folder / "run" / "report.html").read_text()
        assert ("build Starling with Node.js 18" not in report) == has_page
    print(f"the installed program has {'its' if has_page else 'no'} page")


main(*sys.argv[1:])
