#!/usr/bin/env python3
"""Real programs against hanpmpi_replay of their recordings: the time in collectives with the host MPI, and what the library makes of it.

  replayed.py --library build/lib/libhanpmpi.so is lammps-profile espresso hpcc
  replayed.py --library ... --ranks 16 --repeat 5 --json out.json lammps-profile

In turns: the program recorded with the host MPI alone (HANPMPI_ENABLE=0), its replay, and the program recorded with the library, which knows
what a run before has found (HANPMPI_CACHE). Compared are medians: of the time in collectives, mean of the ranks, recorded and replayed, and of
the share of it that the library saves, as the program's recordings have it and as the replay predicts it.

Exit code: 0 all within 15%, 1 not, 77 nothing could be run, or the recorded times differ so much that the machine is too busy to compare.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from program_table import PROGRAMS
from real_programs import MPIS, executable_of, launcher, prepare

WITHIN = 0.15  # of the recorded time; and, of that time, what the library saves


class Missing(Exception):
    """A program does not run here."""


def start(arguments, directory, words, environment):
    command, base = launcher(arguments, directory)
    done = subprocess.run([*command, *words], cwd=directory, env={**base, "LD_PRELOAD": arguments.library, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=arguments.timeout)
    if done.returncode:
        raise Missing(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")


def record(arguments, program, directory, name, **environment):
    """Seconds in collectives, mean of the ranks."""
    report = os.path.join(directory, program.report or "none")
    if os.path.exists(report):
        os.remove(report)
    start(arguments, directory, [executable_of(arguments, program), *program.arguments],
          {"HANPMPI_PROFILE": name, "HANPMPI_PROFILE_SEQUENCE": str(arguments.events), **environment})
    with open(os.path.join(directory, name)) as file:
        document = json.load(file)
    calls = document["calls"]
    return sum(row["time_s"] for row in document["records"] if calls[row["call"]]["kind"] == "collective") / document["ranks"]


def replay(arguments, directory, name):
    tool = os.path.join(os.path.dirname(arguments.library), "..", "bin", f"hanpmpi_replay.{arguments.mpi}")
    start(arguments, directory, [os.path.realpath(tool), name, "--json", "replay.json", "--repeat", str(arguments.passes), "--warmup", str(arguments.warmup)],
          {"HANPMPI_CACHE": "off"})
    with open(os.path.join(directory, "replay.json")) as file:
        return json.load(file)


def compare(arguments, name):
    """A row; None: it could not be run."""
    program = PROGRAMS[name]
    if not executable_of(arguments, program):
        print(f"{name}: {program.executable} is not installed, or not for {arguments.mpi}, skipped", flush=True)
        return None
    runs = []
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        problem = prepare(program, directory)
        if problem:
            raise Missing(problem)
        cached = {"HANPMPI_CACHE": os.path.join(directory, "cache")}
        record(arguments, program, directory, "first.json", **cached)
        for repetition in range(arguments.repeat):
            print(f"{name}: run {repetition + 1} of {arguments.repeat} ...", flush=True)
            recorded_s = record(arguments, program, directory, "host.json", HANPMPI_ENABLE="0")
            library_s = record(arguments, program, directory, "library.json", **cached)
            document = replay(arguments, directory, "host.json")
            runs.append({"recorded_s": document["recorded_s"], "replayed_s": document["host_s"], "predicted": document["gain_collectives"],
                         "gained": 1 - library_s / recorded_s,
                         "rows": [{key: row[key] for key in ("call", "recorded_s", "host_s")} for row in document["rows"]]})
    row = {"program": name, "runs": runs}
    for figure in ("recorded_s", "replayed_s", "gained", "predicted"):
        row[figure] = statistics.median(run[figure] for run in runs)
    row["spread"] = max(run["recorded_s"] for run in runs) / min(run["recorded_s"] for run in runs) - 1
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", choices=sorted(PROGRAMS), metavar="PROGRAM", help="one or more of: " + ", ".join(sorted(PROGRAMS)))
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpi", choices=sorted(set(MPIS) & {"openmpi", "mpich"}), default="openmpi")
    parser.add_argument("--repeat", type=int, default=3, help="recordings of each kind, and replays (default 3)")
    parser.add_argument("--passes", type=int, default=3, help="passes of a replay that count (default 3)")
    parser.add_argument("--warmup", type=int, default=2, help="passes before them (default 2)")
    parser.add_argument("--events", type=int, default=1000000, help="of a recording's sequence (default 1000000)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one job")
    parser.add_argument("--json", metavar="FILE", help="keep all figures")
    arguments = parser.parse_args()
    if arguments.repeat < 2:
        parser.error(f"--repeat {arguments.repeat}: accepted are 2 and more: what differs between two tells how busy the machine is")
    arguments.library, arguments.cluster = os.path.abspath(arguments.library), 0
    rows = []
    for name in arguments.programs:
        try:
            rows += filter(None, [compare(arguments, name)])
        except Missing as problem:
            print(f"{name}: {problem}, skipped", flush=True)
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump({"ranks": arguments.ranks, "mpi": arguments.mpi, "rows": rows}, file, indent=1)
    print(f"\n{'program':<16} {'recorded ms':>12} {'differ by':>10} {'replayed ms':>12} {'ratio':>6} {'library gains':>14} {'predicted':>10}")
    for row in rows:
        print(f"{row['program']:<16} {1e3 * row['recorded_s']:>12.1f} {100 * row['spread']:>9.0f}% {1e3 * row['replayed_s']:>12.1f} "
              f"{row['replayed_s'] / row['recorded_s']:>6.2f} {100 * row['gained']:>13.1f}% {100 * row['predicted']:>9.1f}%")
    steady = [row for row in rows if row["spread"] <= WITHIN]
    busy = [row["program"] for row in rows if row not in steady]
    if busy:
        print(f"the machine is too busy to compare {', '.join(busy)}")
    if any(abs(row["replayed_s"] / row["recorded_s"] - 1) > WITHIN or abs(row["gained"] - row["predicted"]) > WITHIN for row in steady):
        return 1
    return 0 if steady and not busy else 77


if __name__ == "__main__":
    sys.exit(main())
