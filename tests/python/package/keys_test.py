#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests starling.Client and starling.aio with key files, against real servers."""

import asyncio
import os
import re
import subprocess
import unittest
from unittest import mock

from package_case import PATIENCE_S, ServerCase
import starling
from starling import aio


class Keys(ServerCase):
    def make_key(self, name, server=None):
        """Returns the path of a new key file and its public key."""
        path = self.folder / f"{name}.key"
        more = [] if server is None else ["--server-key", server]
        said = subprocess.run(
            [os.environ["STARLING_PROGRAM"], "keygen", name, "--out", path, *more], text=True,
            capture_output=True, check=True, timeout=PATIENCE_S).stdout
        return path, re.search(r'public = "(.*)"', said).group(1)

    def write_keys(self, public, *roles):
        """Returns the path of a keys file with the key of rider."""
        keys = self.folder / "keys.toml"
        words = ", ".join(f'"{role}"' for role in roles)
        keys.write_text(f"""
[server]
key = "server.key"
[[principal]]
name = "rider"
public = "{public}"
roles = [{words}]
""")
        keys.chmod(0o600)
        return keys

    def connect(self, **options):
        client = starling.Client(self.endpoints["commands"], self.endpoints["results"], PATIENCE_S,
                                 **options)
        self.addCleanup(client.close)
        return client

    def refusal(self, code, **options):
        with self.assertRaises(starling.StarlingError) as caught:
            self.connect(**options)
        self.assertEqual(caught.exception.code.name, code)
        return caught.exception.sentence


class KeysWithoutAServer(Keys):
    def setUp(self):
        super().setUp()
        self.endpoints = {"commands": "tcp://127.0.0.1:1", "results": "tcp://127.0.0.1:1"}

    def test_a_bad_file_is_an_invalid_argument(self):
        path, public = self.make_key("rider")
        self.assertIn("names no server", self.refusal("INVALID_ARGUMENT", key=path))
        self.assertIn("is no key", self.refusal("INVALID_ARGUMENT", key=path, server_key="x"))
        self.assertIn("is no key", self.refusal("INVALID_ARGUMENT", key=path, server_key=self.folder / "x"))
        path.chmod(0o640)
        for key in (path, str(path)):
            self.assertIn("run chmod 600 on it", self.refusal("INVALID_ARGUMENT", key=key))
        self.assertIn("keygen", self.refusal("INVALID_ARGUMENT", key=self.folder / "none"))
        self.assertIn("key_file", self.refusal("INVALID_ARGUMENT", server_key=public))

    def test_a_key_is_a_path(self):
        for key in (3, b"rider.key", ["rider.key"]):
            with self.assertRaises(TypeError):
                self.connect(key=key)
        with self.assertRaises(TypeError):
            self.connect(key="rider.key", server_key=3)

    def test_the_environment_may_name_it(self):
        path, _ = self.make_key("rider")
        with mock.patch.dict(os.environ, {"STARLING_KEY": str(path)}):
            self.assertIn("names no server", self.refusal("INVALID_ARGUMENT"))


class KeysOfNoUse(Keys):
    def test_a_server_without_keys_is_no_server_for_a_client_with_one(self):
        self.serve()
        path, _ = self.make_key("rider", self.make_key("server")[1])
        self.assertIn("has no keys", self.refusal("REFUSED", key=path))

        async def follow():
            await aio.Client.connect(self.endpoints["commands"], key=path)

        with self.assertRaises(starling.StarlingError) as caught:
            asyncio.run(follow())
        self.assertIn("has no keys", caught.exception.sentence)
        with self.assertRaises(starling.StarlingError):
            starling.Subscription("near", commands=self.endpoints["commands"],
                                  results=self.endpoints["results"], key=path)
        self.assertEqual(self.connect().info().restarts, 0)


class KeysWithoutTheRoleOfStatistics(Keys):
    def test_rows_that_cannot_be_waited_for_are_not_sent(self):
        _, server = self.make_key("server")
        key, public = self.make_key("rider", server)
        keys = self.write_keys(public, "publish", "query")
        self.serve("--keys", keys, "--tick", "20ms")
        client = self.connect(key=key)
        with self.assertRaises(starling.StarlingError) as caught:
            client.update(["bus"], [[10, 20]], wait=True)
        self.assertIn("stats", caught.exception.sentence)
        # If the refused row had been applied, this row with an earlier time would be late.
        self.assertEqual(client.update(["bus"], [[10, 20]], 1).accepted, 1)


class KeysOfAServer(Keys):
    def setUp(self):
        super().setUp()
        _, server = self.make_key("server")
        self.key, public = self.make_key("rider", server)
        self.stranger, _ = self.make_key("stranger", server)
        keys = self.write_keys(public, "publish", "query", "subscribe", "tick", "stats")
        self.serve("--keys", keys, "--tick", "manual")

    def test_a_client_and_its_subscription_are_admitted(self):
        client = self.connect(key=self.key)
        client.put_stream("near")
        client.put_queries("near", "opera", k=1, at=(10, 20))
        self.assertEqual(client.update(["bus"], [[10, 21]], 1).accepted, 1)
        with client.subscribe("near") as subscription:
            self.assertEqual(subscription.next(PATIENCE_S).kind, "snapshot")
            client.advance(1_000_000)
            event = subscription.next(PATIENCE_S)
            self.assertEqual(event.lists["opera"].texts.tolist(), ["bus"])

    def test_so_is_a_client_for_asyncio(self):
        async def ask():
            async with await aio.Client.connect(
                    self.endpoints["commands"], self.endpoints["results"], key=self.key) as client:
                return (await client.info()).restarts

        self.assertEqual(asyncio.run(ask()), 0)

    def test_no_key_and_a_strangers_are_refused(self):
        self.assertIn("admits only clients with a key", self.refusal("REFUSED"))
        self.assertIn("does not admit the key", self.refusal("REFUSED", key=self.stranger))


if __name__ == "__main__":
    unittest.main()
