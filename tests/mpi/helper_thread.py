#!/usr/bin/env python3
"""helper_thread: HANPMPI_PROGRESS=thread moves collectives on while the program computes, costs nothing while there are none, and gets on
with every way to wait and to end.

Runs helper_thread.c. A case fails by AssertionError.
"""
import argparse
import os
import shlex
import subprocess

import side_by_side

RANKS = 3
MACHINES = {"nodes": "node:3 core:1", "node": "node:1 core:3", "both": "node:2 core:2"}
SETTINGS = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_NONBLOCKING": "on", "HANPMPI_GUARD": "0", "HANPMPI_MODEL": "0", "HANPMPI_CACHE": "off", "HANPMPI_TOPOLOGY": MACHINES["nodes"],
            "HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han", "HANPMPI_ALLREDUCE": "han", "HANPMPI_BARRIER": "han",
            "HANPMPI_PROGRESS": "thread", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(options, case, behind="", code=0, limit=60, ranks=RANKS, **settings):
    preload = ":".join(part for part in (options.library, behind, options.helper) if part)
    command = ["env", f"LD_PRELOAD={preload}", *shlex.split(options.run), "-np", str(ranks), options.program, *case.split()]
    with side_by_side.job_folder() as folder:
        done = subprocess.run(command, env={**os.environ, **SETTINGS, **folder, **settings}, capture_output=True, text=True, timeout=limit)
    assert (done.returncode == 0) == (code == 0), (case, settings, done.returncode, done.stdout + done.stderr)
    return done.stdout, done.stderr


def finished(output):
    return next(line for line in output.splitlines() if line.startswith("finished"))


def moves_on_without_calls(options):
    for machine in MACHINES.values():
        for case in ("computing", "computing_funneled"):
            out, said = run(options, case, HANPMPI_TOPOLOGY=machine)
            assert finished(out) == "finished 4 of 4" and "warning" not in said, (machine, out, said)
    out, _ = run(options, "computing", HANPMPI_POLL_US="500")
    assert finished(out) == "finished 4 of 4", out


def nothing_moves(options):
    nothing_moves_without_the_thread(options)
    a_level_that_is_denied(options)


def nothing_moves_without_the_thread(options):
    out, _ = run(options, "computing 1", HANPMPI_PROGRESS="auto")
    assert finished(out) == "finished 0 of 4", out


def a_level_that_is_denied(options):
    out, said = run(options, "computing 1", behind=options.deny)
    warnings = [line for line in said.splitlines() if "hanpmpi" in line and "warning" in line]
    assert len(warnings) == 1 and "MPI_THREAD_MULTIPLE" in warnings[0] and "HANPMPI_PROGRESS" in warnings[0], said
    assert finished(out) == "finished 0 of 4", out


def idles(options):
    run(options, "idle", ranks=2)


def a_watchdog_idles(options):
    run(options, "idle", ranks=2, HANPMPI_PROGRESS="auto", HANPMPI_STALL_SECONDS="600")  # it looks now and then


def waits(options):
    for machine in MACHINES.values():
        run(options, "waits", HANPMPI_TOPOLOGY=machine, limit=120)
        run(options, "waits", HANPMPI_TOPOLOGY=machine, HANPMPI_POLL_US="1", limit=120)


def ends(options):
    run(options, "forks")
    run(options, "exits", code=3)
    run(options, "aborts", code=5)


def prints_statistics(options):
    out, said = run(options, "signal", HANPMPI_STATS_SIGNAL="USR2", HANPMPI_PROGRESS="auto")
    assert said.count("collectives of rank 0") == 1 and "in execution: MPI_Iallreduce of 256 KiB" in said and "warning" not in said, said
    out, said = run(options, "signal_own", HANPMPI_STATS_SIGNAL="1")
    assert "collectives of rank" not in said and said.count("HANPMPI_STATS_SIGNAL=1") == RANKS and "left alone" in said, said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "run", "helper", "program", "deny"):
        parser.add_argument("--" + name, default="")
    options = parser.parse_args()

    def run_case(case):
        case(options)
        print(f"{case.__name__}: ok", flush=True)

    side_by_side.run_cases([idles, moves_on_without_calls, nothing_moves, waits, ends, prints_statistics], [idles], run_case)
    run_case(a_watchdog_idles)  # each of its looks would find its caches cold beside jobs that compute


if __name__ == "__main__":
    main()
