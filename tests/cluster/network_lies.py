#!/usr/bin/env python3
"""network_lies.py --library libhanpmpi.so: jobs with a HANPMPI_NETWORK that is not true: another tree, a link slower than said, a host missing.
Results are right. A guard that falls back from what is made for the network that there is not says so once, and what it names runs no more; a host that is
missing is said once; of a network that is true nothing is said.

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here, or no MPI that uses its network.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import mpis

# So few bits a second that the network is the limit, whatever the machine does.
TWELVE = "links 100mbit\nhosts vc[0-5] on s0; hosts vc[6-11] on s1\ns0 - s1\n"
# In the order of a walk through this one every message crosses the trunk, six at a time in either direction.
CROSSED = "links 100mbit\nhosts vc0 vc6 vc1 vc7 vc2 vc8 on s0; hosts vc3 vc9 vc4 vc10 vc5 vc11 on s1\ns0 - s1\n"
MISSING = "links 100mbit\nhosts vc[0-5] on s0; hosts vc[6-10] on s1\ns0 - s1\n"
EIGHT = "links 100mbit\nhosts vc[0-3] on s0; hosts vc[4-7] on s1\ns0 - s1\n"
# What vc3 sends is slow: it is a leaf of the host MPI's tree, but stands in the middle of a chain.
SLOW = "links 100mbit\nhosts vc[0-2] on s0; hosts vc3 on s0 10mbit/100mbit; hosts vc[4-7] on s1\ns0 - s1\n"

# Holds all that one host can be sent at once: what is dropped comes a fifth of a second later, and a network that is true would look untrue.
QUEUE = "1mb"

RULES = {"version": 1, "rules": [
    {"collective": "alltoall", "network": "*", "algorithm": "flat", "between_nodes": "contention_free"},
    {"collective": "allgather", "network": "*", "algorithm": "flat", "between_nodes": "depth_first_ring"},
    {"collective": "bcast", "network": "*", "algorithm": "han", "between_nodes": "depth_first_chain", "segment_bytes": 8192}]}

FALLS_BACK = ("bytes took ", "made for this network", "what is faster runs instead")

# The network there is, the one that the file says, calls of each collective, bytes of a block, and words of what is said: none, nothing.
CASES = (("one that is true", TWELVE, TWELVE, 8, 32768, ()),
         ("another tree", TWELVE, CROSSED, 12, 32768, FALLS_BACK),
         ("a host that is missing", TWELVE, MISSING, 4, 8192, ("there is no host \"vc11\"", "no network is known")),
         ("a link that is slower", SLOW, EIGHT, 8, 65536, FALLS_BACK))


class Cluster:
    def __init__(self, directory, arguments, mpi, program):
        self.directory, self.mpi, self.program, self.there, self.failures = directory, mpi, program, None, 0
        self.settings = {"HANPMPI_RULES": self.file("rules.json", json.dumps(RULES)), "LD_PRELOAD": os.path.abspath(arguments.library),
                         "HANPMPI_CACHE": "off", "HANPMPI_SETUP_CALLS": "0", "HANPMPI_PROBE_AFTER_US": "0", "HANPMPI_EXPLAIN": "1"}

    def file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return path

    def make(self, network):
        if network == self.there:
            return
        self.down()
        subprocess.run([mpis.VCLUSTER, "up", "--network", self.file("there.net", network), "--queue", QUEUE, "--wait", "60"], check=True)
        self.there = network

    def down(self):
        if self.there:
            subprocess.run([mpis.VCLUSTER, "down"], check=True)
        self.there = None

    def try_one(self, name, there, said, calls, size, words):
        self.make(there)
        settings = {**self.settings, "HANPMPI_NETWORK": self.file("said.net", said)}
        done = subprocess.run([mpis.VCLUSTER, "run", self.mpi, "1", self.program, str(calls), str(size)], env={**os.environ, **settings},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150)
        lines = [line for line in done.stdout.splitlines() if "HANPMPI_NETWORK" in line]
        least = 1 if words and words != FALLS_BACK else 0  # what is made for another network may yet be the fastest
        good = (done.returncode == 0 and f"right: {calls} calls of each" in done.stdout and "unknown variable" not in done.stdout
                and least <= len(lines) <= (1 if words else 0) and all(word in line for line in lines for word in words))
        if words == FALLS_BACK and good and lines:
            collective = re.search(r"(\w+) of \d+ bytes took", lines[0])[1]
            good = any(line.split()[:1] == [collective] and "the host MPI  " in line for line in done.stdout.splitlines())
        self.failures += not good
        print(f"{'passed' if good else 'FAILED'}  {name}" + ("" if good else f"\n{done.returncode}\n{done.stdout}"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    arguments = parser.parse_args()
    fit = [mpi for mpi in mpis.found() if mpi != "mpich"]  # README.md, MPICH 4.0
    if subprocess.run([mpis.VCLUSTER, "check"]).returncode == 77 or not fit:
        print("skipped: no virtual cluster can be made here, or there is no MPI that uses its network")
        return 77
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        cluster = Cluster(directory, arguments, fit[0], mpis.compile(fit[0], "network_lies.c", directory))
        try:
            for case in CASES:
                cluster.try_one(*case)
        finally:
            cluster.down()
    return 1 if cluster.failures else 0


if __name__ == "__main__":
    sys.exit(main())
