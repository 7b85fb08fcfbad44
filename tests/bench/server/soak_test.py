# SPDX-License-Identifier: Apache-2.0
"""Runs a server for ten minutes at 70 % of its capacity: its memory and the 99th percentile of its answers
do not grow. Run by ctest, as a slow test, with the path of the program as the only argument."""

import json
import os
import statistics
import subprocess
import sys

PROGRAM = sys.argv[1]
DURATION = os.environ.get("STARLING_SOAK", "10m")
RSS_GROWTH_MAX = 1.1
P99_GROWTH_MAX = 2  # more than 1.1, because other programs on this machine change the latency
# Half of --share. The capacity is measured in a few seconds. A shared machine may not give this
# capacity for ten minutes. Then the server is overloaded all the time, which is also a valid test.
LOAD_MIN = 0.35


def main():
    done = subprocess.run([PROGRAM, "bench", "server", "soak", "--duration", DURATION, "--share", "0.7",
                           "--json"], capture_output=True, text=True, timeout=1500, check=True)
    capacity, *minutes = json.loads(done.stdout)
    assert len(minutes) >= 2, done.stdout
    load = statistics.median(row["updates_per_s"] for row in minutes)
    assert load >= LOAD_MIN * capacity["updates_per_s"], done.stdout
    half = len(minutes) // 2
    for figure, growth_max in [("server_rss_mib", RSS_GROWTH_MAX), ("latency_p99_us", P99_GROWTH_MAX)]:
        early, late = (statistics.median(row[figure] for row in rows)
                       for rows in (minutes[:half], minutes[-half:]))
        assert late <= growth_max * early, f"{figure} went from {early} to {late}:\n{done.stdout}"
    print(done.stdout)


main()
