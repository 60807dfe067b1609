#!/usr/bin/env python3
"""What a test run cost: a row for each kind of test and MPI, then the slowest tests.

usage: costs.py NAME=RESULTS.xml...      files of ctest --output-junit; NAME says which run it was

Seconds are those that the tests took one by one; where two run at a time the run took less.
"""
import collections
import sys
import xml.etree.ElementTree

SLOWEST = 10
MPIS = ("openmpi", "openmpi5", "mpich", "mpiabi")


def kind(name):
    """mpi.openmpi.np4.fuzz -> mpi.openmpi; unit.test_log -> unit."""
    words = name.split(".")
    return ".".join(words[:2] if words[1] in MPIS else words[:1])


def main():
    rows, tests = collections.defaultdict(lambda: [0, 0.0, 0]), []
    for argument in sys.argv[1:]:
        run, path = argument.split("=", 1)
        for test in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name, seconds = test.get("name"), float(test.get("time") or 0)
            row = rows[run, kind(name)]
            row[0] += 1
            row[1] += seconds
            row[2] += test.get("status") in ("notrun", "disabled")
            tests.append((seconds, run, name))
    print(f"{'run':<10} {'kind':<16} {'tests':>6} {'skipped':>8} {'seconds':>9}")
    for (run, what), (count, seconds, skipped) in rows.items():
        print(f"{run:<10} {what:<16} {count:>6} {skipped:>8} {seconds:>9.1f}")
    print(f"{'all':<27} {len(tests):>6} {sum(row[2] for row in rows.values()):>8} {sum(test[0] for test in tests):>9.1f}\n\nThe slowest:")
    for seconds, run, name in sorted(tests, reverse=True)[:SLOWEST]:
        print(f"{seconds:>9.1f} {run} {name}")


if __name__ == "__main__":
    main()
