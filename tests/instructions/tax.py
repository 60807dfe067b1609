#!/usr/bin/env python3
"""tax.py: what a call that passes costs more than the bare call of the host MPI, in instructions; and one that is recorded.

    tax.py --run "mpirun ..." --preload FILES --program tests/bench/MPI/tax

Rank 0 of `tax --count` runs in callgrind: with the library, with HANPMPI_ENABLE=0, and with both that and HANPMPI_PROFILE. The instructions of a call are
those of the library's own objects and of whatever they call, but for the one function of the host MPI that the call is passed
to: so it does not matter how long that one waits. Fails where a call takes more than LIMITS; docs/instructions.md has what was
measured.
"""
import argparse
import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Instructions per call, about a third above what gcc 12 makes of it: the limits hold for other compilers, too.
LIMITS = {"inactive": 5, "one-rank": 110, "rule": 170, "hint": 150, "guard": 170, "-": 30,
          "one-rank/Gather": 190, "hint/Gather": 290, "hint/Alltoallv": 190, # blocks have two sides to look at
          "-/Barrier": 110, # one with a hint
          "-/Bsend": 5} # only a recording wants to know of it: a jump while there is none
# Of calls that are recorded, by function, or of one that is reached on 16 ways, four times as many as are kept of a call:
RECORDED = {"Comm_size": 0, "Recv": 800, "Wait": 700, "Waitall": 700, "Test": 700, "Gather": 480, "Alltoallv": 1150, "-/Barrier": 850}
RECORDED_LIMIT = 350


class Problem(Exception):
    pass


def is_ours(path):
    return os.path.basename(path).startswith("libhanpmpi")


def read_profile(lines):
    """[(case, instructions)] of callgrind's output, a part of it each."""
    parts = []
    owner = callee = called = ""
    inclusive = False
    for line in lines:
        key, _, value = line.rstrip("\n").partition("=")
        if line.startswith("part: "):
            parts.append([None, 0])
        elif line.startswith("desc: Trigger: Client Request: "):
            parts[-1][0] = line.split(": ")[3].strip()
        elif key == "ob":
            owner = value
        elif key == "cob":
            callee = value
        elif key == "cfn":
            called = value
        elif key == "calls":
            inclusive = True
        elif re.match(r"\d+ \d+$", line):
            instructions = int(line.split()[1])
            if not inclusive:
                parts[-1][1] += instructions if is_ours(owner) else 0
            elif is_ours(owner) and not is_ours(callee or owner):
                name = parts[-1][0].split("/")[1]
                parts[-1][1] += instructions if called not in (f"MPI_{name}", f"PMPI_{name}") else 0
            if inclusive:
                callee, inclusive = "", False
    return [(case, cost) for case, cost in parts if case]


def count(args, enable, records=False):
    """{case: instructions per call}"""
    with tempfile.TemporaryDirectory() as directory:
        profile = pathlib.Path(directory, "profile")
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--combine-dumps=yes", "--compress-strings=no",
                    "--compress-pos=no", f"--callgrind-out-file={profile}"]
        command = [*shlex.split(args.run), "-np", "1", *valgrind, args.program, "--count", ":", "-np", "1", args.program,
                   "--count"]
        environment = {**os.environ, "LD_PRELOAD": args.preload, "HANPMPI_ENABLE": str(enable), "HANPMPI_MODEL": "0",
                       "HANPMPI_CACHE": "off", "HANPMPI_TOPOLOGY": "node:2 core:1",
                       "HANPMPI_PROFILE": os.path.join(directory, "recording.json") if records else "",
                       "HANPMPI_HANDSHAKE_SECONDS": "60"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            raise Problem(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        with open(profile) as lines:
            parts = read_profile(lines)
    calls = {words[0]: int(words[1]) for words in map(str.split, done.stdout.splitlines()) if len(words) == 2}
    least = collections.defaultdict(lambda: float("inf"))
    for case, cost in parts:
        least[case] = min(least[case], cost / calls[case])
    if set(least) != set(calls):
        raise Problem(f"cases without counts, or the other way round: {set(least) ^ set(calls)}")
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", required=True, help="mpirun and its options")
    parser.add_argument("--preload", required=True, help="the library, and what the MPI needs beside it")
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    above = []
    for enable in (1, 0):
        for case, instructions in count(args, enable).items():
            outcome, name = case.split("/")
            print(f"{outcome if enable else 'inactive':<10}{name:<12}{instructions:>8.0f}")
            limit = LIMITS.get(case, LIMITS[outcome]) if enable else LIMITS["inactive"]
            if instructions > limit:
                above.append(f"{case}: {instructions:.0f} instructions a call, the limit is {limit}")
    for case, instructions in count(args, 0, True).items():
        name = case.split("/")[1]
        print(f"recorded  {name:<12}{instructions:>8.0f}")
        limit = RECORDED.get(case, RECORDED.get(name, RECORDED_LIMIT))
        if instructions > limit:
            above.append(f"{case}, recorded: {instructions:.0f} instructions a call, the limit is {limit}")
    if above:
        print("\n".join(above))
    return 1 if above else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Problem, OSError) as problem:
        sys.exit(f"tax.py: {problem}")
