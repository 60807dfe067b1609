#!/usr/bin/env python3
"""Collectives that do not come on: HANPMPI_STALL_SECONDS says which rank, on which host, everybody waits for, in time; the
program goes on and its results are right. One rank is late, or stopped, or holds one up that holds others up.

On the virtual cluster, and on one node. The jobs do little but wait, so some run at a time.

    stall.py --library LIB [--yield OBJECT] [--only TEXT]

Exit code: 0, 1 on a failure. Where no virtual cluster can be made, one node is all.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
import left_behind  # noqa: E402
import mpis  # noqa: E402

HOSTS, RANKS, JOBS = 3, 3, 16
LIMIT_S = 1
IN_TIME_S = LIMIT_S + 1.5  # a rank that does not answer has a second to do so
MPIS = ("openmpi", "mpich")
LAUNCH = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"], "mpich": ["mpirun.mpich"]}
SETTINGS = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_NONBLOCKING": "on", "HANPMPI_GUARD": "0", "HANPMPI_MODEL": "0", "HANPMPI_CACHE": "off", "HANPMPI_ALLREDUCE": "han",
            "HANPMPI_BARRIER": "han", "HANPMPI_STALL_SECONDS": str(LIMIT_S), "YIELD_NAPS": "1", "YIELD_NAPS_GROW": "1"}


def fail(text, out):
    raise AssertionError(f"{text}\n{out}")


class Place:
    """Where the ranks run."""

    jobs = itertools.count()

    def __init__(self, options, watch, mpi, cluster):
        self.options, self.watch, self.mpi, self.cluster = options, watch, mpi, cluster
        self.program = mpis.compile(mpi, os.path.join(HERE, "stall.c"), watch.folder)

    def host(self, rank):
        return f"vc{rank}" if self.cluster else os.uname().nodename.split(".")[0]

    def run(self, *words, **settings):
        """Returns what was said, and the reports of each rank."""
        folder = os.path.join(self.watch.folder, f"job{next(self.jobs)}")
        os.mkdir(folder)  # Open MPI's files of one job are in the way of another's
        prefix = os.path.join(folder, "stalls")
        preload = ":".join(part for part in (self.options.library, self.options.yielding) if part)
        settings = {**SETTINGS, "HANPMPI_STALL_JSON": prefix, "LD_PRELOAD": preload, **settings}
        start = [mpis.VCLUSTER, "run", self.mpi, "1"] if self.cluster else [*LAUNCH[self.mpi], "-np", str(RANKS)]
        command = [*start, "env", *[f"{name}={value}" for name, value in settings.items()], self.program, *words]
        reports = {}
        environment = self.watch.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(command, env={**environment, "TMPDIR": folder},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90)
        out = done.stdout
        for rank in range(RANKS):
            name = f"{prefix}.{rank}.jsonl"
            if os.path.exists(name):
                with open(name, encoding="utf-8") as file:
                    reports[rank] = [json.loads(line) for line in file]
                os.unlink(name)
        if not os.listdir(folder):  # else it is left behind
            os.rmdir(folder)
        if done.returncode != 0 or out.count("right") != RANKS:
            fail(f"exit code {done.returncode}", out)
        return out, reports


def first_report(reports, rank, out):
    """Of what was called; in time."""
    if rank not in reports:
        fail(f"rank {rank} has reported nothing", out)
    report = reports[rank][0]
    stalled = [row for row in report["collectives"] if row["stalled"]]
    if report["rank"] != rank or not stalled or not all(LIMIT_S <= row["seconds"] <= IN_TIME_S for row in stalled):
        fail(f"rank {rank}: not in time: {report}", out)
    return report, stalled


def check_named(place, reports, victim, state, phrase, out, call):
    for rank in set(range(RANKS)) - {victim}:
        report, stalled = first_report(reports, rank, out)
        if [row["call"] for row in stalled] != [call] or not stalled[0]["waits"] or stalled[0]["bytes"] != 800000:
            fail(f"rank {rank}: not what was called: {report}", out)
        states = {(row["rank"], row["host"]): row["state"] for row in report["ranks"]}
        if states.get((victim, place.host(victim))) != state:
            fail(f"rank {rank} does not say \"{state}\" of rank {victim} on {place.host(victim)}: {report}", out)
        if sum(word in ("no answer", "not entered") for word in states.values()) != 1:
            fail(f"rank {rank} blames others, too: {report}", out)
        if f"hanpmpi: rank {rank} ({place.host(rank)}):   rank {victim} ({place.host(victim)}) {phrase}" not in out:
            fail(f"rank {rank} does not say so in words", out)


def late(place, blocking):
    out, reports = place.run("late", "3", "2", blocking)
    check_named(place, reports, 2, "not entered", "has not entered collective 2 of communicator 0.1", out,
                "MPI_Allreduce" if blocking == "blocking" else "MPI_Iallreduce")
    times = [report["collectives"][0]["seconds"] for report in reports[0]]
    if len(times) != 2 or times[1] < 2 * LIMIT_S:
        fail(f"not again after twice the time: {times}", out)


def stopped(place, blocking):
    out, reports = place.run("stopped", "5", "1", blocking)
    check_named(place, reports, 1, "no answer", "does not answer", out, "MPI_Allreduce" if blocking == "blocking" else "MPI_Iallreduce")


def behind(place, blocking):
    """Rank 0 waits for 2, which waits for 1 in another collective."""
    out, reports = place.run("behind", "3", "1", blocking)
    report, _ = first_report(reports, 0, out)
    two = [row for row in report["ranks"] if row["rank"] == 2]
    if not two or two[0]["state"] != "not entered" or two[0]["in"]["call"] != "MPI_Barrier" or two[0]["in"]["waits_for"] != [1]:
        fail(f"what rank 2 is in: {report}", out)
    if not any(row["rank"] == 1 and row["communicator"] == two[0]["in"]["communicator"] and row["state"] == "not entered" for row in report["ranks"]):
        fail(f"rank 1 was not asked about what rank 2 waits for: {report}", out)


def in_time(place, blocking):
    """Nothing is said of what ends in time, nor without the setting."""
    for limit in (LIMIT_S + 2, 0):
        out, reports = place.run("late", str(LIMIT_S), "2", blocking, HANPMPI_STALL_SECONDS=str(limit))
        if reports or "hanpmpi" in out:
            fail("said something", out)


CASES = ((late, "blocking"), (late, "nonblocking"), (stopped, "blocking"), (stopped, "nonblocking"), (behind, "blocking"),
         (in_time, "nonblocking"))


def cases_of(place, cluster):
    return CASES if place.cluster or not cluster else CASES[1:5]


def title_of(place, case, blocking):
    return f"{place.mpi} {'on three hosts' if place.cluster else 'on one node'}: {case.__name__} {blocking}"


def check(place, case, blocking):
    begin, title = time.monotonic(), title_of(place, case, blocking)
    try:
        case(place, blocking)
        return True, f"passed  {title} ({time.monotonic() - begin:.1f} s)"
    except (AssertionError, subprocess.TimeoutExpired) as problem:
        return False, f"FAILED  {title}: {problem}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--yield", dest="yielding", default="", help="what makes ranks that wait nap")
    parser.add_argument("--only", default="", help="cases whose title has this in it")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    cluster = subprocess.run([mpis.VCLUSTER, "check"]).returncode == 0
    left_behind.with_own_memory_files()
    watch, failures = left_behind.Watch(), 0
    if cluster and subprocess.run([mpis.VCLUSTER, "up", str(HOSTS), "1gbit", "--wait", "60"]).returncode:
        return 1
    places = [Place(options, watch, mpi, on_cluster) for mpi in filter(mpis.found().__contains__, MPIS)
              for on_cluster in ((True, False) if cluster else (False,))]
    try:
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            cases = [pool.submit(check, place, case, blocking) for place in places for case, blocking in cases_of(place, cluster)
                     if options.only in title_of(place, case, blocking)]
            for done in concurrent.futures.as_completed(cases):
                good, text = done.result()
                failures += not good
                print(text, flush=True)
        for program in {place.program for place in places}:
            os.unlink(program)
    finally:
        if cluster:
            subprocess.run([mpis.VCLUSTER, "down"])
    problems = watch.problems()
    watch.close()
    if problems:
        failures += 1
        print(f"FAILED  left behind: {'; '.join(problems)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
