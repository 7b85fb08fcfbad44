# SPDX-License-Identifier: Apache-2.0
"""Records and checks histories with the seeds FIRST to FIRST + COUNT - 1. Arguments: the starling program,
flatc, the schema, a directory for flatc's output, FIRST, COUNT. A history that is wrong stays in --keep, by
default a folder in flatc's output; the exit status is 1 if more than --wrong-max are.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 300


def call(script, *arguments):
    """Runs a script of this folder. Returns its exit status, or "timeout", and what it printed."""
    try:
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, script), *arguments],
                              timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, done.stdout


def judge(options, seed):
    """Returns what is wrong with the history of a seed, and its events."""
    path = os.path.join(options.keep, f"history-{seed}.jsonl")
    status, printed = call("record.py", options.program, options.generated, "--seed", str(seed), "--out",
                           path)
    if status == 0:
        status, printed = call("check.py", path)
    with open(path) as file:
        events = sum(1 for _ in file)
    if status == 0 and not options.keep_all:
        os.remove(path)
    return (f"status {status}\n{printed}" if status != 0 else ""), events


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "flatc", "schema", "generated"):
        parser.add_argument(name)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--wrong-max", type=int, default=0, help="this many wrong ones are no failure")
    parser.add_argument("--jobs", type=int, default=2, help="histories at a time")
    parser.add_argument("--keep", help="the folder of the histories")
    parser.add_argument("--keep-all", action="store_true", help="keep right histories too")
    options = parser.parse_args()
    options.keep = options.keep or os.path.join(options.generated, "histories")
    os.makedirs(options.keep, exist_ok=True)
    subprocess.run([options.flatc, "--python", "-o", options.generated, options.schema], check=True)
    begin, wrong, events = time.monotonic(), 0, 0
    seeds = range(options.first, options.first + options.count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, (problems, count) in zip(seeds, pool.map(lambda seed: judge(options, seed), seeds)):
            events += count
            if problems:
                wrong += 1
                print(f"seed {seed}: {problems}", flush=True)
    print(f"{options.count} histories with {events} events in {time.monotonic() - begin:.0f} s: {wrong} are "
          f"wrong")
    sys.exit(1 if wrong > options.wrong_max else 0)


if __name__ == "__main__":
    main()
