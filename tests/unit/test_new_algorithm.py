#!/usr/bin/env python3
"""test_new_algorithm.py: an algorithm is one file and one row (CONTRIBUTING.md, "Add a schedule").

usage: test_new_algorithm.py --source FOLDER [--build FOLDER] [--run "mpirun ..."]

Adds one to a copy of the source tree, builds what knows algorithms, and looks whether all of it knows this one. With --run the
fuzzer runs it on Open MPI, and hanpmpi_tune says what it would try; else it is in what these are compiled from. --build names
where the source tree has been built: objects that include no table of algorithms are taken from there.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

NAME = "backward_ring"
FILE = r"""/* backward_ring: ring.c the other way round: blocks go to the position before. Rounds, bytes, constraints: ring.c's. */
#include "schedule/generator.h"

enum { STREAM_REDUCE, STREAM_GATHER };

static void hand_on(hp_schedule_t *schedule, uint32_t count, uint32_t me, uint32_t sent, hp_action_t action)
{
    hp_schedule_step(schedule, (int32_t)((me + count - 1) % count), (int32_t)((me + 1) % count), action);
    hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, sent % count, 1));
    hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, (sent + 1) % count, 1));
}

static void bcast(hp_schedule_t *schedule, uint32_t count, uint32_t me)
{
    for (uint32_t b = 0; b < count; b++) {
        if (me != 0)
            hp_schedule_receive(schedule, (me + 1) % count, hp_range(HP_SPACE_RECV, b, 1), HP_ACTION_STORE);
        if (me != 1)
            hp_schedule_send(schedule, (me + count - 1) % count, hp_range(HP_SPACE_RECV, b, 1));
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t count = problem->count;

    schedule->cut = count;
    if (problem->pattern == HP_PATTERN_BCAST) {
        bcast(schedule, count, me);
        return;
    }
    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, count), hp_range(HP_SPACE_RECV, 0, count),
                      HP_ACTION_STORE);
    schedule->stream = STREAM_REDUCE;
    for (uint32_t s = 0; s + 1 < count; s++)
        hand_on(schedule, count, me, me + s, HP_ACTION_REDUCE_LEFT);
    schedule->stream = STREAM_GATHER;
    for (uint32_t s = 0; s + 1 < count; s++)
        hand_on(schedule, count, me, me + count - 1 + s, HP_ACTION_STORE);
}

const hp_generator_t hp_generator_backward_ring = {
    .name = "backward_ring",
    .text = "blocks go around a ring, backwards",
    .patterns = HP_SERVES(BCAST) | HP_SERVES(ALLREDUCE),
    .generate = generate};
"""
ROW = f"HP_GENERATOR({NAME})\n"
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TABLES = ("/generators.def", "/generated/between_nodes.h")
# Stands before the compiler: an object that is listed in its second word is copied from the folder in its first. ninja asks
# for the depfile.
LAUNCHER = r"""#!/bin/sh
built=$1 kept=$2 before='' object='' depfile=''
shift 2
for word; do
  case $before in
  -o) object=$word ;;
  -MF) depfile=$word ;;
  esac
  before=$word
done
grep -qxF "$object" "$kept" || exec "$@"
echo "$object:" >"$depfile"
exec cp "$built/$object" "$object"
"""
LEFT_OUT = shutil.ignore_patterns(".git", "build*", ".venv", "__pycache__", "results", "*.o")

problems = []


def want(holds, what, said=""):
    print(("ok      " if holds else "MISSING ") + what)
    if not holds:
        problems.append(what)
        print(said)


def objects_without_tables(build):
    """The objects of a folder built by ninja that no new algorithm changes; of another one none are known."""
    listed = subprocess.run(["cmake", "--build", build, "--", "-t", "deps"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    for block in listed.stdout.split("\n\n"):
        target, *needed = block.strip().splitlines() or [""]
        if target.endswith("(VALID)") and not any(path.endswith(TABLES) for path in needed):
            yield target.split(": #deps")[0]


class Copy:
    """The source tree with the algorithm, built."""

    def __init__(self, source, built, folder, with_mpi):
        self.source, self.build = os.path.join(folder, "source"), os.path.join(folder, "build")
        self.folder = folder
        os.mkdir(self.build)
        shutil.copytree(source, self.source, ignore=LEFT_OUT, symlinks=True)
        generators = os.path.join(self.source, "src", "schedule", "generators")
        with open(os.path.join(generators, NAME + ".c"), "w", encoding="ascii") as file:
            file.write(FILE)
        with open(os.path.join(generators, "generators.def"), "a", encoding="ascii") as file:
            file.write(ROW)
        options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DHANPMPI_MPI_OPTIMIZATION=-O0", "-DBUILD_TESTING=" + ("ON" if with_mpi else "OFF")]
        if built:
            options.append("-DCMAKE_C_COMPILER_LAUNCHER=" + ";".join(self.launcher(built)))
        self.done("cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, *options)
        targets = ["hanpmpi_info", "between_nodes"]
        if with_mpi:
            targets += ["hanpmpi", "hanpmpi-openmpi", "hanpmpi-tasks-openmpi", "tests/mpi/openmpi/fuzz", "bin/hanpmpi_tune.openmpi"]
        self.done("cmake", "--build", self.build, "--target", *targets)

    def launcher(self, built):
        script, kept = (os.path.join(self.folder, name) for name in ("launcher", "kept"))
        with open(script, "w", encoding="ascii") as file:
            file.write(LAUNCHER)
        os.chmod(script, 0o755)
        with open(kept, "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in objects_without_tables(built))
        return script, built, kept

    def run(self, *command, **environment):
        return subprocess.run(command, cwd=self.build, env={**os.environ, **ENVIRONMENT, "HANPMPI_CACHE": self.folder, **environment}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)

    def done(self, *command):
        result = self.run(*command)
        if result.returncode:
            sys.exit(f"{' '.join(command)}: exit status {result.returncode}\n{result.stdout[-4000:]}")

    def info(self, *words, **environment):
        return self.run(os.path.join(self.build, "bin", "hanpmpi_info"), *words, **environment)


def check_schedules(copy):
    want(copy.info("--schedule", f"bcast {NAME} ranks=7 root=5", "--verify").returncode == 0, "its bcasts are verified")
    ask = ("--schedule", f"allreduce {NAME} ranks=7")
    want(copy.info(*ask, "--verify").returncode == 0, "it is verified")
    network = os.path.join(copy.folder, "cluster.net")
    with open(network, "w", encoding="ascii") as file:
        file.write("hosts a b c d e f g on s 1gbit 10us\n")
    cost = copy.info(*ask, "--cost", f"network={network} bytes=64K")
    want(cost.returncode == 0 and " us" in cost.stdout, "it is costed")
    picture = os.path.join(copy.folder, "rounds.svg")
    want(copy.info(*ask, "--svg", picture).returncode == 0 and "<svg" in open(picture, encoding="utf-8").read(), "it is drawn")
    want(NAME in copy.info("--schedules").stdout, "it is listed as a schedule")


def check_planning(copy):
    words = [row["name"] for row in json.loads(copy.info("--algorithms", "--json").stdout)["between_nodes"]]
    want(NAME in words, "it is listed as a way to join nodes")
    rules = os.path.join(copy.folder, "rules.json")
    with open(rules, "w", encoding="ascii") as file:
        json.dump({"version": 1, "rules": [{"collective": collective, "nodes": [2, None], "algorithm": "han", "between_nodes": NAME}
                                           for collective in ("bcast", "allreduce")]}, file)
    checked = copy.info("--check-rules", rules)
    want(checked.returncode == 0 and NAME in checked.stdout, "a rule may name it")
    know_machine(copy)
    for collective in ("bcast", "allreduce"):
        runs = [line for line in copy.info("--explain", f"{collective} nodes=5 ppn=1 bytes=1M", HANPMPI_RULES=rules).stdout.splitlines()
                if line.startswith("  runs ")]
        want(runs and NAME in runs[0], f"a rule that names it runs it: {collective}")
        want(runs and "expected: " in runs[0], f"the model knows how long it takes: {collective}")


def know_machine(copy):
    """Probes, each of them one of its unit."""
    machine = copy.info("--machine-name").stdout.strip()
    header = {"format": 1, "library": copy.info("--version").stdout.split()[-1], "machine": machine, "mpi": "mpi"}
    for probes in ({"between_us": 1}, None):
        if probes is None: # now that their names are known
            probes = dict.fromkeys(json.loads(copy.info("--probes", "--json").stdout)["mpis"][0]["probes"], 1)
        with open(os.path.join(copy.folder, f"{machine}-mpi.json"), "w", encoding="ascii") as file:
            json.dump({**header, "probes": probes}, file)


def check_programs(copy, run):
    library = os.path.join(copy.build, "lib", "libhanpmpi.so")
    job = ("env", "LD_PRELOAD=" + library, "HANPMPI_SETUP_CALLS=1", "HANPMPI_TOPOLOGY=node:4", *run, "-np", "4")
    fuzz = copy.run(*job, os.path.join("tests", "mpi", "openmpi", "fuzz"), "--seed", "1", "--count", "400", "--bcast", "han", "--allreduce", "han",
                    HANPMPI_BETWEEN_NODES=NAME)
    want(fuzz.returncode == 0 and "not accepted" not in fuzz.stdout, "the fuzzer runs it and finds no difference", fuzz.stdout)
    tune = copy.run(*job, os.path.join("bin", "hanpmpi_tune.openmpi"), "--dry-run", "--between", NAME, "--bytes", "64K", "-c", "allreduce",
                    "--output", os.path.join(copy.folder, "rules.json"))
    want(tune.returncode == 0 and f"han-{NAME}-" in tune.stdout, "hanpmpi_tune would try it", tune.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--source", "--build", "--run"):
        parser.add_argument(option)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as folder:
        copy = Copy(arguments.source, arguments.build, folder, bool(arguments.run))
        check_schedules(copy)
        check_planning(copy)
        with open(os.path.join(copy.build, "generated", "between_nodes.h"), encoding="ascii") as file:
            want(f"X({NAME}, 2, 0, 2, 0, " in file.read(), "the fuzzer and hanpmpi_tune are compiled with it")
        if arguments.run:
            check_programs(copy, arguments.run.split())
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
