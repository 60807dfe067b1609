#!/usr/bin/env python3
"""A host's cable is pulled for a second in the middle of large collectives, on the virtual cluster: TCP sends again, all results are right,
with the library and without it, and nothing stays behind.

    cable.py --library LIB --programs DIR [--seconds S]

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here.
"""
import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
import left_behind  # noqa: E402
import mpis  # noqa: E402

HOSTS, CUT = 3, "vc1"
# MPICH 4.0 reaches the network with one rank a host only, else its MPI_Finalize may hang (tests/cluster/README.md).
RANKS = {"openmpi": 2, "mpich": 1}
TAKE_ALL = {"HANPMPI_BCAST": "tree", "HANPMPI_REDUCE": "tree", "HANPMPI_ALLREDUCE": "tree", "HANPMPI_SETUP_CALLS": "1"}
BYTES, ROUNDS_SECONDS = 4 << 20, 2.0  # a round takes a quarter of a second or more at this rate
RATE = "400mbit"
LIMIT = 120


def job(watch, options, mpi, native):
    """Returns what went wrong, or None."""
    program = os.path.join(options.programs, mpi, "job")
    settings = {} if native else dict(TAKE_ALL, LD_PRELOAD=options.library)
    words = ["env", *[f"{name}={value}" for name, value in settings.items()], program, "--bytes", str(BYTES),
             "--seconds", str(ROUNDS_SECONDS)]
    child = subprocess.Popen([mpis.VCLUSTER, "run", mpi, str(RANKS[mpi]), *words], env=watch.environment(VCLUSTER_MPICH_TCP="1"),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = ""
    while "under way" not in out:
        line = child.stdout.readline()
        if not line:
            return f"exit code {child.wait()} before the first round: {out}"
        out += line
    try:
        subprocess.run([mpis.VCLUSTER, "link", CUT, "down"], check=True)
        time.sleep(options.seconds)
        waited = child.poll() is None
        subprocess.run([mpis.VCLUSTER, "link", CUT, "up"], check=True)
        out += child.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        child.terminate()
        return f"did not end within {LIMIT} s: {child.communicate()[0]}"
    taken = [int(word) for word in re.findall(r"rounds right, (\d+) taken", out)]
    if child.returncode != 0 or len(taken) != HOSTS * RANKS[mpi]:
        return f"exit code {child.returncode}: {out}"
    if not waited:
        return "ended before the cable was in again: nothing was tested"
    if min(taken) == 0 and not native:
        return f"the library took nothing: {out}"
    print(f"passed  {mpi} {'without the library' if native else 'with the library'}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--programs", required=True, help="folder with a folder per MPI that has `job`")
    parser.add_argument("--seconds", type=float, default=1, help="how long the cable is out")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    options.programs = os.path.abspath(options.programs)
    possible = subprocess.run([mpis.VCLUSTER, "check"])
    if possible.returncode:
        return possible.returncode
    left_behind.with_own_memory_files()
    watch, failures = left_behind.Watch(), 0
    made = subprocess.run([mpis.VCLUSTER, "up", str(HOSTS), RATE, "--wait", "60"])
    if made.returncode:
        return made.returncode
    try:
        for mpi in RANKS:
            if not os.path.exists(os.path.join(options.programs, mpi, "job")):
                continue
            for native in (True, False):
                problem = job(watch, options, mpi, native)
                if problem:
                    failures += 1
                    print(f"FAILED  {mpi} {'without the library' if native else 'with the library'}: {problem}", flush=True)
    finally:
        subprocess.run([mpis.VCLUSTER, "down"])
    problems = watch.problems()
    watch.close()
    if problems:
        failures += 1
        print(f"FAILED  left behind: {'; '.join(problems)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
