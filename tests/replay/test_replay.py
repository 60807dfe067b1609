#!/usr/bin/env python3
"""Tests of hanpmpi_replay: made-up recordings are matched, replayed, validated, written as traces, or refused. No test looks at how fast
something was; gaps are a lower bound.

usage: test_replay.py --program hanpmpi_replay.<mpi> --library libhanpmpi.so --run "mpirun words" CASE   (CASES below)
"""
import argparse
import copy
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import made_up_recording

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKS = 4
QUICK = ["--gaps", "none", "--repeat", "1", "--warmup", "1"]


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(word) for word in ("FAILED:",) + what))


class Replay:
    def __init__(self, args):
        self.args = args
        self.folder = tempfile.TemporaryDirectory()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def recording(self, program, ranks=RANKS):
        name = self.path("out.json")
        return name, made_up_recording.write(program, ranks, name)

    def environment(self, library, preload=(), settings=None):
        objects = list(preload) + ([self.args.library] if library else []) + ([self.args.helper] if self.args.helper else [])
        return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HANPMPI_CACHE": "off",
                **({"LD_PRELOAD": ":".join(objects)} if objects else {}), **(settings or {})}

    def run(self, arguments, ranks=RANKS, code=0, library=True, **how):
        command = self.args.run.split() + ["-np", str(ranks), self.args.program] + arguments
        done = subprocess.run(command, env=self.environment(library, **how), text=True, capture_output=True, timeout=100)
        check(done.returncode == code, "exit code", done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr

    def alone(self, arguments, code=0):
        """Without a launcher, as --smpi may be started."""
        done = subprocess.run([self.args.program] + arguments, env=self.environment(False), text=True, capture_output=True, timeout=100)
        check(done.returncode == code, "exit code", done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr


def everything(replay):
    """Every collective, blocking and not, on three communicators, both sides: each call is validated, and has its row."""
    name, recording = replay.recording("everything")
    result = replay.path("replay.json")
    out, _ = replay.run([name, "--json", result] + QUICK)
    with open(result, encoding="utf-8") as file:
        document = json.load(file)
    called = {call for call in recording.calls if call not in ("MPI_Wait", "MPI_Neighbor_alltoall")}
    rows = {row["call"]: row for row in document["rows"]}
    check(set(rows) == called, set(rows) ^ called)
    for call in called:
        events = [event for events in recording.events for event in events
                  if recording.calls[recording.kinds[event[0]]["call"]] == call]
        check(abs(rows[call]["calls"] * RANKS - len(events)) < 1e-6, call, rows[call], len(events))
        waited = 2 if call.startswith("MPI_I") else 1  # the start and the wait
        check(abs(rows[call]["recorded_s"] * RANKS - waited * len(events) * made_up_recording.TOOK) < 1e-9, call, rows[call])
        check(rows[call]["host_s"] > 0 and rows[call]["library_s"] > 0 and 0 <= rows[call]["taken"] <= 1, rows[call])
        check(re.search(f"^{call} ", out, re.M), call, out)
    check(rows["MPI_Reduce"]["bytes"] == 800 and rows["MPI_Alltoall"]["bytes"] == 80 and rows["MPI_Barrier"]["bytes"] == 0, rows)
    check(any(row["taken"] > 0 for row in rows.values()), "the library ran nothing", out)
    check({(s.get("type"), s.get("op"), s["by"]) for s in document["substitutes"]} ==
          {("particle", None, "MPI_DOUBLE"), ("particle", "user", "MPI_SUM")}, document["substitutes"])
    check("particle of 24 bytes is replaced by 3 x MPI_DOUBLE" in out and "user on particle is replaced by MPI_SUM" in out, out)
    check(document["unknown_events"] == RANKS and "MPI_Neighbor_alltoall" in out, out)
    check(document["unmatched_calls"] == 0 and document["gain_program"] is None, document)
    line = re.search(r"^collectives: recorded \d+\.\d+ ms, host MPI \d+\.\d+ ms \([-+]\d+\.\d%\), library \d+\.\d+ ms; predicted gain: "
                     r"-?\d+\.\d% of the time in collectives$", out, re.M)
    check(line, out)


def gaps(replay):
    """Gaps take their time, whatever fills them; what not all ranks have recorded is left out; the program's gain is said."""
    name, recording = replay.recording("truncated")
    rank = recording.ranks - 1  # the one that has lost the most
    least = sum(event[1] for event in recording.events[0][RANKS - 1:])
    for fill in ("sleep", "compute"):
        result = replay.path("replay.json")
        out, _ = replay.run([name, "--json", result, "--repeat", "1", "--warmup", "1", "--fill", fill])
        with open(result, encoding="utf-8") as file:
            document = json.load(file)
        check(document["host_wall_s"] > least and document["library_wall_s"] > least, least, document)
        check(document["recorded_wall_s"] > least, document)
        check(document["unmatched_calls"] == sum(range(RANKS)), document["unmatched_calls"])
        check(f"{sum(range(RANKS))} calls that not all ranks" in out, out)
        check(sum(row["calls"] for row in document["rows"]) == len(recording.events[rank]), document["rows"])
        share = (document["host_wall_s"] - document["library_wall_s"]) / document["host_s"]
        recorded = sum(event[2] for events in recording.events for event in events) / RANKS
        check(abs(document["gain_program"] - share * recorded / recording.run_s) < 1e-6, document)
        check(abs(document["gain_collectives"] - (1 - document["library_s"] / document["host_s"])) < 1e-6, document)
        check("of the program (0.1 s -> " in out, out)


def fresh(replay):
    """What received into new memory does so again, in every pass: the kernel counts."""
    faults = {}
    for name in ("used", "fresh"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        replay.run([replay.recording(name)[0], "--repeat", "3", "--warmup", "1"])
        faults[name] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    pages = 2 * 4 * RANKS * made_up_recording.FRESH_CALLS * made_up_recording.FRESH_PAGES
    check(0.8 * pages < faults["fresh"] - faults["used"] < 1.2 * pages, faults, pages)


def host_only(replay):
    """Without the library the host MPI is replayed; - writes the JSON, and nothing else, to standard output."""
    name, _ = replay.recording("solver")
    out, err = replay.run([name, "--json", "-"] + QUICK, library=False)
    document = json.loads(out)
    check(document["host_s"] > 0 and "library_s" not in document and "the library is not there" in err, out, err)
    odd = replay.path(os.fsdecode(b"caf\xe9.json"))
    os.rename(name, odd)
    document = json.loads(replay.run([odd, "--json", "-"] + QUICK, library=False)[0])
    check(document["recording"].endswith("caf?.json") and document["recording"] in document["command"], document)


def wrong_result(replay):
    """A result that is wrong ends the run."""
    name, _ = replay.recording("everything")
    out, err = replay.run([name] + QUICK, code=1, library=False, preload=[replay.args.corrupt],
                          settings={"CORRUPT_BYTES": "800", "CORRUPT_CALL": "0"})
    check("hanpmpi_replay: wrong result: MPI_Bcast" in err and "on rank 1" in err, out, err)


def refused(replay):
    """Another number of ranks, bad options: exit code 2, and what is wanted."""
    name, _ = replay.recording("solver")
    for arguments, ranks, wanted in [([name], 2, "is of 4 ranks, and this job has 2: start it with mpirun -np 4"),
                                     ([name, "--gaps", "some"], 1, "--gaps some: accepted are none, recorded"),
                                     ([name, "--fill", "x"], 1, "--fill x: accepted are sleep, compute"),
                                     ([name, "--repeat", "0"], 1, "--repeat 0: accepted are 1 to 1000"),
                                     ([name, "--hint", "x"], 1, "--hint x: accepted is KEY=VALUE"),
                                     ([name, "--flops", "0"], 1, "--flops 0: accepted are 1 to 1e18"),
                                     ([name, "another"], 1, "another: accepted is one recording"),
                                     ([], 1, "a recording is missing")]:
        _, err = replay.run(arguments, ranks=ranks, code=2) if ranks > 1 else replay.alone(arguments, code=2)
        check(wanted in err, wanted, err)


def broken(replay):
    """Recordings with a fault: a message that names the place, exit code 2."""
    _, recording = replay.recording("solver")
    good = recording.document()

    def changed(change):
        document = copy.deepcopy(good)
        change(document, document["sequence"])
        return json.dumps(document)

    def assign(value, *keys):
        def change(_, target):
            for key in keys[:-1]:
                target = target[key]
            target[keys[-1]] = value
        return change

    alltoallv = next(i for i, kind in enumerate(good["sequence"]["kinds"]) if "counts" in kind)
    for text, wanted in [
            ("", "line 1:"),
            ('{"format": ', "line 1:"),
            ("[]", "is no recording"),
            ("{}", "is no recording"),
            (changed(lambda d, s: d.update(version=2)), "version: accepted is 1"),
            (changed(lambda d, s: d.update(ranks=0)), "ranks: expected is a whole number from 1"),
            (changed(lambda d, s: d.update(sequence=None)), "has no sequence of calls: record the program again with HANPMPI_PROFILE_SEQUENCE"),
            (changed(lambda d, s: s.pop("kinds")), "sequence.kinds: expected is an array"),
            (changed(lambda d, s: s.pop("ranks")), "sequence.ranks: expected is an array"),
            (changed(lambda d, s: s["ranks"].pop()), "rank 3 is missing"),
            (changed(lambda d, s: (s["ranks"].pop(), d.update(incomplete="rank 3 was killed"))), "the recording is incomplete"),
            (changed(assign(0, "ranks", 1, "rank")), "rank 0 is there twice"),
            (changed(assign(9, "ranks", 1, "rank")), "sequence.ranks[].rank: expected is a whole number from 0 to 3"),
            (changed(assign([0, 9], "communicators", 0, "world_ranks")), "sequence.communicators[0].: expected is a whole number from 0 to 3"),
            (changed(assign([], "communicators", 0, "world_ranks")), "world_ranks: expected is at least one rank"),
            (changed(assign([0, 1, 2, 2], "communicators", 0, "world_ranks")), "sequence.communicators[0].world_ranks: rank 2 is there twice"),
            (changed(lambda d, s: (s["communicators"].append({"world_ranks": [0, 1, 2]}), s["kinds"][0].update(comm=1))),
             "rank 3's event 0 is on communicator 1, of which it is no member"),
            (changed(assign(99, "kinds", 0, "call")), "sequence.kinds[0].call: expected is a whole number from 0 to 1"),
            (changed(assign(1, "kinds", 0, "comm")), "sequence.kinds[0].comm: expected is a whole number from -1 to 0"),
            (changed(assign(-5, "kinds", 0, "count")), "sequence.kinds[0].count: expected"),
            (changed(assign(2**62 + 1, "kinds", alltoallv, "counts", 1)), f"sequence.kinds[{alltoallv}].counts: expected is a whole number"),
            (changed(assign([1], "kinds", alltoallv, "counts")), f"sequence.kinds[{alltoallv}].counts: expected is a list of 4 numbers"),
            (changed(assign(7, "kinds", alltoallv, "counts", 1)), "Was the recording cut off?"),
            (changed(assign([77, 0, 0], "ranks", 2, "events", 0)), "sequence.ranks[2].events[0]: expected is a whole number from 0 to"),
            (changed(assign([0, 0], "ranks", 2, "events", 0)), "sequence.ranks[2].events[0]: expected is [kind, gap_s, took_s]"),
            (changed(assign([0, -1.0, 0], "ranks", 2, "events", 0)), "sequence.ranks[2].events[0]: a time below 0"),
            (changed(assign([0, 0, 0, -1, -5], "ranks", 2, "events", 1)), "sequence.ranks[2].events[1]: expected is a whole number from 0"),
            (changed(assign([0, 0, 0, 5], "ranks", 2, "events", 1)), "sequence.ranks[2].events[1]: expected is a whole number from -1 to 0"),
            (changed(lambda d, s: s["ranks"][1]["events"].pop(1)), "the ranks do not agree on call"),
            (changed(lambda d, s: [rank.update(events=[]) for rank in s["ranks"]]), "has no collective that all ranks"),
            (changed(assign(2**40, "kinds", 0, "count")), "sequence.kinds[0].count: expected")]:
        name = replay.path("broken.json")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([replay.args.program, "--smpi", replay.path("trace"), name], env=replay.environment(False), text=True,
                              capture_output=True, timeout=100)
        check(done.returncode == 2 and wanted in done.stderr and name in done.stderr, wanted, done.returncode, done.stderr)
    check("No such file" in replay.alone(["/nowhere/out.json", "--smpi", replay.path("trace")], code=2)[1], "an absent file")
    name, _ = replay.recording("solver")
    check("cannot write /dev/null/trace" in replay.alone([name, "--smpi", "/dev/null/trace"], code=1)[1], "an unwritable folder")


def smpi(replay):
    """SimGrid runs the traces: every collective on any communicator; gaps become time; one file a rank."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "smpi"))
    import machine
    options = machine.parse("--nodes", "2", "--ranks-per-node", "2")
    machine.write(options, "star", replay.path("star"))
    times = {}
    for program in ("everything", "solver"):
        name, recording = replay.recording(program)
        folder = replay.path(program)
        out, _ = replay.alone(["--smpi", folder, "--flops", "1e9", name])
        check(f"-replay {folder}/index" in out, out)
        check(sorted(os.listdir(folder)) == ["index"] + [f"rank-{rank}.txt" for rank in range(RANKS)], os.listdir(folder))
        done = subprocess.run(["smpirun", "-np", str(RANKS), "-platform", replay.path("star.xml"), "-hostfile", replay.path("star.hosts"),
                               "--cfg=smpi/host-speed:1Gf", "-replay", f"{folder}/index"], text=True, capture_output=True, timeout=100,
                              cwd=replay.folder.name)
        found = re.search(r"Simulation time (\d+\.\d+)", done.stdout + done.stderr)
        check(done.returncode == 0 and found, program, done.returncode, done.stdout, done.stderr)
        times[program] = float(found.group(1))
        actions = open(f"{folder}/rank-0.txt", encoding="utf-8").read()
        check(actions.startswith("0 init\n") and actions.endswith("0 finalize\n"), actions)
    computed = sum(event[1] for event in recording.events[0])
    check(computed < times["solver"] < computed + 1e-3, computed, times)
    replay.recording("everything")
    check("written as messages" in replay.alone(["--smpi", replay.path("everything"), replay.path("out.json")])[0], "the messages are said")


def man_page(replay):
    """Every option of --help is in the manual page."""
    text = subprocess.run([replay.args.program, "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w,? +(?:[A-Z]+, )?)?(--[a-z-]+)", text, re.M))
    with open(os.path.join(ROOT, "docs", "hanpmpi_replay.1"), encoding="utf-8") as file:
        page = file.read().replace("\\-", "-")
    check(len(options) > 8, text)
    for option in options:
        check(option in page, option, "is not in docs/hanpmpi_replay.1")


CASES = {"everything": everything, "gaps": gaps, "fresh": fresh, "host_only": host_only, "wrong_result": wrong_result, "refused": refused, "broken": broken,
         "smpi": smpi, "man_page": man_page}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--program", help="hanpmpi_replay.<mpi>")
    parser.add_argument("--library", help="libhanpmpi.so")
    parser.add_argument("--run", default="mpirun", help="the launcher and its options")
    parser.add_argument("--helper", default="", help="preloaded into every rank")
    parser.add_argument("--corrupt", help="corrupt.so of that MPI")
    replay = Replay(parser.parse_args())
    CASES[replay.args.case](replay)


if __name__ == "__main__":
    main()
