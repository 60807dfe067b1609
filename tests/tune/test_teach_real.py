#!/usr/bin/env python3
"""hanpmpi_tune --teach on a real MPI: does it do what its files say? No test looks at how fast something was.

usage: test_teach_real.py --host openmpi --run "mpirun words" --tune bin/hanpmpi_tune --program bin/hanpmpi_teach.<mpi> --compiler mpicc CASE
(CASES below)
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, "tuning", "teach"))

from hanpmpi_teach import command  # noqa: E402
from hanpmpi_teach.choose import Choice  # noqa: E402
from hanpmpi_teach.hosts import HOSTS  # noqa: E402
from hanpmpi_teach.jobs import Launcher  # noqa: E402
from hanpmpi_teach.model import Candidate  # noqa: E402

RANKS = 4


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(["FAILED:"] + [str(word) for word in what]))


class Mpi:
    def __init__(self, args):
        self.args, self.host = args, HOSTS[args.host]
        os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.words = [*args.run.split(), "-np", str(RANKS)]
        if args.helper:  # for the ranks alone
            self.words = ["env", f"LD_PRELOAD={args.helper}", *self.words]
        self.folder = tempfile.TemporaryDirectory()
        self.rules = os.path.join(self.folder.name, "rules")

    def run(self, words, code=0, **environment):
        done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
        check(done.returncode == code, "exit code", done.returncode, *words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def teach(self, *options, code=0, host=None):
        return self.run([self.args.tune, "--teach", host or self.args.host, "-o", self.rules, "--program", self.args.program, *options, "--", *self.words],
                        code=code)

    def knowledge(self):
        options = types.SimpleNamespace(launcher=self.words, teach=self.args.host, mpi_library=None)
        return command.find_out(options, Launcher(self.words, self.args.program, 60), self.host)


def whole(mpi):
    """Asks, measures, writes, verifies; a job runs with the files. (Open MPI's jobs take a second each, and verifying takes 12 or 24.)"""
    quick = ["--no-verify"] if mpi.args.host == "openmpi" else []
    said = mpi.teach("-c", "bcast,gather", "-b", "4K", "--segments", "8K", "--seconds", "60", "--results", mpi.rules + ".results", "--margin", "1", *quick)
    check("written: " in said and "use: " in said, said)
    with open(mpi.rules + ".results") as file:
        results = json.load(file)
    check([(cell["collective"], cell["bytes"]) for cell in results["us"]] == [("bcast", 4096), ("gather", 4096)], results["us"])
    check(all(len(cell["us"]) > 2 and len(cell["us"]["default"]) >= 3 for cell in results["us"]), results["us"])
    chosen = [choice for choice in results["choices"] if choice["taught"]]
    check(quick or len(results["verified"]) == len(chosen), results["verified"])
    with open(mpi.rules + ".env") as file:
        settings = dict(line[len("export "):].strip().split("=", 1) for line in file)
    mpi.run([*mpi.words, mpi.args.program, "ask", "none"], **{name: value.strip("'") for name, value in settings.items()})


def seen(mpi):
    """Three ranks are taught another algorithm for some sizes: these, and no others, run it."""
    program = os.path.join(mpi.folder.name, "teach_seen")
    mpi.run([*mpi.args.compiler.split(), "-O1", "-D_GNU_SOURCE", "-rdynamic", os.path.join(HERE, "teach_seen.c"), "-o", program, "-ldl"])
    knowledge = mpi.knowledge()
    knowledge.about.ranks = RANKS - 1
    if mpi.args.host == "openmpi":
        collective = "bcast"
        words = {candidate.name: candidate for candidate in mpi.host.variants(knowledge, [collective], [1024])[0].candidates[collective]}
        taught = words["pipeline 1K"]
    else:
        collective = "alltoall"
        taught = Candidate("replace", {}, {"algorithm": "MPIR_Alltoall_intra_pairwise_sendrecv_replace", "parameters": {}})
    choices = {collective: [Choice(collective, 256, None), Choice(collective, 1024, taught), Choice(collective, 16384, None)]}
    settings, _ = command.write_all(mpi.host, knowledge, mpi.rules, choices)
    inside, outside = ["516", "1000", "4096"], ["64", "256", "512", "4100", "16384"]  # it changes at the geometric means, 512 and 4096
    before = mpi.run([*mpi.words, program, *inside, *outside])
    for size in inside:
        check(f"{RANKS - 1} {size} 0" in before, "the default is what would be taught", size, before)
    said = mpi.run([*mpi.words, program, *outside], **settings)
    for line in said.splitlines()[-3 * len(outside):]:
        check(line in before, "outside", line, before)
    for size in (inside[0], inside[-1]):
        done = subprocess.run([*mpi.words, program, size], env={**os.environ, **settings}, capture_output=True, text=True, timeout=120)
        said = done.stdout + done.stderr
        check(f"{RANKS} {size} 0" in said and (done.returncode or f"{RANKS - 2} {size} 0" in said), "another number of ranks", size, said)
        # MPICH 5 ends a job in which that algorithm is called without MPI_IN_PLACE, and says where.
        check(f"{RANKS - 1} {size} 1" in said or done.returncode and "pairwise_sendrecv_replace" in said, "inside", size, said)


def refused(mpi):
    """What cannot be, and why."""
    other = "mpich" if mpi.args.host == "openmpi" else "openmpi"
    check("accepted are openmpi, mpich, intel" in mpi.teach(code=2, host=other))
    check("it cannot be written" in mpi.teach("-o", "/none/rules", code=1))
    said = mpi.run(["env", f"LD_PRELOAD={mpi.args.library}:{mpi.args.helper}", *mpi.words[2 if mpi.args.helper else 0:], mpi.args.program, "ask"], code=2)
    check("libhanpmpi.so is loaded" in said, said)


CASES = {"whole": whole, "seen": seen, "refused": refused}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    for name, words in (("host", "of --teach"), ("run", "the launcher and its options"), ("tune", "bin/hanpmpi_tune"), ("program", "bin/hanpmpi_teach.<mpi>"),
                        ("compiler", "for a program of the test's own")):
        parser.add_argument(f"--{name}", required=True, help=words)
    parser.add_argument("--helper", default="", help="preloaded into every rank")
    parser.add_argument("--library", default="", help="libhanpmpi.so")
    args = parser.parse_args()
    CASES[args.case](Mpi(args))


if __name__ == "__main__":
    main()
