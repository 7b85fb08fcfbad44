#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays one recorded or made trace with the `starling` program and checks its output.

The replays are: k 1, 8 and 64, and 8 within a short distance; 1 and 2 threads; embedded and through a
server. Compares the output with the oracle's, and the replays of the same lists with each other.

    run.py --starling build/release/apps/starling --trace ais [--all]

The recordings are in $STARLING_TRACES, or in ../shared/traces beside the checkout. If one is missing,
the program says so and exits with 77, which ctest counts as skipped. Made traces need no recording.
--all takes finer ticks over more of each trace."""

import argparse
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from made_traces import MAKERS
from replay_oracle import Difference, Result, Trace, compare, describe, duration_us
from traces import GEOGRAPHIC, iso_time_us

SKIPPED = 77
# A distance within which some lists are empty. No two points of a lattice of centimetres are exactly this far
# apart.
NEAR_M = 3000.003
SERVER_START_TIMEOUT_S = 30
REPLAY_TIMEOUT_S = 1500
EXIT_TIMEOUT_S = 1

BUS_COLUMNS = "id=vehicle_id,time=timestamp,lat=latitude,lon=longitude"
TRACES = {
    "sumo": {"file": "sumo_spider_fcd.xml.gz", "tick": "10s", "tick_all": "1s", "near_m": 60.003,
             "flags": ["--format", "sumo"]},
    "ais": {"file": "ais_marinecadastre_2022-01-03.csv.gz", "tick": "60s", "tick_all": "60s",
            "to": "2022-01-03T00:03:00", "to_all": "2022-01-03T00:25:00",
            "flags": ["--format", "ais"]},
    "opensky": {"file": "aircraft_opensky_switzerland.json.gz", "tick": "1800s",
                "tick_all": "120s", "flags": ["--format", "opensky"]},
    "bus": {"file": "bus_capmetro_2016-03-22.csv.gz", "tick": "600s", "tick_all": "60s",
            "flags": ["--format", "csv", "--columns", BUS_COLUMNS]},
    # Made traces have no flags: the program must recognise their format.
    **{name: {"tick": "60s", "tick_all": "10s", "flags": []} for name in MAKERS},
}


class Hashing:
    """A stream that hashes all bytes that are read from it."""

    def __init__(self, stream):
        self.stream, self.digest = stream, hashlib.sha256()

    def _seen(self, data):
        self.digest.update(data)
        return data

    def read(self, size):
        return self._seen(self.stream.read(size))

    def readline(self):
        return self._seen(self.stream.readline())


class Replay:
    """One `starling replay` that writes its CSV into a pipe, so that no large file is needed."""

    def __init__(self, run, lists, flags):
        k, distance_max_m = lists
        if distance_max_m < math.inf:
            flags = ["--distance-max", str(distance_max_m), *flags]
        self.command = [run.starling, "replay", str(run.path), *run.flags, "--tick", run.tick,
                        "--k", str(k), "--queries", "all", "--every-tick", "--out", "-", *flags]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors)
        self.output = Hashing(self.process.stdout)

    def finish(self):
        while self.output.read(1 << 20):
            pass
        self.process.wait(REPLAY_TIMEOUT_S)
        self.check_exit()
        return self.output.digest.hexdigest()

    def check_exit(self):
        """Raises Difference if the replay has failed. A replay that waits for its reader has not failed."""
        try:
            status = self.process.wait(EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return
        if status != 0:
            self.errors.seek(0)
            raise Difference(f"`{' '.join(self.command)}` exited with {status}: "
                             f"{self.errors.read().decode(errors='replace').strip()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Server:
    """A `starling serve` with manual ticks, on ports that the system chooses."""

    def __init__(self, starling, space, folder):
        self.file = pathlib.Path(folder) / "endpoints.json"
        self.process = subprocess.Popen(
            [starling, "serve", "--space", space, "--tick", "manual", "--threads", "2",
             "--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*",
             "--http", "127.0.0.1:0", "--log-level", "warning",
             "--endpoints-file", str(self.file)])

    def endpoints(self):
        give_up_at = time.monotonic() + SERVER_START_TIMEOUT_S
        while not self.file.exists() or not self.file.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > give_up_at:
                raise Difference("starling serve did not start")
            time.sleep(0.01)
        return json.loads(self.file.read_text())

    def stop(self):
        self.process.terminate()
        if self.process.wait(30) != 0:
            raise Difference("starling serve did not exit with 0 on SIGTERM")


class Run:
    def __init__(self, starling, name, folder, everything):
        plan = TRACES[name]
        self.starling, self.name = starling, name
        self.path = MAKERS[name](folder) if name in MAKERS else folder / plan["file"]
        self.tick = plan["tick_all" if everything else "tick"]
        self.to = plan.get("to_all" if everything else "to")
        self.lists = [(1, math.inf), (8, math.inf), (64, math.inf), (8, plan.get("near_m", NEAR_M))]
        self.flags = plan["flags"] + (["--until", self.to] if self.to else [])

    def against_the_oracle(self):
        """Compares embedded replays on two threads with the oracle, all list lengths at once. Returns the
        digest of each replay."""
        trace = Trace(self.path, self.name, to_us=iso_time_us(self.to) if self.to else None)
        replays = [Replay(self, lists, ["--threads", "2"]) for lists in self.lists]
        try:
            results = [Result(k, " ".join(replay.command), replay.output, distance_max_m)
                       for (k, distance_max_m), replay in zip(self.lists, replays)]
            ticks = compare(trace, duration_us(self.tick), results)
            print(f"{self.name}, tick {self.tick}: {describe(trace, ticks, results)}", flush=True)
            return [replay.finish() for replay in replays]
        except Difference:
            for replay in replays:
                replay.check_exit()
            raise
        finally:
            for replay in replays:
                replay.stop()

    def digest(self, lists, flags):
        replay = Replay(self, lists, flags)
        try:
            return replay.finish()
        finally:
            replay.stop()

    def on_one_thread(self, digests):
        for lists, wanted in zip(self.lists, digests):
            if self.digest(lists, ["--threads", "1"]) != wanted:
                raise Difference(f"k, distance {lists}: one thread writes other bytes than two")
        print(f"{self.name}: one thread writes the same bytes", flush=True)

    def through_a_server(self, digests):
        for lists, wanted in zip(self.lists, digests):
            with tempfile.TemporaryDirectory() as folder:
                space = "wgs84" if self.name in GEOGRAPHIC else "planar2"
                server = Server(self.starling, space, folder)
                try:
                    endpoints = server.endpoints()
                    flags = ["--connect", endpoints["commands"], "--results", endpoints["results"]]
                    if self.digest(lists, flags) != wanted:
                        raise Difference(
                            f"k, distance {lists}: --connect writes other bytes than embedded")
                finally:
                    server.stop()
        print(f"{self.name}: --connect writes the same bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starling", required=True)
    parser.add_argument("--trace", required=True, choices=sorted(TRACES))
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    checkout = pathlib.Path(__file__).resolve().parents[2]
    recorded = pathlib.Path(os.environ.get("STARLING_TRACES", checkout.parent / "shared" / "traces"))
    made = tempfile.TemporaryDirectory()
    folder = pathlib.Path(made.name) if arguments.trace in MAKERS else recorded
    run = Run(arguments.starling, arguments.trace, folder, arguments.all)
    if not run.path.exists():
        print(f"skipped: {run.path} is not there; set STARLING_TRACES to the traces' folder")
        sys.exit(SKIPPED)
    try:
        digests = run.against_the_oracle()
        run.on_one_thread(digests)
        run.through_a_server(digests)
    except Difference as difference:
        sys.exit(f"{run.name}: {difference}")


if __name__ == "__main__":
    main()
