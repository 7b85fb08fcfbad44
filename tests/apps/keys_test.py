# SPDX-License-Identifier: Apache-2.0
"""Runs `starling keygen`, and commands with --key against real servers. Run by ctest with the path of
the program as the only argument."""

import hashlib
import os
import re
import stat
import sys
import tomllib
import unittest

from server_case import ServerCase

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


class CommandKeysTest(ServerCase):
    def make_key(self, name, server=None):
        """Returns the path of a new key file and its public key."""
        path = self.folder / f"{name}.key"
        more = [] if server is None else ["--server-key", server]
        done = self.run_program("keygen", name, "--out", path, *more)
        return path, re.search(r'public = "(.*)"', done.stdout).group(1)

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


if __name__ == "__main__":
    unittest.main()
