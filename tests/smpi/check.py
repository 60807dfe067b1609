#!/usr/bin/env python3
"""check.py: one simulated job whose results are checked, as a test.

    check.py --programs build/tests/smpi --network fat_tree --nodes 16 --ranks-per-node 16,13 --root 100 --taken bcast,reduce

Runs the program `simulated` with --validate and wants: every element of every result right and the same as SMPI's own result, the
collectives of --taken run by the library and the others not, and, with --twice, the same simulated times, bit by bit, in a second
run. Exit status 0, 1, or 77 where --on-request names a variable that is not set.
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import machine
import smpirun

COLLECTIVES = "bcast,reduce,allreduce"


def read_options():
    parser = argparse.ArgumentParser(description="One simulated job whose results are checked.")
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--network", type=machine.network_name, default="star")
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--bytes", default="8,8200,65536")
    parser.add_argument("--root", default="0")
    parser.add_argument("--stride", default="1")
    parser.add_argument("--in-place", action="store_true")
    parser.add_argument("--setting", action="append", default=[], metavar="HANPMPI_NAME=VALUE")
    parser.add_argument("--taken", default=COLLECTIVES, help="collectives that the library must have run, at every size")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--on-request", metavar="VARIABLE")
    parser.add_argument("--tell-network", action="store_true", help="HANPMPI_NETWORK describes the tree to the library")
    parser.add_argument("--timeout", type=int, default=100)
    machine.add_options(parser)
    return parser.parse_args()


def main():
    options = read_options()
    if options.on_request and not os.environ.get(options.on_request):
        print(f"skipped: set {options.on_request}=1 to run it")
        return 77
    arguments = ["--collective", options.collectives, "--bytes", options.bytes, "--root", options.root, "--stride", options.stride,
                 "--validate"] + ["--in-place"] * options.in_place
    settings = {"HANPMPI_SETUP_CALLS": "1", **dict(item.split("=", 1) for item in options.setting)}
    outputs = []
    with tempfile.TemporaryDirectory(prefix="hanpmpi-platform-") as directory:
        stem = Path(directory) / "machine"
        ranks = machine.write(options, options.network, stem)
        if options.tell_network:
            settings["HANPMPI_NETWORK"] = f"{stem}.net"
        for _ in range(2 if options.twice else 1):
            status, output, errors = smpirun.run(options.programs / "simulated", arguments, stem, ranks, settings, smpirun.CHEAP,
                                                 options.timeout)
            print(output, errors, sep="", end="")
            if status != 0:
                sys.exit(f"exit status {status} instead of 0" if status is not None else f"not done within {options.timeout} s")
            outputs.append(output)
    lines = [json.loads(line) for line in outputs[0].splitlines() if line.startswith("{")]
    wanted = [(collective, size) for collective in options.collectives.split(",")
              for size in ([0] if collective == "barrier" else map(int, options.bytes.split(",")))]
    if sorted((line["collective"], line["bytes"]) for line in lines) != sorted(wanted):
        sys.exit(f"these should have been measured: {wanted}")
    for line in lines:
        if not line["checked"] or line["wrong"] or line["library"] != "smpi" or line["us"] <= 0:
            sys.exit(f"not as it should be: {line}")
        if line["taken"] != (line["collective"] in options.taken.split(",")):
            sys.exit(f"taken by the library or not, against --taken {options.taken}: {line}")
    if options.twice and outputs[0] != outputs[1]:
        sys.exit("the second run gave other times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
