# SPDX-License-Identifier: Apache-2.0
"""Runs `starling keygen`, and commands with --key against real servers. Run by ctest with the path of
the program as the only argument."""

import hashlib
import http.client
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time
import tomllib
import unittest

from server_case import PATIENCE_S, LineReader, ServerCase

ServerCase.program = sys.argv.pop()
ENDS_S = 20  # time limit of a command that the server refuses; the command's own time-out is 5 s or less
Z85 = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}"


class KeygenTest(ServerCase):
    def keygen(self, *arguments, **options):
        """Returns the principal on the standard output, and the text on the standard error."""
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
                                     "roles": ["publish", "query", "subscribe", "stats"]})
        self.assertIn("--server-key", said)
        self.assertNotIn(pair["secret"], said)

    def test_the_server_has_a_section_and_is_no_principal(self):
        path = self.folder / 'the "server".key'
        done = self.run_program("keygen", "server", "--out", path)
        self.assertEqual(tomllib.loads(done.stdout), {"server": {"key": str(path)}})
        public = tomllib.loads(path.read_text())["public"]
        self.assertTrue(done.stdout.endswith(f'# public = "{public}"\n'), done.stdout)
        for flag in (["--roles", "stats"], ["--server-key", public]):
            done = self.run_program("keygen", "server", *flag, "--out", self.folder / "new", status=2)
            self.assertIn("give a client another name", done.stderr)

    def test_the_servers_key_is_written_into_the_file(self):
        server = self.folder / "server.key"
        self.run_program("keygen", "server", "--out", server)
        public = tomllib.loads(server.read_text())["public"]
        line = self.write("server.pub", f'public = "{public}"\n')
        alone = self.write("alone.pub", f" {public}\n")
        alone.chmod(0o644)
        for number, source in enumerate((public, server, line, alone)):
            path = self.folder / f"rider{number}.key"
            _, said = self.keygen("rider", "--out", path, "--server-key", source)
            self.assertEqual(tomllib.loads(path.read_text())["server"], public)
            self.assertNotIn("--server-key", said)

    def test_a_file_without_a_servers_key_is_refused(self):
        for text, sentence in (("", "has no public"), ("x" * 41, "is no key file: line 1"),
                               ("x" * 5000, "more than 4096 bytes")):
            path = self.write("bad.pub", text)
            done = self.run_program("keygen", "a", "--server-key", path, "--out", self.folder / "new",
                                    status=2)
            self.assertIn(f"--server-key: the key file {path} ", done.stderr)
            self.assertIn(sentence, done.stderr)
        self.assertIn("is not a file", self.run_program("keygen", "a", "--server-key", self.folder,
                                                        status=2).stderr)

    def test_roles_are_those_that_were_asked_for(self):
        asked, _ = self.keygen("--token", "board", "--roles", "stats,publish", "--out", self.folder / "1")
        self.assertEqual(asked["roles"], ["stats", "publish"])
        asked, _ = self.keygen("--out", self.folder / "2", "--roles", "tick,stats", "a")
        self.assertEqual((asked["name"], asked["roles"]), ("a", ["tick", "stats"]))
        done = self.run_program("keygen", "a", "--roles", "query,root", status=2)
        self.assertIn("the roles are publish, query", done.stderr)

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
                                     "roles": ["query", "subscribe", "stats"]})
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


class ExamplesTest(ServerCase):
    """The examples of `starling keygen --help`."""

    def test_each_works_after_the_ones_before(self):
        shown = self.run_program("keygen", "--help").stdout.replace("\\\n", "")
        examples = re.findall(r"^ *(starling keygen .*)$", shown, re.MULTILINE)
        self.assertEqual(len(examples), 3, shown)
        command = f"starling() {{ {shlex.quote(str(self.program))} \"$@\"; }}; "
        for example in examples:
            done = subprocess.run(["sh", "-c", command + example], cwd=self.folder, capture_output=True,
                                  text=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 0, (example, done.stderr))
        keys = self.folder / "keys" / "keys.toml"
        names = [each["name"] for each in tomllib.loads(keys.read_text())["principal"]]
        self.assertEqual(names, ["dispatch", "dashboard", "rider", "prometheus"])
        self.assertNotIn("Add the lines above", done.stderr)  # because the lines are already in the file
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["keys"])
        self.run_program("serve", "--keys", keys, "--check-config")


class KeyCase(ServerCase):
    def make_key(self, name, server=None):
        """Returns the path of a new key file and its public key."""
        path = self.folder / f"{name}.key"
        more = [] if server is None else ["--server-key", server]
        done = self.run_program("keygen", name, "--out", path, *more)
        return path, re.search(r'public = "(.*)"', done.stdout).group(1)


class ServerFolderTest(ServerCase):
    """`starling keygen --server DIR`."""

    def test_a_server_takes_what_was_written(self):
        folder = self.folder / "keys"
        self.run_program("keygen", "--server", folder, "dispatch")
        self.assertEqual(sorted(each.name for each in folder.iterdir()),
                         ["dashboard.token", "dispatch.key", "keys.toml", "server.key"])
        for path in (folder, *folder.iterdir()):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)
        self.run_program("serve", "--keys", folder / "keys.toml", "--check-config")
        self.serve("--keys", folder / "keys.toml")
        key = folder / "dispatch.key"
        self.ask_server("put", "--id", "1", "--x", "0", "--y", "0", "--key", key)
        self.assertIn("1", self.ask_server("ask", "--x", "0", "--y", "0", "--csv", "--key", key).stdout)
        self.ask_server("top", "--once", "--refresh", "10ms", "--key", key)
        token = (folder / "dashboard.token").read_text().strip()
        self.assertEqual(self.status_of("GET", "/v1/stats", token), 200)
        self.assertEqual(self.status_of("GET", "/v1/neighbors?k=1&x=0&y=0", token), 200)
        self.assertEqual(self.status_of("DELETE", "/v1/objects/1", token), 403)

    def status_of(self, method, target, token):
        connection = http.client.HTTPConnection(self.endpoints["http"], timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request(method, target, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status

    def test_anonymous_rights_need_to_know_what_is_in_front(self):
        self.run_program("keygen", "server", "--out", self.folder / "server.key")
        keys = self.write("keys.toml", '[server]\nkey = "server.key"\n[anonymous]\nroles = ["stats"]\n')
        keys.chmod(0o600)
        for check in ([], ["--check-config"]):
            done = self.run_program("serve", "--keys", keys, *check, status=1)
            self.assertIn("[anonymous]", done.stderr)
            self.assertIn("--trusted-proxy none", done.stderr)
        self.run_program("serve", "--keys", keys, "--check-config", "--trusted-proxy", "none")
        done = self.run_program("serve", "--check-config", "--trusted-proxy", "nginx", status=1)
        self.assertIn('"nginx" is neither', done.stderr)
        self.serve("--keys", keys, "--trusted-proxy", "none")
        host, _, port = self.endpoints["http"].rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        for fields, status in (({}, 200), ({"X-Real-IP": "127.0.0.1"}, 401)):
            connection.request("GET", "/v1/stats", headers=fields)
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)

    def test_a_folder_with_one_of_the_files_stays_as_it_is(self):
        for name in ("server.key", "client.key", "dashboard.token", "keys.toml"):
            folder = self.folder / f"with {name}"
            folder.mkdir()
            (folder / name).write_text("mine")
            done = self.run_program("keygen", "--server", folder, status=1)
            self.assertIn(f"{folder / name} exists already", done.stderr)
            self.assertEqual([each.read_text() for each in folder.iterdir()], ["mine"])

    def test_wrong_usage_writes_nothing(self):
        folder = self.folder / "keys"
        for arguments, sentence in ((["server"], "name the client"),
                                    (["dashboard"], "the token for HTTP has the name dashboard"),
                                    (["--token", "a"], "--token"),
                                    (["--out", "a"], "--out"), (["--server-key", "x" * 40], "--server-key")):
            done = self.run_program("keygen", "--server", folder, *arguments, status=2)
            self.assertIn(sentence, done.stderr)
        self.assertIn("name is required", self.run_program("keygen", status=2).stderr)
        self.assertFalse(folder.exists())
        done = self.run_program("keygen", "--server", folder / "keys", status=1)
        self.assertIn("name one in a folder that exists", done.stderr)


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
        for source in (public, self.folder / "server.key"):
            done = self.run_program("streams", "--server-key", source, status=2)
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

    def lines_of(self, name, public, *roles, more=""):
        """Returns the lines of a principal for the keys file."""
        return (f'[[principal]]\nname = "{name}"\npublic = "{public}"\n'
                f"roles = [{', '.join(map(repr, roles))}]\n{more}\n")

    def principal(self, name, *roles, more=""):
        """Makes a key, and returns its path and the lines for the keys file."""
        path, public = self.make_key(name, self.server_public)
        return path, self.lines_of(name, public, *roles, more=more)

    def write_keys(self, *principals):
        path = self.folder / "keys.toml"
        path.write_text('[server]\nkey = "server.key"\n' + "".join(principals))
        path.chmod(0o600)
        return path

    def serve_keys(self, *principals, more=()):
        return self.serve("--keys", self.write_keys(*principals), *more)

    def results(self):
        return ["--results", self.endpoints["results"]]

    def replay_command(self):
        trace = self.write("trace.csv", "id,time_us,x,y\n1,1000000,0,0\n2,1000000,3,4\n1,2000000,3,0\n")
        return ["replay", trace, "--k", "1", "--queries", "all"]

    def simulate_command(self):
        return ["simulate", "--out", self.folder / "out", "--drivers", "5", "--rate", "10", "--for", "1m"]

    def commands(self):
        """Returns each command that connects to a server, as its arguments."""
        place = ["--x", "0", "--y", "0"]
        return [["put", "--id", "1", *place], ["put", "stream", "near"],
                ["put", "query", "near", "1", "-k", "1", *place], ["ask", *place], ["streams"],
                ["top"], ["top", "--once", "--refresh", "10ms"], ["info"],
                ["subscribe", "near", *self.results()], ["remove", "query", "near", "1"],
                ["remove", "stream", "near"], ["remove", "object", "1"],
                [*self.replay_command(), *self.results()],
                [*self.simulate_command(), *self.results()]]

    def all_are_refused(self, sentence, *flags):
        """Runs each command, which must end with the sentence long before PATIENCE_S."""
        for command in self.commands():
            begin = time.monotonic()
            self.assertIn(sentence, self.ask_server(*command, *flags, status=1).stderr, command)
            self.assertLess(time.monotonic() - begin, ENDS_S, command)

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
        followed = self.ask_server("subscribe", "near", *self.results(), "--query", "1", "--ticks",
                                   "5", "--format", "ndjson", "--key", key)
        self.assertIn("truck-8", followed.stdout)
        self.ask_server("top", "--once", "--refresh", "10ms", **with_key)
        self.assertIn("connections-max", self.ask_server("info", "--key", key).stdout)
        self.ask_server("remove", "query", "near", "1", "--key", key)
        self.ask_server("remove", "--key", key, "stream", "near")
        self.ask_server("remove", "object", "truck-7", **with_key)
        other, lines = self.make_key("other")
        self.write_keys(self.lines_of("other", lines, "query"))
        self.serve("--keys", self.folder / "keys.toml")
        self.ask_server("streams", "--key", other, "--server-key", self.folder / "server.key")

    def test_a_replay_and_a_simulation_use_a_server_with_keys(self):
        key, lines = self.principal("replayer", "publish", "query", "subscribe", "tick", "stats")
        for command in (self.replay_command(), self.simulate_command()):
            self.serve_keys(lines, more=["--tick", "manual"])
            self.ask_server(*command, *self.results(), "--key", key)
        self.assertTrue((self.folder / "out" / "summary.json").exists())

    def test_every_command_without_a_key_ends_and_asks_for_one(self):
        _, lines = self.principal("dispatch", "stats")
        self.serve_keys(lines)
        self.all_are_refused("give the key file with --key")

    def test_every_command_with_a_strangers_key_ends_and_names_the_line_to_add(self):
        _, lines = self.principal("dispatch", "stats")
        stranger, _ = self.principal("stranger")
        self.serve_keys(lines)
        self.all_are_refused('does not admit the key "stranger"; its keys file needs a [[principal]]',
                             "--key", stranger)

    def test_every_command_with_the_key_of_another_server_ends_and_names_that_key(self):
        _, lines = self.principal("dispatch", "stats")
        other, public = self.make_key("other", self.make_key("another-server")[1])
        self.serve_keys(lines, self.lines_of("other", public, "stats"))
        self.all_are_refused("ends each handshake", "--key", other)

    def test_a_short_time_out_names_the_wrong_key_too(self):
        other, public = self.make_key("other", self.make_key("another-server")[1])
        self.serve_keys(self.lines_of("other", public, "stats"))
        self.assertIn("ends each handshake",
                      self.ask_server("streams", "--key", other, "--timeout", "800ms", status=1).stderr)

    def test_a_command_that_lacks_a_right_ends_and_names_it(self):
        key, lines = self.principal("watcher", "stats", "subscribe", more='streams = ["far"]')
        other, more = self.principal("keeper", "stats")
        self.serve_keys(lines, more)
        follow = ["subscribe", "near", *self.results(), "--ticks", "1"]
        self.assertIn('"near"', self.ask_server(*follow, "--key", key, status=1).stderr)
        self.assertIn("role subscribe", self.ask_server(*follow, "--key", other, status=1).stderr)
        self.assertIn("role query", self.ask_server("ask", "--x", "0", "--y", "0", "--key", key,
                                                    status=1).stderr)
        self.assertIn("role query", self.ask_server("put", "stream", "far", "--key", key,
                                                    status=1).stderr)

    def test_a_replay_that_lacks_a_right_ends_and_names_it(self):
        replay = self.replay_command()
        for roles, lacking in ((["publish", "query", "subscribe", "stats"], "role tick"),
                               (["publish", "query", "tick", "stats"], "role subscribe"),
                               (["publish", "subscribe", "tick", "stats"], "role query"),
                               (["query", "subscribe", "tick", "stats"], "role publish")):
            key, lines = self.principal(f"without-{lacking[5:]}", *roles)
            self.serve_keys(lines, more=["--tick", "manual"])
            done = self.ask_server(*replay, *self.results(), "--out", self.folder / "lists.csv",
                                   "--key", key, status=1)
            self.assertIn(lacking, done.stderr, roles)

    def test_a_key_is_revoked_and_admitted_again(self):
        key, lines = self.principal("dispatch", "publish", "query", "subscribe", "stats")
        other, kept = self.principal("keeper", "stats")
        server = self.serve_keys(lines, kept)
        self.ask_server("put", "stream", "near", "--key", key)
        reader = subprocess.Popen(
            [self.program, "subscribe", "near", *self.connect(), *self.results(), "--format",
             "ndjson", "--key", key], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(reader.stderr.close)
        self.addCleanup(reader.stdout.close)
        self.addCleanup(self.end, reader)
        shown, said = LineReader(reader.stdout), LineReader(reader.stderr)
        self.assertIsNotNone(shown.line())
        self.write_keys(kept)
        server.send_signal(signal.SIGHUP)
        self.assertIn("does not admit the key", said.line() or "nothing")
        self.assertIn("does not admit the key", self.ask_server("streams", "--key", key, status=1).stderr)
        self.ask_server("top", "--once", "--refresh", "10ms", "--key", other)
        self.write_keys(lines, kept)
        server.send_signal(signal.SIGHUP)
        self.assertIn("caught up", said.line() or "nothing")
        self.ask_server("streams", "--key", key)


if __name__ == "__main__":
    unittest.main()
