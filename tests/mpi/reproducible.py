#!/usr/bin/env python3
"""HANPMPI_REPRODUCIBLE=1: the same bits for any placement of the ranks, any segment size and any module.

usage: reproducible.py --program reproducible --library libhanpmpi.so [--helper object] --run "mpirun words" [--ranks N]
Without the setting some placement must give other bits: else the test could not fail."""
import argparse
import os
import subprocess
import sys

PLACEMENTS = ["node:1 core:8", "node:2 core:4", "node:4 core:2", "node:8 core:1", "node:2 package:2 core:2", "node:3 core:3"]
WAYS = [{}, {"HANPMPI_SEGMENT_BYTES": "1000"}, {"HANPMPI_MODULES": "core:single_copy package:shm"}, {"HANPMPI_MODULES": "core:p2p"},
        {"HANPMPI_LEADERS": "3", "HANPMPI_SEGMENT_BYTES": "8K"}]


def run(options, environment):
    preload = os.pathsep.join(filter(None, [options.library, options.helper])).replace(os.pathsep, ":")
    done = subprocess.run(["env", *(f"{key}={value}" for key, value in environment.items()), "LD_PRELOAD=" + preload, *options.run.split(),
                           "-np", str(options.ranks), options.program], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    lines = sorted(line for line in done.stdout.splitlines() if line.count(" ") == 3)
    if done.returncode or not lines:
        sys.exit(f"FAILED: exit status {done.returncode} with {environment}\n{done.stdout}{done.stderr}")
    return lines


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "library", "run"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--helper", default="")
    parser.add_argument("--ranks", type=int, default=7)
    options = parser.parse_args()
    first, runs = None, 0
    for number, placement in enumerate(PLACEMENTS):
        for way in WAYS if number % 3 == 0 else WAYS[:2]:
            lines = run(options, {"HANPMPI_REPRODUCIBLE": "1", "HANPMPI_TOPOLOGY": placement, **way})
            first, runs = first or lines, runs + 1
            if lines != first:
                different = [f"{a} | {b}" for a, b in zip(first, lines) if a != b]
                sys.exit(f"FAILED: other bits on {placement} with {way}:\n" + "\n".join(different[:10]))
    forced = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_ALLREDUCE": "han", "HANPMPI_REDUCE": "han"}
    if all(run(options, {"HANPMPI_TOPOLOGY": placement, **forced}) == first for placement in PLACEMENTS):
        sys.exit("FAILED: the bits are the same without HANPMPI_REPRODUCIBLE too: this test shows nothing")
    print(f"{len(first)} results, the same bits in {runs} runs")


if __name__ == "__main__":
    main()
