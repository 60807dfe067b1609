#!/usr/bin/env python3
"""probe_network.py --programs BIN: hanpmpi_probe_network says what is wrong with its command line, and what with a job on one host; and, where
HANPMPI_TEST_PROBE=1 asks for that half minute, finds two switches of the virtual cluster and the trunk between them.

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here, or no MPI that uses its network.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import mpis
from virtual_hosts import trees

RATE, TRUNK = 40, 30  # Mbit/s: little enough for the network to be the limit, whatever the machine does
PAIR = f"links {RATE}mbit\nhosts vc0 vc2 on left; hosts vc1 vc3 on right; left - right {TRUNK}mbit\n"


def want(condition, text):
    if not condition:
        sys.exit(f"probe_network.py: {text}")


def call(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150, **more)


def finds_two_switches(directory, program):
    file, found = os.path.join(directory, "pair.net"), os.path.join(directory, "found.net")
    with open(file, "w") as out:
        out.write(PAIR)
    done = call(mpis.VCLUSTER, "with", "--network", file, "--queue", "256kb", "--wait", "60", "--", mpis.VCLUSTER, "run", "openmpi", "1", program, "-o", found,
                "--window-ms", "60")
    want(done.returncode == 0, done.stdout)
    tree = trees.read(found)
    with open(found) as text:
        print(text.read(), end="")
    switch = {host.name: host.switch for host in tree.hosts}
    want(sorted(switch) == ["vc0", "vc1", "vc2", "vc3"] and len(tree.switches) == 2, "not four hosts on two switches")
    want(switch["vc0"] == switch["vc2"] != switch["vc1"] == switch["vc3"], f"the hosts are on other switches: {switch}")
    rates = [link.to * 8e-6 for link in tree.links] + [link.back * 8e-6 for link in tree.links]
    want(len(rates) == 2 and all(0.75 < rate / TRUNK < 1.1 for rate in rates), f"the trunk has {rates} Mbit/s")
    want(all(0.75 < rate * 8e-6 / RATE < 1.1 for host in tree.hosts for rate in (host.up, host.down)), f"the hosts have {tree.hosts}")


def says_what_is_wrong(program):
    run = ("mpirun.openmpi", "-np", "2", "--oversubscribe", program)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = call(*run, env=environment)
    want(done.returncode == 1 and done.stdout.count("expected ranks on several hosts") == 1, f"one host: {done.returncode} {done.stdout}")
    done = call(*run, "--window-ms", "0", env=environment)
    want(done.returncode == 2 and done.stdout.count("accepted are 5 to 10000") == 1, f"a window of 0: {done.returncode} {done.stdout}")
    done = call(*run, "--help", env=environment)
    want(done.returncode == 0 and "--window-ms" in done.stdout, f"--help: {done.returncode} {done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, help="the build's bin")
    program = os.path.join(parser.parse_args().programs, "hanpmpi_probe_network.openmpi")
    if call(mpis.VCLUSTER, "check").returncode or "openmpi" not in mpis.found() or not os.path.exists(program):
        print("skipped: no virtual cluster, or no Open MPI")
        return 77
    says_what_is_wrong(program)
    if os.environ.get("HANPMPI_TEST_PROBE") != "1":
        print("on the virtual cluster: not asked for, HANPMPI_TEST_PROBE=1 does")
        return 0
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        finds_two_switches(directory, program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
