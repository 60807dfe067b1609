#!/usr/bin/env python3
"""HANPMPI_REPRODUCIBLE=1: the same bits for any placement of the ranks, any segment size and any module.

usage: reproducible.py --program reproducible --library libhanpmpi.so [--helper object] --run "mpirun words" [--ranks N]
Without the setting some placement must give other bits: else the test could not fail."""
import argparse
import os
import subprocess
import sys

PLACEMENTS = ["node:1 core:8", "node:2 core:4", "node:4 core:2", "node:8 core:1", "node:2 package:2 core:2", "node:3 core:3"]
WAYS = [{"segment_bytes": "1000"}, {"modules": "core:single_copy package:shm"}, {"modules": "core:p2p"},
        {"leaders": "3", "segment_bytes": "8K"}]


def run(options, environment, ways=()):
    """The results of one job: of what the environment says, and of communicators that have each of the ways as hints."""
    preload = os.pathsep.join(filter(None, [options.library, options.helper])).replace(os.pathsep, ":")
    hints = [",".join(f"hanpmpi_{key}={value}" for key, value in way.items()) for way in ways]
    done = subprocess.run(["env", *(f"{key}={value}" for key, value in environment.items()), "LD_PRELOAD=" + preload, *options.run.split(),
                           "-np", str(options.ranks), options.program, *hints], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    lines = [line.split(" ", 1) for line in done.stdout.splitlines() if line.count(" ") == 4]
    results = [sorted(result for number, result in lines if number == str(i)) for i in range(len(ways) + 1)]
    if done.returncode or not all(results):
        sys.exit(f"FAILED: exit status {done.returncode} with {environment}\n{done.stdout}{done.stderr}")
    return results


def knobs(way):
    return {f"HANPMPI_{key.upper()}": value for key, value in way.items()}


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "library", "run"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--helper", default="")
    parser.add_argument("--ranks", type=int, default=7)
    options = parser.parse_args()
    reproducible, first, compared = {"HANPMPI_REPRODUCIBLE": "1"}, None, 0
    jobs = [({**reproducible, "HANPMPI_TOPOLOGY": placement}, WAYS) for placement in PLACEMENTS]
    jobs += [({**reproducible, "HANPMPI_TOPOLOGY": PLACEMENTS[-1], **knobs(way)}, []) for way in WAYS]
    for environment, ways in jobs:
        for way, lines in zip([{}, *ways], run(options, environment, ways)):
            first, compared = first or lines, compared + 1
            if lines != first:
                different = [f"{a} | {b}" for a, b in zip(first, lines) if a != b]
                sys.exit(f"FAILED: other bits with {environment} and the hints {way}:\n" + "\n".join(different[:10]))
    forced = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_ALLREDUCE": "han", "HANPMPI_REDUCE": "han"}
    if all(run(options, {"HANPMPI_TOPOLOGY": placement, **forced}) == [first] for placement in PLACEMENTS):
        sys.exit("FAILED: the bits are the same without HANPMPI_REPRODUCIBLE too: this test shows nothing")
    print(f"{len(first)} results, the same bits {compared} times")


if __name__ == "__main__":
    main()
