#!/usr/bin/env python3
"""Tests of a program of examples/: both forms find the right result, the same one, on any number of ranks that it accepts, with and without the library.

usage: test_examples.py --library libhanpmpi.so --run "mpirun words" [--helper LIBRARY] [--command-line] PROGRAM

The program's own check compares with another computation; here the checksums must agree too, and the figures with each other. No test
looks at how fast something was.
"""
import argparse
import json
import os
import re
import subprocess
import sys

# For the first sizes, for the others; two: another seed, below.
RANKS = {"kmeans": ((1, 3, 4, 7), (1, 7)), "apsp": ((1, 3, 4, 7), (1, 7)), "bfs": ((1, 3, 4, 7), (1, 7)),
         "is": ((4, 5), (3,)), "ft": ((4, 1), (2,)), "sparse": ((4, 1), (5,))}
# Without --check, it must say so. Odd sizes: shares, chunks and panels of different lengths, and some that are empty.
OPTIONS = {
    "kmeans": (["--points", "700", "--dims", "37", "--clusters", "29", "--iterations", "5", "--chunks", "5"],
               ["--points", "500", "--dims", "5", "--clusters", "6", "--batch", "45", "--iterations", "6", "--chunks", "100"]),
    "apsp": (["--vertices", "90"], ["--vertices", "500", "--pivots", "41", "--panel", "4"], ["--vertices", "30", "--pivots", "5"]),
    "bfs": (["--scale", "12", "--reach", "8", "--edges", "5", "--chunks", "7"], ["--scale", "8", "--reach", "8", "--edges", "1", "--searches", "3"]),
    "is": (["--class", "S", "--chunks", "7"], ["--class", "W"]),
    "ft": (["--class", "S", "--planes", "3"], ["--class", "W", "--iterations", "8"]),
    "sparse": (["--neighbours", "2", "--items", "3000", "--hot", "4", "--iterations", "20"], ["--symmetric", "1", "--items", "5", "--cells", "10"]),
}
# Mini-batches are drawn rank by rank, and each rank has its cells.
DEPENDS_ON_RANKS = {("kmeans", 1), ("sparse", 0), ("sparse", 1)}
COLLECTIVE = {"kmeans": "allreduce", "apsp": "bcast", "bfs": "allreduce", "is": "alltoallv", "ft": "alltoall", "sparse": "alltoallv"}
REFUSED = {"is": ((["--class", "C"], 4, "is: --class: accepted is one letter of SWAB"),),
           "ft": ((["--class", "S"], 3, "ft: 3 ranks: class S has 64 planes; accepted are 1, 2, 4, 8, 16, 32, 64 ranks"),)}
FORMS = ((), ("--nonblocking",), ("--nonblocking", "--tests", "13"), ("--nonblocking", "--thread-multiple"))
TAKEN = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_NONBLOCKING": "on", "HANPMPI_GUARD": "0", "HANPMPI_CACHE": "off", "HANPMPI_STATS": "1", "HANPMPI_BCAST": "han",
         "HANPMPI_ALLREDUCE": "han", "HANPMPI_ALLTOALL": "flat", "HANPMPI_ALLTOALLV": "flat"}


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(["FAILED:"] + [str(word) for word in what]))


def run(arguments, ranks, options, library=False):
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(TAKEN if library else {})}
    preload = [name for name in (arguments.library if library else "", arguments.helper) if name]
    if preload:
        env["LD_PRELOAD"] = ":".join(preload)
    return subprocess.run([*arguments.run.split(), "-np", str(ranks), arguments.program, *options], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)


def taken(done, collective):
    """How many calls the library ran, of its table."""
    return sum(int(words[0]) for words in re.findall(rf"^  {collective} .* B +(\d+) ", re.sub(r"[KMG]iB", "B", done.stderr), re.M))


def one(arguments, name, ranks, options, library):
    """Runs it; returns the document it prints, after a look at what must hold."""
    done = run(arguments, ranks, [*options, "--check", "--json"], library)
    what = f"{ranks} ranks, {'library, ' if library else ''}{' '.join(options)}"
    check(done.returncode == 0, what, "exit code", done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    check(len(lines) == 1, what, done.stdout)
    document = json.loads(lines[0])
    check(document["checked"] is True, what, document)
    check(document["program"] == name and document["ranks"] == ranks, what, document)
    check(document["form"] == ("nonblocking" if "--nonblocking" in options else "blocking"), what, document)
    parts = document["compute_seconds"] + document["communication_seconds"]
    check(0 <= parts <= document["total_seconds"] + 1e-4, what, document)
    check(document["communication_seconds"] <= document["communication_slowest_seconds"] + 1e-6, what, document)
    if library and ranks > 1 and "--nonblocking" not in options:
        check(taken(done, COLLECTIVE[name]) > 0, what, "the library took nothing:", done.stderr)
    return document


def runs(number, ranks):
    """[(with the library, form)]: the first sizes on 4 ranks in every form, natively and with the library; else both forms with it, one without."""
    if number == 0 and ranks == 4:
        return [(library, form) for library in (False, True) for form in FORMS]
    return [(True, form) for form in FORMS[:2]] + ([(False, FORMS[0])] if ranks > 1 else [])


def results(arguments, name):
    for number, sizes in enumerate(OPTIONS[name]):
        checksums = {}
        for ranks in RANKS[name][number > 0]:
            for library, form in runs(number, ranks):
                document = one(arguments, name, ranks, [*sizes, *form], library)
                checksums.setdefault(ranks if (name, number) in DEPENDS_ON_RANKS else 0, set()).add(document["checksum"])
        check(all(len(found) == 1 for found in checksums.values()), name, sizes, checksums)
        if number == 0:
            other = one(arguments, name, 2, [*sizes, "--seed", "2"], False)["checksum"]
            check(all(other not in found for found in checksums.values()), name, sizes, "another seed, the same result")


def command_line(arguments, name):
    done = run(arguments, 1, ["--help"])
    check(done.returncode == 0 and done.stdout.count("usage:") == 1, done.returncode, done.stdout)
    for option in ("--nonblocking", "--check", "--json", "--tests", "--late", "--seed", "--warm-up"):
        check(option in done.stdout, option, done.stdout)
    for options, word in ((["--seed", "x"], "--seed"), (["--tests", "-1"], "--tests"), (["--nonsense"], "--nonsense"), (["5"], "5")):
        done = run(arguments, 1, options)
        check(done.returncode == 2 and f"{name}: {word}" in done.stderr, options, done.returncode, done.stdout, done.stderr)
    for options, ranks, text in REFUSED.get(name, ()):
        done = run(arguments, ranks, options)
        check(done.returncode == 2 and text in done.stderr, options, ranks, done.returncode, done.stdout, done.stderr)
    done = run(arguments, 2, [*OPTIONS[name][0], "--nonblocking"])
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    check(done.returncode == 0 and len(lines) == 1 and lines[0].startswith(f"{name}, nonblocking, 2 ranks: ")
          and "not checked" in lines[0], done.returncode, done.stdout, done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--helper", default="")
    parser.add_argument("--command-line", action="store_true", help="look at the options, too, which know no MPI")
    parser.add_argument("program")
    arguments = parser.parse_args()
    name = os.path.basename(arguments.program)
    if arguments.command_line:
        command_line(arguments, name)
    results(arguments, name)
    print("passed")


if __name__ == "__main__":
    main()
