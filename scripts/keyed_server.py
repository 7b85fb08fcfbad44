# SPDX-License-Identifier: Apache-2.0
"""Shared by scripts/bench-curve and scripts/check-network: makes key files, writes keys files and runs a
server on free ports of the loopback."""

import json
import pathlib
import re
import signal
import subprocess
import time

PATIENCE_S = 20


class KeyedServer:
    def __init__(self, program, folder):
        self.program, self.folder = str(program), pathlib.Path(folder)
        self.server_public = self.make_key("server")
        self.process = None

    def make_key(self, name, *more):
        """Writes NAME.key, and returns the public key."""
        done = subprocess.run([self.program, "keygen", name, "--out", self.folder / f"{name}.key", *more],
                              check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        return re.search(r'public = "(.*)"', done.stdout).group(1)

    def add_client(self, name, *roles):
        """Makes a client's key file, and returns its lines for the keys file."""
        public = self.make_key(name, "--server-key", self.server_public)
        return f'[[principal]]\nname = "{name}"\npublic = "{public}"\nroles = {json.dumps(roles)}\n'

    def write_keys(self, principals):
        path = self.folder / "keys.toml"
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text('[server]\nkey = "server.key"\n' + "".join(principals))
        fresh.rename(path)
        return path

    def start(self, principals, *flags):
        """Starts the server with these principals in its keys file. Returns its endpoints by name."""
        endpoints = self.folder / "endpoints.json"
        endpoints.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [self.program, "serve", "--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*",
             "--http", "127.0.0.1:0", "--log-level", "warning", "--keys", self.write_keys(principals),
             "--endpoints-file", endpoints, *map(str, flags)])
        deadline = time.monotonic() + PATIENCE_S
        while not endpoints.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server does not start")
            time.sleep(0.01)
        return json.loads(endpoints.read_text())

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        """Returns the exit status, or None if the server had to be killed."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
