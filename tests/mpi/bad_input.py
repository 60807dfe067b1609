#!/usr/bin/env python3
"""bad_input: what the library says, and does not say, when something is wrong around it.

Every case runs a small program (probe.c) under one MPI and looks at its exit code, its results and the lines of the library.
A case fails by AssertionError. Run with --list for the cases, or with names to run only these.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import side_by_side

CASES = []
WAITING = []  # of these, those whose jobs but wait for most of their time
RANK_LINE = re.compile(
    r"rank (?P<rank>\d+) backend (?P<backend>\S+) bcast (?P<bcast>\d+/\d+) reduce (?P<reduce>\d+/\d+) "
    r"allreduce (?P<allreduce>\d+/\d+) events (?P<events>-?\d+)"
)
PROBE_CALLS = 5  # of each collective, in probe.c
FORCED = {"HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han", "HANPMPI_ALLREDUCE": "han"}


def case(function):
    CASES.append(function)
    return function


def waiting_case(function):
    WAITING.append(function)
    return case(function)


class Result:
    """One finished run."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds
        self.said = [line for line in (out + err).splitlines() if line.startswith("hanpmpi: ")]
        self.ranks = [match.groupdict() for match in RANK_LINE.finditer(out)]

    def check(self, condition, what):
        if not condition:
            raise AssertionError(f"{what}\n$ {self.command}\nexit code {self.code}\n{self.out}{self.err}")

    def check_ran(self, ranks):
        """The program came to its end on all ranks, with right results."""
        self.check(self.code == 0, "the program failed")
        self.check([int(rank["rank"]) for rank in self.ranks] == list(range(ranks)), f"not {ranks} ranks reported")

    def check_said(self, lines, *words):
        """The library said that many lines, the first of which has these words in it."""
        self.check(len(self.said) == lines, f"the library said {len(self.said)} lines instead of {lines}")
        for word in words if lines else ():
            self.check(word in self.said[0], f"the library did not say '{word}'")


class Host:
    """The MPI under test."""

    def __init__(self, options):
        self.options = options
        self.launch = options.run.split()
        self.library = os.path.abspath(options.library)

    def preload(self, *objects):
        """The value of LD_PRELOAD with these objects, and what the host itself needs."""
        return ":".join([*objects, *([self.options.helper] if self.options.helper else [])])

    def execute(self, arguments, settings=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HANPMPI_")}
        environment.pop("LD_PRELOAD", None)
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        shown = " ".join(f"{name}='{value}'" for name, value in (settings or {}).items())
        start = time.monotonic()
        with side_by_side.job_folder() as folder:
            done = subprocess.run(
                arguments, env={**environment, **folder, **(settings or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=self.options.timeout, check=False,
            )
        return Result(f"{shown} {' '.join(arguments)}", done.returncode, done.stdout, done.stderr,
                      time.monotonic() - start)

    def run(self, settings=None, ranks=2, program=None, preload=None, before=()):
        """The advertised form: the preload and the settings in front of the launcher, and the words `before`."""
        everything = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_CACHE": "off", **(settings or {})}
        everything["LD_PRELOAD"] = self.preload(*([self.library] if preload is None else preload))
        if not everything["LD_PRELOAD"]:
            del everything["LD_PRELOAD"]
        return self.execute([*before, *self.launch, "-np", str(ranks), *(program or [self.options.probe])], everything)

    def run_unlike(self, *settings, preload=None):
        """One rank for each of the settings; preload: the objects of each rank."""
        arguments = list(self.launch)
        for rank, own in enumerate(settings):
            objects = self.preload(*([self.library] if preload is None else preload[rank]))
            words = [f"{name}={value}" for name, value in {"HANPMPI_SETUP_CALLS": "1", **own}.items()]
            if objects:
                words.append(f"LD_PRELOAD={objects}")
            arguments += [*([":"] if rank else []), "-np", "1", "env", *words, self.options.probe]
        return self.execute(arguments)


def all_taken(count=PROBE_CALLS):
    return f"{count}/{PROBE_CALLS}"


@case
def nothing_wrong(host):
    """With everything right the library says nothing, and takes what it is forced to take."""
    result = host.run(FORCED)
    result.check_ran(2)
    result.check_said(0)
    for rank in result.ranks:
        result.check(rank["bcast"] == rank["reduce"] == rank["allreduce"] == all_taken(), "not all calls were taken")


@case
def unknown_variable(host):
    """A warning with the nearest name: one line over all ranks."""
    for wrong, right in (("HANPMPI_SEGMENT_BITES", "HANPMPI_SEGMENT_BYTES"), ("HANPMPI_BCATS", "HANPMPI_BCAST"),
                         ("HANPMPI_TOPOLGY", "HANPMPI_TOPOLOGY")):
        result = host.run({wrong: "64"}, ranks=3)
        result.check_ran(3)
        result.check_said(1, "warning", wrong, right)


def network_file(folder, text):
    path = os.path.join(folder, "job.net")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


NODES = {**FORCED, "HANPMPI_TOPOLOGY": "node:3 core:1", "HANPMPI_GUARD": "0"}


@case
def networks(host):
    """What is made for a network runs where one is known; one that is wrong is named once, and the run goes on without."""
    settings = {**NODES, "HANPMPI_BETWEEN_NODES": "depth_first_chain", "HANPMPI_EXPLAIN": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for text, words in (
            ("hosts n0 n2 on s0; hosts n1 on s1; s0 - s1", ()),
            ("hosts n0 n1 on s0; hosts n7 on s1; s0 - s1", ("job.net: there is no host \"n2\"", "no network is known")),
            ("hosts n0 n1 n2 on s0; s0 - s1; s1 - s0; hosts x on s1", ("job.net:1: ", "closes a cycle", "no network is known")),
            ("hosts n0 n1 n2 on s0 0gbit", ("job.net:1: ", "no network is known")),
        ):
            result = host.run({**settings, "HANPMPI_NETWORK": network_file(folder, text)}, ranks=3)
            result.check_ran(3)
            warnings = [line for line in result.said if "HANPMPI_NETWORK" in line]
            result.check(len(warnings) == (1 if words else 0), f"{len(warnings)} lines about the network")
            for word in words:
                result.check(word in warnings[0], f"the library did not say '{word}'")
            ran = "depth_first_chain" in result.out + result.err
            result.check(ran == (not words), "depth_first_chain ran without a network" if words else "depth_first_chain did not run")
        result = host.run({**NODES, "HANPMPI_NETWORK": os.path.join(folder, "none.net")}, ranks=3)
        result.check_ran(3)
        result.check_said(1, "HANPMPI_NETWORK", "none.net: No such file")


BAD_VALUES = (  # variable, value, what the accepted range must contain
    ("HANPMPI_SENDS_PER_CHILD", "-1", "0..1024"),
    ("HANPMPI_RECVS_PER_PARENT", "many", "0..1024"),
    ("HANPMPI_SEGMENT_BYTES", "12Q", "0..1073741824"),
    ("HANPMPI_SEGMENT_BYTES", "-1", "0..1073741824"),
    ("HANPMPI_SEGMENT_BYTES", "", "0..1073741824"),
    ("HANPMPI_SETUP_BYTES", "99999999999999999999", "0..1099511627776"),
    ("HANPMPI_STATS", "2", "0 or 1"),
    ("HANPMPI_ENABLE", "maybe", "0 or 1"),
    ("HANPMPI_BCAST", "fastest", "native"),
    ("HANPMPI_ALLREDUCE", "HAHN", "han"),
    ("HANPMPI_TOPOLOGY", "node:2 package:x", "node"),
    ("HANPMPI_TOPOLOGY", "galaxy:2", "node"),
    ("HANPMPI_LEVELS", "node,galaxy", "package"),
    ("HANPMPI_SHAPES", "node:square", "chain"),
    ("HANPMPI_SHAPES", "x" * 400, "characters"),
)


@case
def bad_value(host):
    """A warning with variable, value and range: one line over all ranks; the default holds. A run has one value of each variable."""
    left = list(BAD_VALUES)
    while left:
        together = {variable: (value, accepted) for variable, value, accepted in reversed(left)}  # the first of each
        result = host.run({**FORCED, **{variable: value for variable, (value, _) in together.items()}})
        result.check_ran(2)
        result.check_said(len(together))
        for variable, (value, accepted) in together.items():
            lines = [line for line in result.said if f"{variable}=" in line]
            result.check(len(lines) == 1, f"{variable} is in {len(lines)} lines")
            for word in ("warning", value[:100], accepted):
                result.check(word in lines[0], f"the library did not say '{word}' of {variable}")
        left = [bad for bad in left if together[bad[0]][0] != bad[1]]


@case
def several_bad_values(host):
    """Each gets its line, however many ranks there are."""
    result = host.run({"HANPMPI_SENDS_PER_CHILD": "-1", "HANPMPI_SHAPES": "node:square", "HANPMPI_SPEED": "9"}, ranks=3)
    result.check_ran(3)
    result.check_said(3)
    for words in ("HANPMPI_SENDS_PER_CHILD=-1", "HANPMPI_SHAPES=node:square", "HANPMPI_SPEED"):
        count = sum(words in line for line in result.said)
        result.check(count == 1, f"{words} is in {count} lines")


@case
def bad_hints(host):
    """A bad info value is reported once, with key and value, and ignored."""
    result = host.run({}, program=[host.options.hints, "bad"])
    result.check(result.code == 0, "the program failed")
    wrong = {"hanpmpi": "perhaps", "hanpmpi_bcast": "fastest", "hanpmpi_segment_bytes": "-5",
             "hanpmpi_shapes": "node:square", "hanpmpi_ib_segment_bytes": "-6", "hanpmpi_ir_segment_bytes": "-7",
             "hanpmpi_guard": "2", "hanpmpi_arrival": "3", **{f"hanpmpi_{name}": "17" for name in ("trees", "leaders")},
             **{f"hanpmpi_{name}": "?" for name in ("reduce", "allreduce", "barrier", "modules", "between_nodes")},
             **{f"hanpmpi_{name}": "-1" for name in ("sends_per_child", "recvs_per_parent", "window_segments")}}
    for key, value in wrong.items():
        count = sum(f"{key}:" in line and value in line for line in result.said)
        result.check(count == 1, f"key {key} with {value} is in {count} lines")
    result.check(len(result.said) == len(wrong), "other lines than these")


RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "rules")
FINE = {"good.json", "many.json", "gap.json", "version_missing.json", "file_machine.json"}  # what they say is no problem, or theirs alone


@case
def files_of_rules(host):
    """A file of rules that is broken, or none at all: it is named, and the program runs on. A few: unit.test_rules_json has all."""
    broken = [name for name in sorted(os.listdir(RULES)) if name not in FINE]
    for name in [*broken[::9], "", "no_such_file.json"]:
        path = os.path.abspath(os.path.join(RULES, name))
        result = host.run({"HANPMPI_RULES": path, "HANPMPI_GUARD": "0"})
        result.check_ran(2)
        result.check(len(result.said) >= 1 and all("warning" in line and path in line for line in result.said),
                     f"not a warning that names {path}")


def star(ranks, pattern="bcast", **changed):
    """A schedule in a file: the root sends each block to everybody; before that, in an allreduce, everybody sends it to the root."""
    blocks, all_of_it, reduces = 3, [["recv", 0, 3]], pattern == "allreduce"
    schedules = [{"steps": [[p, p, "store", 0, [["send", 0, blocks]], all_of_it]] if reduces else []} for p in range(ranks)]
    for other in range(1, ranks):
        if reduces:
            schedules[other]["steps"].append([0, None, "store", 2, all_of_it, []])
            schedules[0]["steps"].append([None, other, "reduce_right", 2, [], all_of_it])
    for other in range(1, ranks):
        for block in range(blocks):
            schedules[0]["steps"].append([other, None, "store", 3, [["recv", block]], []])
            schedules[other]["steps"].append([None, 0, "store", 3, [], [["recv", block]]])
    return {"format": 1, "pattern": pattern, "positions": ranks, "cut": blocks, "schedules": schedules, **changed}


class Schedules:
    """A directory of files of schedules."""

    def __init__(self, **files):
        self.folder = tempfile.TemporaryDirectory(prefix="hanpmpi-")
        for name, schedules in files.items():
            with open(os.path.join(self.folder.name, name + ".json"), "w", encoding="ascii") as file:
                json.dump(schedules, file)

    def settings(self, name, **more):
        """4 ranks are 4 nodes, which the file of that name joins."""
        return {**FORCED, "HANPMPI_TOPOLOGY": "node:4 core:1", "HANPMPI_GUARD": "0", "HANPMPI_SCHEDULES": self.folder.name,
                "HANPMPI_BETWEEN_NODES": name, "HANPMPI_EXPLAIN": "1", **more}


def joined(result, collective):
    """What joined the nodes, says HANPMPI_EXPLAIN."""
    rows = [line for line in result.err.splitlines() if line.startswith(f"  {collective} ") and " han, " in line]
    result.check(len(rows) == 1, f"{collective} is in {len(rows)} rows")
    return rows[0].split(" han, ")[1].split(",")[0]


def warnings(result):
    return [line for line in result.said if "warning" in line]


@case
def schedules_in_files(host):
    """A schedule in a file joins as many nodes as it has positions, for its collective; all else goes along the tree."""
    schedules = Schedules(a_star=star(4), reducer=star(4, "allreduce"), three=star(3))
    for name, collective in (("a_star", "bcast"), ("reducer", "allreduce"), ("three", "")):
        result = host.run(schedules.settings(name), ranks=4)
        result.check_ran(4)
        result.check(not warnings(result), "a warning")
        for each in ("bcast", "reduce", "allreduce"):
            result.check((joined(result, each) == name) == (each == collective), f"{each}: {joined(result, each)}")
            result.check(all(rank[each] == all_taken() for rank in result.ranks), f"{each} was not taken")
    rules = os.path.join(schedules.folder.name, "rules")
    with open(rules, "w", encoding="ascii") as file:
        json.dump({"version": 1, "rules": [{"collective": "bcast", "nodes": [4, 4], "algorithm": "han", "between_nodes": "a_star"}]}, file)
    settings = schedules.settings("", HANPMPI_RULES=rules)
    for name in ("HANPMPI_BETWEEN_NODES", *FORCED):
        del settings[name]
    result = host.run(settings, ranks=4)
    result.check_ran(4)
    result.check(joined(result, "bcast") == "a_star", "the rule's schedule was not run")


@case
def schedules_that_cannot_be_used(host):
    """One warning that names the file, the position and the step, or what else is wrong; what asks for it takes the tree."""
    broken, twisted = star(4), star(4)
    del broken["schedules"][2]["steps"][1]
    twisted["schedules"][2]["steps"][0][5][0][1] = 1
    schedules = Schedules(broken=broken)
    for name, words in (("broken", ("broken.json: position ", ", step ")), ("missing", ("missing.json: there is no such file",))):
        result = host.run(schedules.settings(name), ranks=4)
        result.check_ran(4)
        said = [line for line in warnings(result) if name in line]
        result.check(len(said) == 1 and all(word in said[0] for word in words), f"not one warning of {words}")
        result.check(joined(result, "bcast") not in (name, "auto"), "what cannot be used was used")
        result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "no tree was taken")
    schedules = Schedules(twisted=twisted)
    result = host.run(schedules.settings("twisted"), ranks=4)
    result.check_ran(4)
    result.check(len(warnings(result)) == 1 and "twisted.json: position 2, step 0: " in warnings(result)[0], "position and step are not named")


@case
def schedules_of_other_ranks(host):
    """Rank 0's directory counts, whatever the others have."""
    mine, theirs = Schedules(a_star=star(4)), Schedules(a_star=star(3), another=star(4))
    own = {**mine.settings("a_star"), "HANPMPI_CACHE": "off"}
    same_name = {**theirs.settings("a_star"), "HANPMPI_CACHE": "off"}
    none = {name: value for name, value in own.items() if name not in ("HANPMPI_SCHEDULES", "HANPMPI_BETWEEN_NODES")}
    result = host.run_unlike(own, same_name, none, {**theirs.settings("another"), "HANPMPI_CACHE": "off"})
    result.check_ran(4)
    result.check(len(warnings(result)) == 1 and "rank 0's settings hold" in warnings(result)[0], "not one warning")
    result.check(joined(result, "bcast") == "a_star", "rank 0's schedule was not run")
    result = host.run_unlike(none, own, same_name, none)
    result.check_ran(4)
    result.check(joined(result, "bcast") not in ("a_star", "another"), "a schedule that rank 0 does not have was run")


@case
def small_topology(host):
    """A synthetic machine that is smaller than the job: one warning; one that fits: none."""
    for machine, lines in (("node:2 core:1", 1), ("core:3", 0), ("node:4 core:2", 0)):
        result = host.run({"HANPMPI_TOPOLOGY": machine}, ranks=3)
        result.check_ran(3)
        result.check_said(lines, "warning", f"HANPMPI_TOPOLOGY={machine} has 2 cores for 3 ranks", "at least 3")


@case
def cache_that_cannot_be_written(host):
    """One warning with variable, value and what is accepted, at the end of the run."""
    for directory in ("/proc/no/such/directory", os.path.abspath(__file__)):
        result = host.run({"HANPMPI_CACHE": directory, "HANPMPI_PROBE_AFTER_US": "0"})
        result.check_ran(2)
        result.check_said(1, "warning", f"HANPMPI_CACHE={directory}", "accepted", "off")


@case
def misspelt_noise(host):
    """A variable that libhanpmpi-noise.so does not have is as unknown as any other."""
    result = host.run({"HANPMPI_NOISE_RANK": "1", "HANPMPI_NOISE": "off", "HANPMPI_NOISE_HZ": "10"})
    result.check_ran(2)
    result.check_said(1, "warning", "HANPMPI_NOISE_RANK", "HANPMPI_NOISE_RANKS")


@case
def words_as_they_are_printed(host):
    """Sizes with units, booleans in words, and words in capitals are accepted as they are written."""
    result = host.run({**FORCED, "HANPMPI_SEGMENT_BYTES": "32KiB", "HANPMPI_SLOT_BYTES": "128 KiB", "HANPMPI_GUARD": "off",
                       "HANPMPI_MODEL": "false", "HANPMPI_ENABLE": "Yes", "HANPMPI_BARRIER": "HAN", "HANPMPI_NONBLOCKING": "1"})
    result.check_ran(2)
    result.check_said(0)
    for word in ("no", "OFF", "False"):
        result = host.run({**FORCED, "HANPMPI_ENABLE": word})
        result.check(result.ranks and all(rank["bcast"] == "0/0" for rank in result.ranks), f"{word} does not switch the library off")


@case
def introduces_itself(host):
    """HANPMPI_VERBOSE=2: one line by rank 0: version, MPI, backend, ranks, nodes, path."""
    for machine, nodes in (("", "1 node,"), ("node:2 core:2", "2 nodes,")):
        result = host.run({"HANPMPI_VERBOSE": "2", **({"HANPMPI_TOPOLOGY": machine} if machine else {})}, ranks=3)
        result.check_ran(3)
        result.check_said(1, "rank 0: info: version ", f"backend {host.options.abi}", f"3 ranks on {nodes}",
                          f"/hanpmpi/libhanpmpi-{host.options.abi}.so")


@case
def quiet(host):
    """HANPMPI_VERBOSE=0 silences warnings."""
    result = host.run({"HANPMPI_VERBOSE": "0", "HANPMPI_SENDS_PER_CHILD": "-1"})
    result.check_ran(2)
    result.check_said(0)


@case
def pitfall_41_cores(host):
    """A job that may use one core of the machine knows that it shares it, and how its MPI waits."""
    waits = "yields" if "mpi_yield_when_idle" in host.launch else "spins"
    core = min(os.sched_getaffinity(0))
    result = host.run({**FORCED, "HANPMPI_VERBOSE": "3"}, before=["taskset", "-c", str(core)])
    result.check_ran(2)
    lines = [line for line in result.said if f"ranks on this node: 2, cores that they may use: 1; the host MPI {waits}" in line]
    result.check(len(lines) == 2, f"not every rank knows of one core, and of an MPI that {waits}")


@case
def statistics(host):
    """HANPMPI_STATS=1: one table at MPI_Finalize, in which the calls are found."""
    result = host.run({**FORCED, "HANPMPI_STATS": "1"})
    result.check_ran(2)
    result.check_said(1)
    for name in ("bcast", "reduce", "allreduce"):
        rows = [line.split() for line in (result.out + result.err).splitlines() if line.split()[:1] == [name]]
        result.check(len(rows) == 1 and str(PROBE_CALLS) in rows[0], f"not one row for {name} with {PROBE_CALLS} calls")
    said = result.out + result.err
    result.check(re.search(r"shared memory of the node: 1 communicators?, \d+ [KM]iB reserved by this rank", said), "no bytes of the node's memory")
    resident = re.search(r"resident memory of this rank, the whole process: (\d+) KiB at most", said)
    result.check(resident and 2 << 10 < int(resident[1]) < 1 << 20, "no resident bytes, or absurd ones")


@case
def other_devices(host):
    """A runtime of devices that are not recognized, on one rank: all ranks pass all calls through."""
    both = [host.library], [host.library, host.options.other_device]
    result = host.run_unlike(FORCED, FORCED, preload=both)
    result.check_ran(2)
    for rank in result.ranks:
        result.check(rank["bcast"] == rank["reduce"] == rank["allreduce"] == f"0/{PROBE_CALLS}", "calls were taken")


@case
def switched_off(host):
    """HANPMPI_ENABLE=0: nothing is intercepted, nothing is said, not even about other variables."""
    result = host.run({**FORCED, "HANPMPI_ENABLE": "0"})
    result.check_ran(2)
    result.check_said(0)
    for rank in result.ranks:
        result.check(rank["bcast"] == rank["reduce"] == rank["allreduce"] == "0/0", "calls were counted")


@case
def pitfall_08_other_settings(host):
    """Ranks with other settings than rank 0: one warning, and those of rank 0 hold."""
    for first, second, taken in (("han", "native", PROBE_CALLS), ("native", "han", 0)):
        result = host.run_unlike({"HANPMPI_BCAST": first, "HANPMPI_SEGMENT_BYTES": "64"},
                                 {"HANPMPI_BCAST": second, "HANPMPI_SEGMENT_BYTES": "4096"})
        result.check_ran(2)
        result.check_said(1, "warning", "rank 0")
        for rank in result.ranks:
            result.check(rank["bcast"] == all_taken(taken), f"rank 0's HANPMPI_BCAST={first} does not hold")
    # Settings that each rank may choose for itself are no difference.
    result = host.run_unlike({"HANPMPI_SPIN_POLLS": "10"}, {"HANPMPI_SPIN_POLLS": "20"})
    result.check_ran(2)
    result.check_said(0)


@waiting_case
def pitfall_08_one_rank_off(host):
    """One rank with HANPMPI_ENABLE=0, the others without: no hang, right results, said."""
    for off in range(2):
        result = host.run_unlike(*({**FORCED, "HANPMPI_HANDSHAKE_SECONDS": "1",
                                    "HANPMPI_ENABLE": "0" if rank == off else "1"} for rank in range(2)))
        result.check_ran(2)
        result.check(result.seconds < 20, f"took {result.seconds:.0f} s")
        result.check(result.said, "nothing was said")
        result.check(all(rank[name].startswith("0/") for rank in result.ranks for name in ("bcast", "reduce")),
                     "calls were taken")


@waiting_case
def pitfall_08_one_rank_without(host):
    """One rank without the preload: a warning in time, and the program runs on, untouched."""
    for without in range(3):
        result = host.run_unlike(*[{**FORCED, "HANPMPI_HANDSHAKE_SECONDS": "1"}] * 3,
                                 preload=[[] if rank == without else [host.library] for rank in range(3)])
        result.check_ran(3)
        result.check(result.seconds < 20, f"took {result.seconds:.0f} s")
        result.check(result.said, "nothing was said")
        result.check("warning" in result.said[0] and "loaded" in result.said[0], "the warning does not say why")
        for rank in result.ranks:
            expected = "absent" if int(rank["rank"]) == without else rank["backend"]
            result.check(rank["backend"] == expected, "the wrong rank is without")
            result.check(rank["bcast"].startswith("0/"), "calls were taken")


@waiting_case
def pitfall_08_late_ranks(host):
    """A rank that comes to the ranks' agreement after the others have given it up is not active alone, nor are those that it leaves."""
    for late, seconds, taken in ((0, 2, True), (0, 7, False), (1, 7, False), (2, 7, False)):
        own = {**FORCED, "HANPMPI_HANDSHAKE_SECONDS": "1", "LATE_SECONDS": str(seconds)}
        result = host.run_unlike(*[own] * 4, preload=[[host.library, *([host.options.late_in_init] if rank == late else [])] for rank in range(4)])
        result.check_ran(4)
        result.check(result.seconds < 30, f"took {result.seconds:.0f} s")
        for rank in result.ranks:
            result.check(rank["bcast"] == rank["reduce"] == all_taken(PROBE_CALLS if taken else 0), f"rank {late} late by {seconds} s")
        result.check(bool(result.said) != taken, "nothing was said, or too much")


@case
def pitfall_08_other_version(host):
    """Ranks with another version of the library: a warning, and the library is off."""
    front = ctypes.CDLL(host.library)
    front.hanpmpi_version.restype = ctypes.c_char_p
    # Without the patch number: a compiler may turn the short string into instructions, four bytes at a time.
    version = front.hanpmpi_version().rsplit(b".", 1)[0] + b"."
    other_version = bytes([version[0] ^ 8]) + version[1:]
    folder = os.path.dirname(os.path.realpath(host.library))
    with tempfile.TemporaryDirectory() as temporary:
        other = shutil.copytree(folder, os.path.join(temporary, "lib"), symlinks=True)
        for path, _, names in os.walk(other):
            for name in names:
                file = os.path.join(path, name)
                if not os.path.islink(file) and ".so" in name:
                    data = open(file, "rb").read()
                    open(file, "wb").write(data.replace(version, other_version))
        result = host.run_unlike(FORCED, FORCED, preload=[[host.library], [os.path.join(other, "libhanpmpi.so")]])
    result.check_ran(2)
    result.check_said(1, "warning", "version")
    result.check(all(rank["bcast"].startswith("0/") for rank in result.ranks), "calls were taken")


@case
def files_of_spawned_jobs(host):
    """A job that another one has started has its settings; each writes files of its own."""
    if host.run(program=[host.options.lifecycle, "spawn"], preload=[]).code != 0:
        print("     this MPI starts no jobs (MPI_Comm_spawn fails without the library, too)")
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"HANPMPI_PROFILE": "profile", "HANPMPI_TRACE": "trace.one", "HANPMPI_EXPLAIN_JSON": "explain"}
        result = host.run({**FORCED, **{name: os.path.join(folder, file + ".json") for name, file in kinds.items()}},
                          program=[host.options.lifecycle, "spawn"])
        result.check(result.code == 0, "the jobs failed")
        written = sorted(os.listdir(folder))
        for file in kinds.values():
            own = [name for name in written if re.fullmatch(re.escape(file) + r"(\.spawned-[0-9a-f]{8})?\.json", name)]
            result.check(len(own) == 2, f"expected {file}.json and {file}.spawned-WORD.json, found {written}")
            for name in own:
                with open(os.path.join(folder, name)) as text:
                    json.load(text)


@case
def pitfall_08_longer_messages(host):
    """Another version may have longer messages, which an MPI takes for an error."""
    for ranks, other in ((2, 1), (4, 2)):
        result = host.run_unlike(*[FORCED] * ranks, preload=[[host.options.old_version if rank == other else host.library] for rank in range(ranks)])
        result.check_ran(ranks)
        result.check_said(1, "warning", "version")
        result.check(all(rank["bcast"].startswith("0/") for rank in result.ranks), "calls were taken")


@case
def pitfall_08_words_of_the_program(host):
    """An -x among the program's own words is no business of the launcher."""
    result = host.run(FORCED, program=[host.options.probe, "-x", "trajectory"])
    result.check_ran(2)
    result.check_said(0)
    result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "not all calls were taken")


@case
def missing_backend(host):
    """The front without its backends: one warning that names what was found and what there is."""
    with tempfile.TemporaryDirectory() as temporary:
        alone = shutil.copy(os.path.realpath(host.library), os.path.join(temporary, "libhanpmpi.so"))
        result = host.run(FORCED, preload=[alone])
        result.check_ran(2)
        result.check_said(1, "warning", "backend", host.options.abi, "none")
        result.check(all(rank["bcast"].startswith("0/") for rank in result.ranks), "calls were taken")
        os.mkdir(os.path.join(temporary, "hanpmpi"))
        open(os.path.join(temporary, "hanpmpi", f"libhanpmpi-{host.options.abi}.so"), "wb").write(b"not an object")
        result = host.run(FORCED, preload=[alone])
        result.check_ran(2)
        result.check_said(1, "warning", "backend", host.options.abi)


@waiting_case
def required(host):
    """HANPMPI_REQUIRE=1: a job in which the library cannot be active ends in MPI_Init, and says why; one in which it is runs on."""
    result = host.run({**FORCED, "HANPMPI_REQUIRE": "1"})
    result.check_ran(2)
    result.check_said(0)
    required = {"HANPMPI_REQUIRE": "1", "HANPMPI_HANDSHAKE_SECONDS": "1"}
    with tempfile.TemporaryDirectory() as temporary:
        alone = shutil.copy(os.path.realpath(host.library), os.path.join(temporary, "libhanpmpi.so"))
        for result, why in ((host.run(required, preload=[alone]), "no backend"),
                            (host.run({**required, "HANPMPI_ENABLE": "0"}), "HANPMPI_ENABLE=0"),
                            (host.run_unlike(required, required, preload=[[host.library], []]), "loaded")):
            result.check(result.code != 0 and not result.ranks, "the job did not end")
            result.check(result.seconds < 20, f"took {result.seconds:.0f} s")
            for words in ("HANPMPI_REQUIRE=1", why):
                result.check(any(words in line for line in result.said), f"the library did not say '{words}'")


@case
def started_by_hanpmpi_run(host):
    """hanpmpi-run starts a program with the library that lies beside it, from any folder; what cannot work is named, and nothing starts."""
    start = os.path.join(os.path.dirname(host.library), "..", "bin", "hanpmpi-run")
    mpirun, own = [*host.launch, "-np", "2", host.options.probe], {**FORCED, "HANPMPI_SETUP_CALLS": "1", "HANPMPI_CACHE": "off"}
    if host.options.helper:
        own["LD_PRELOAD"] = host.options.helper
    with tempfile.TemporaryDirectory() as temporary:
        link = os.path.join(temporary, "run")
        os.symlink(os.path.realpath(start), link)
        for command in ([start, *mpirun], [link, "--", *mpirun],
                        [start, "--library", os.path.relpath(host.library), *mpirun]):
            result = host.execute(command, own)
            result.check_ran(2)
            result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "not all calls were taken")
        result = host.execute([start, "--print"])
        result.check(result.out == f"LD_PRELOAD={os.path.realpath(host.library)} HANPMPI_REQUIRE=1\n", "other words")

        alone = shutil.copy(os.path.realpath(host.library), os.path.join(temporary, "libhanpmpi.so"))
        noise = os.path.join(temporary, "noise.so")
        open(noise, "wb").write(b"not an object")
        blank = os.path.join(temporary, "a b.so")
        os.symlink(os.path.realpath(host.library), blank)
        lonely = shutil.copy(os.path.realpath(start), os.path.join(temporary, "lonely"))
        os.mkdir(os.path.join(temporary, "bin"))
        lonely = shutil.move(lonely, os.path.join(temporary, "bin", "lonely"))
        for command, settings, why, code in (
            ([start, "--library", "no_such.so", *mpirun], {}, "no_such.so does not exist", 2),
            ([start, "--library", noise, *mpirun], {}, "no library of this machine", 2),
            ([start, "--library", alone, *mpirun], {}, "no backend", 2),
            ([lonely, *mpirun], {}, "no libhanpmpi.so", 2),
            ([start, *mpirun], {"HANPMPI_ENABLE": "0"}, "HANPMPI_ENABLE=0", 2),
            ([start, "no_such_launcher"], {}, "no such command", 127),
            ([start, "--fast", *mpirun], {}, "--fast", 2),
            ([start], {}, "which command", 2),
        ):
            result = host.execute(command, settings)
            result.check(result.code == code and not result.ranks, f"not exit code {code}")
            result.check(why in result.err and result.err.startswith("hanpmpi-run: "), f"it did not say '{why}'")
        result = host.execute([start, "--library", blank, *mpirun], own)
        result.check_ran(2) # a link is followed to a name without blanks


@case
def pitfall_01_inert(host):
    """In processes that are not MPI programs: no output of its own, the same exit code, also with LD_BIND_NOW."""
    launcher = host.launch[0]
    commands = [["bash", "-c", "echo hello; exit 3"], ["python3", "-c", "import ctypes; print('hello')"], ["ssh", "-V"],
                [launcher, "--version"], ["orted", "--help"], ["prted", "--help"], ["hydra_pmi_proxy", "--help"],
                ["sh", "-c", "ls / | wc -l"]]
    for command in commands:
        if not shutil.which(command[0]):
            continue
        plain = host.execute(command)
        for extra in ({}, {"LD_BIND_NOW": "1"}, {"HANPMPI_NONSENSE": "1"}, {"HANPMPI_SENDS_PER_CHILD": "-1"}):
            result = host.execute(command, {"LD_PRELOAD": host.library, **extra})
            result.check(result.code == plain.code, f"exit code {plain.code} without the library")
            result.check((result.out, result.err) == (plain.out, plain.err), "other output than without the library")


@case
def pitfall_01_bind_now(host):
    """The program itself with LD_BIND_NOW: every symbol is there."""
    result = host.run({**FORCED, "LD_BIND_NOW": "1"})
    result.check_ran(2)
    result.check_said(0)
    result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "not all calls were taken")


@case
def pitfall_04_linked(host):
    """-lhanpmpi before -lmpi works as the preload does; behind it, that is said."""
    result = host.run(FORCED, program=[host.options.linked], preload=[])
    result.check_ran(2)
    result.check_said(0)
    result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "not all calls were taken")
    result = host.run(FORCED, program=[host.options.linked_late], preload=[])
    result.check_ran(2)
    result.check_said(1, "warning", "-lhanpmpi")
    result.check(all(rank["bcast"].startswith("0/") for rank in result.ranks), "calls were taken")


@case
def pitfall_05_profiler(host):
    """A PMPI tool before or behind the library: one event a call, and the library takes the call all the same."""
    for objects in ([host.options.profiler, host.library], [host.library, host.options.profiler]):
        result = host.run(FORCED, preload=objects)
        result.check_ran(2)
        result.check_said(0)
        for rank in result.ranks:
            result.check(int(rank["events"]) == PROBE_CALLS, f"{rank['events']} events instead of {PROBE_CALLS}")
            result.check(rank["bcast"] == all_taken(), "not all calls were taken")


@case
def pitfall_05_tools_that_look(host):
    """A tool that looks for the next MPI_Init itself is entered once, and does not leave the library out: in front of it or behind."""
    for objects in ([host.options.finder, host.library], [host.library, host.options.finder]):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "recording.json")
            result = host.run({**FORCED, "HANPMPI_REQUIRE": "1", "HANPMPI_PROFILE": path}, preload=objects)
            result.check_ran(2)
            result.check_said(0)
            result.check(all(rank["bcast"] == all_taken() for rank in result.ranks), "not all calls were taken")
            result.check(os.path.exists(path), "the end was missed: there is no recording")


@waiting_case
def pitfall_07_exit_codes(host):
    """MPI_Abort and a missing MPI_Finalize end as they do without the library."""
    for name in ("abort", "no_finalize"):
        program = [host.options.lifecycle, name]
        for _ in range(5):  # MPICH 4.0.2 ends one in 40 jobs without MPI_Finalize with 1 instead of 0
            plain = host.run({}, program=program, preload=[])
            result = host.run(FORCED, program=program)
            if result.code == plain.code:
                break
        result.check(result.code == plain.code, f"{name}: exit code {plain.code} without the library")
        result.check_said(0)


def fails(host, function):
    """Runs a case and prints what became of it."""
    try:
        function(host)
        print(f"ok   {function.__name__}", flush=True)
        return False
    except (AssertionError, subprocess.TimeoutExpired) as error:
        print(f"FAIL {function.__name__}: {error}", flush=True)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--library", help="libhanpmpi.so, with its backends beside it")
    parser.add_argument("--abi", help="the backend of this MPI: openmpi, mpich, mpiabi")
    parser.add_argument("--run", help="the launcher with its options, without -np")
    parser.add_argument("--helper", default="", help="an object that the host's ranks preload in any case")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    for program in ("probe", "linked", "linked-late", "hints", "lifecycle", "profiler", "finder", "old-version", "late-in-init", "other-device"):
        parser.add_argument(f"--{program}", help=f"path of {program}")
    parser.add_argument("names", nargs="*", help="cases to run")
    options = parser.parse_args()

    if options.list:
        for function in CASES:
            print(f"{function.__name__}: {function.__doc__}")
        return 0
    host = Host(options)
    chosen = [function for function in CASES if not options.names or function.__name__ in options.names]
    failures = side_by_side.run_cases(chosen, WAITING, lambda function: fails(host, function)).count(True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
