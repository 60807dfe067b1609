#!/usr/bin/env python3
"""A host's cable is pulled for a second in the middle of large collectives, on the virtual cluster: TCP sends again, all results are right,
and nothing stays behind.

    cable.py --library LIB [--seconds S] [--native]

--native, or FAULT_ALL=1: also without the library.

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here.
"""
import argparse
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
import left_behind  # noqa: E402
import mpis  # noqa: E402

HOSTS, CUT = 3, "vc1"
# Not MPICH 4.0, whose MPI_Finalize may hang over the network (tests/cluster/README.md), but MPICH 5 where it is installed.
MPIS = ("openmpi", "openmpi5", "mpich5")
RANKS_PER_HOST = {"openmpi": 2, "openmpi5": 2, "mpich5": 1}  # MPICH spins
INCLUDE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "include")
TAKE_ALL = {"HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han", "HANPMPI_ALLREDUCE": "han", "HANPMPI_SETUP_CALLS": "1"}
BYTES, ROUNDS_SECONDS = 4 << 20, 2.0  # a round takes a quarter of a second or more at this rate
RATE = "400mbit"
LIMIT = 60
NOTHING = "ended before the cable was in again: nothing was tested"  # on a busy machine it may come out too late


def job(watch, options, mpi, program, native):
    """Returns what went wrong, or None."""
    settings = {} if native else dict(TAKE_ALL, LD_PRELOAD=options.library)
    words = ["env", *[f"{name}={value}" for name, value in settings.items()], program, "--bytes", str(BYTES),
             "--seconds", str(ROUNDS_SECONDS)]
    child = subprocess.Popen([mpis.VCLUSTER, "run", mpi, str(RANKS_PER_HOST[mpi]), *words], env=watch.environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    limit = threading.Timer(LIMIT, child.terminate)
    limit.start()
    out = ""
    while "under way" not in out:
        line = child.stdout.readline()
        if not line:
            limit.cancel()
            return f"exit code {child.wait()} before the first round: {out}"
        out += line
    subprocess.run([mpis.VCLUSTER, "link", CUT, "down"], check=True)
    time.sleep(options.seconds)
    waited = child.poll() is None
    subprocess.run([mpis.VCLUSTER, "link", CUT, "up"], check=True)
    out += child.communicate()[0]
    limit.cancel()
    taken = [int(word) for word in re.findall(r"rounds right, (\d+) taken", out)]
    if child.returncode != 0 or len(taken) != HOSTS * RANKS_PER_HOST[mpi]:
        return f"exit code {child.returncode}: {out}"
    if not waited:
        return NOTHING
    if min(taken) == 0 and not native:
        return f"the library took nothing: {out}"
    print(f"passed  {mpi} {'without the library' if native else 'with the library'}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--seconds", type=float, default=1, help="how long the cable is out")
    parser.add_argument("--native", action="store_true", default=bool(os.environ.get("FAULT_ALL")), help="also without the library")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    possible = subprocess.run([mpis.VCLUSTER, "check"])
    if possible.returncode:
        return possible.returncode
    left_behind.with_own_memory_files()
    watch, failures = left_behind.Watch(), 0
    made = subprocess.run([mpis.VCLUSTER, "up", str(HOSTS), RATE, "--wait", "60"])
    if made.returncode:
        return made.returncode
    try:
        for mpi in filter(mpis.found().__contains__, MPIS):
            program = mpis.compile(mpi, os.path.join(HERE, "job.c"), watch.folder, [f"-I{INCLUDE}"])
            for native in (True, False) if options.native else (False,):
                for _ in range(3):
                    problem = job(watch, options, mpi, program, native)
                    if problem != NOTHING:
                        break
                if problem:
                    failures += 1
                    print(f"FAILED  {mpi} {'without the library' if native else 'with the library'}: {problem}", flush=True)
            os.unlink(program)
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
