# SPDX-License-Identifier: Apache-2.0
"""Runs `starling keygen`, and commands with --key against real servers. Run by ctest with the path of
the program as the only argument."""

import hashlib
import os
import re
import signal
import stat
import subprocess
import sys
import time
import tomllib
import unittest

from server_case import PATIENCE_S, ServerCase

ServerCase.program = sys.argv.pop()
Z85 = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}"


class KeygenTest(ServerCase):
    def keygen(self, *arguments, **options):
        """Returns the principal that the command prints, and what it says besides."""
        done = self.run_program("keygen", *arguments, **options)
        return tomllib.loads(done.stdout)["principal"][0], done.stderr

    def mode(self, path):
        return stat.S_IMODE(os.stat(path).st_mode)

    def test_a_key_file_is_for_its_owner_and_the_principal_has_no_secret(self):
        path = self.folder / "dispatch.key"
        principal, said = self.keygen("dispatch", "--out", path)
        self.assertEqual(self.mode(path), 0o600)
        pair = tomllib.loads(path.read_text())
        self.assertEqual(set(pair), {"name", "public", "secret"})
        self.assertEqual(pair["name"], "dispatch")
        self.assertRegex(pair["secret"], f"^{Z85}$")
        self.assertEqual(principal, {"name": "dispatch", "public": pair["public"],
                                     "roles": ["publish", "query", "subscribe"]})
        self.assertIn("--server-key", said)
        self.assertNotIn(pair["secret"], said)

    def test_the_servers_key_is_written_into_the_file(self):
        server, _ = self.keygen("server", "--out", self.folder / "server.key")
        path = self.folder / "rider.key"
        _, said = self.keygen("rider", "--out", path, "--server-key", server["public"])
        self.assertEqual(tomllib.loads(path.read_text())["server"], server["public"])
        self.assertNotIn("--server-key", said)

    def test_two_keys_of_a_name_differ(self):
        one, _ = self.keygen("a", "--out", self.folder / "1")
        other, _ = self.keygen("a", "--out", self.folder / "2")
        self.assertNotEqual(one["public"], other["public"])

    def test_a_token_is_kept_hashed(self):
        path = self.folder / "board.token"
        principal, said = self.keygen("--token", "board", "--out", path)
        self.assertEqual(self.mode(path), 0o600)
        token = path.read_text()
        self.assertRegex(token, r"^[0-9A-Za-z_-]{43}\n$")
        digest = hashlib.sha256(token.strip().encode()).hexdigest()
        self.assertEqual(principal, {"name": "board", "token_sha256": digest,
                                     "roles": ["publish", "query", "subscribe"]})
        self.assertNotIn(token.strip(), said)

    def test_nothing_is_overwritten(self):
        for more in ([], ["--token"]):
            path = self.folder / "mine"
            path.write_text("mine")
            done = self.run_program("keygen", "a", *more, "--out", path, status=1)
            self.assertIn("exists already", done.stderr)
            self.assertEqual((path.read_text(), done.stdout), ("mine", ""))

    def test_names_are_names_of_files_too(self):
        for name in ("", "a/b", "../a", ".a", "a b", 'a"', "ä", "a" * 65):
            done = self.run_program("keygen", "--out", self.folder / "new", "--", name, status=2)
            self.assertIn("1 to 64 letters", done.stderr)
        self.run_program("keygen", "a", "--out", self.folder / "new", "--server-key", "x", status=2)
        self.run_program("keygen", "a", "--token", "--server-key", "x" * 40, status=2)
        self.assertFalse((self.folder / "new").exists())


class KeyCase(ServerCase):
    def make_key(self, name, server=None):
        """Returns the path of a new key file and its public key."""
        path = self.folder / f"{name}.key"
        more = [] if server is None else ["--server-key", server]
        done = self.run_program("keygen", name, "--out", path, *more)
        return path, re.search(r'public = "(.*)"', done.stdout).group(1)


class CommandKeysTest(KeyCase):
    def test_every_command_names_what_is_wrong_with_its_key_file(self):
        path, _ = self.make_key("rider")
        path.chmod(0o644)
        trace = self.folder / "trace.csv"
        trace.write_text("id,time_us,x,y\n1,1,0,0\n")
        there = ["--connect", "tcp://127.0.0.1:1"]
        for command in (["ask", "--x", "0", "--y", "0"], ["put", "--id", "1", "--x", "0", "--y", "0"],
                        ["put", "stream", "s"], ["put", "query", "s", "1", "--x", "0", "--y", "0"],
                        ["remove", "object", "1"], ["remove", "stream", "s"], ["streams"],
                        ["subscribe", "s"], ["top", "--once"], ["info"],
                        ["replay", trace]):
            done = self.run_program(*command, *there, "--key", path, status=1)
            self.assertIn("run chmod 600 on it", done.stderr, command)

    def test_a_key_needs_a_server_with_keys(self):
        self.serve()
        path, public = self.make_key("rider", server=self.make_key("server")[1])
        done = self.ask_server("streams", "--key", path, status=1)
        self.assertIn("has no keys, and would not encrypt", done.stderr)
        self.assertIn("has no keys", self.ask_server("streams", status=1,
                                                     environment={"STARLING_KEY": path}).stderr)
        self.ask_server("streams")

    def test_a_servers_key_alone_is_wrong_usage(self):
        public = self.make_key("server")[1]
        done = self.run_program("streams", "--server-key", public, status=2)
        self.assertIn("give --key FILE", done.stderr)
        self.assertIn("40 characters", self.run_program("streams", "--server-key", "x", status=2).stderr)
        path, _ = self.make_key("rider")
        done = self.run_program("streams", "--key", path, status=1)
        self.assertIn("names no server", done.stderr)


class ServeKeysTest(KeyCase):
    """Commands against a server with a keys file."""

    def setUp(self):
        super().setUp()
        _, self.server_public = self.make_key("server")

    def principal(self, name, *roles):
        """Makes a key, and returns its path and the lines for the keys file."""
        path, public = self.make_key(name, self.server_public)
        return path, (f'[[principal]]\nname = "{name}"\npublic = "{public}"\n'
                      f"roles = [{', '.join(map(repr, roles))}]\n")

    def write_keys(self, *principals):
        path = self.folder / "keys.toml"
        path.write_text('[server]\nkey = "server.key"\n' + "".join(principals))
        path.chmod(0o600)
        return path

    def serve_keys(self, *principals, more=()):
        return self.serve("--keys", self.write_keys(*principals), *more)

    def test_all_commands_work_with_a_key(self):
        key, lines = self.principal("dispatch", "publish", "query", "subscribe", "stats")
        self.serve_keys(lines)
        with_key = {"environment": {"STARLING_KEY": str(key)}}
        self.ask_server("put", text="id,x,y\ntruck-7,0,0\ntruck-8,30,40\n", **with_key)
        self.ask_server("put", "stream", "near", "--key", key)
        self.ask_server("put", "--key", key, "query", "near", "1", "-k", "2", "--x", "0", "--y", "0")
        asked = self.ask_server("ask", "--csv", "--x", "0", "--y", "0", "--key", key).stdout
        self.assertIn(",truck-8,50.000", asked)
        self.assertIn("near", self.ask_server("streams", **with_key).stdout)
        followed = self.ask_server("subscribe", "near", "--results", self.endpoints["results"], "--ticks",
                                   "1", "--format", "csv", "--key", key)
        self.assertIn(",1,2,truck-8,50.000", followed.stdout)
        self.ask_server("top", "--once", "--refresh", "10ms", **with_key)
        self.ask_server("info", "--key", key)
        self.ask_server("remove", "query", "near", "1", "--key", key)
        self.ask_server("remove", "--key", key, "stream", "near")
        self.ask_server("remove", "object", "truck-7", **with_key)

    def test_a_replay_and_a_simulation_use_a_server_with_keys(self):
        key, lines = self.principal("replayer", "publish", "query", "subscribe", "tick", "stats")
        trace = self.folder / "trace.csv"
        trace.write_text("id,time_us,x,y\n1,1000000,0,0\n2,1000000,3,4\n1,2000000,3,0\n")
        self.serve_keys(lines, more=["--tick", "manual"])
        there = ["--results", self.endpoints["results"], "--key", key]
        local = self.run_program("replay", trace, "--k", "1").stdout
        served = self.ask_server("replay", trace, "--k", "1", *there).stdout
        self.assertEqual(served.count("\n") > 0, local.count("\n") > 0)
        self.assertIn("admits only clients with a key",
                      self.ask_server("replay", trace, "--k", "1", status=1).stderr)

    def test_no_key_and_a_strangers_are_refused_at_once(self):
        _, lines = self.principal("dispatch", "stats")
        stranger, _ = self.principal("stranger")
        self.serve_keys(lines)
        self.assertIn("admits only clients with a key", self.ask_server("streams", status=1).stderr)
        self.assertIn('does not admit the key "stranger"',
                      self.ask_server("streams", "--key", stranger, "--timeout", "50s", status=1).stderr)
        other, _ = self.make_key("other", self.make_key("another-server")[1])
        self.assertIn("ends each handshake",
                      self.ask_server("streams", "--key", other, "--timeout", "50s", status=1).stderr)

    def test_a_key_is_revoked_and_admitted_again(self):
        key, lines = self.principal("dispatch", "publish", "query", "subscribe", "stats")
        other, kept = self.principal("keeper", "stats")
        server = self.serve_keys(lines, kept)
        self.ask_server("put", "stream", "near", "--key", key)
        reader = subprocess.Popen(
            [self.program, "subscribe", "near", *self.connect(), "--results",
             self.endpoints["results"], "--format", "csv", "--key", key],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(reader.stderr.close)
        self.addCleanup(reader.stdout.close)
        self.addCleanup(self.end, reader)
        self.assertIn("tick,", reader.stdout.readline())
        self.write_keys(kept)
        server.send_signal(signal.SIGHUP)
        for line in reader.stderr:
            if "does not admit the key" in line:
                break
        else:
            self.fail("the subscriber ended")
        self.assertIn("does not admit the key", self.ask_server("streams", "--key", key, status=1).stderr)
        self.ask_server("top", "--once", "--refresh", "10ms", "--key", other)
        self.write_keys(lines, kept)
        server.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        while "does not admit" in subprocess.run(
                [self.program, "streams", *self.connect(), "--key", key], text=True,
                capture_output=True, timeout=PATIENCE_S).stderr:
            self.assertLess(time.monotonic(), deadline)
        self.assertIsNone(reader.poll())


if __name__ == "__main__":
    unittest.main()
