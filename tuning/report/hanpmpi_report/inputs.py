"""Reads the files that pictures are made of, and checks them: what hanpmpi_tune writes
(tuning/tune/FORMAT.md), what hanpmpi_bench --json writes, and rules in JSON. The content tells which of them
a file is. What comes out of here has the members that the pictures use, of the right kind."""
import json
import math
import os
import re

from .configurations import BUILT_IN, NATIVE, Configuration

MODELS = {"lockstep": "lock-step model", "events": "event model"}
SEARCHES = {"exhaustive": "exhaustive", "heuristic": "heuristics", "task": "tasks", "task+heuristic": "tasks and heuristics"}
# Whose choice is shown as the library's, if nobody says which: the first that is there.
OURS_ORDER = ["task", "task+heuristic", "heuristic", "exhaustive"]
FOREVER = 2**64 - 1 # the end of a range without one
ACCEPTED = ("accepted are tune.json of hanpmpi_tune (\"program\": \"hanpmpi_tune\"), the output of hanpmpi_bench --json "
            "(\"program\": \"hanpmpi_bench\"), and a file of rules (an object with a list \"rules\")")


class BadInput(Exception):
    """A file cannot be used; the text says which, where, and what is wanted."""


def is_text(value):
    return isinstance(value, str) and value != ""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_time(value):
    return is_number(value) and value > 0


def is_not_negative(value):
    return is_number(value) and value >= 0


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_positive(value):
    return is_count(value) and value > 0


def one_of(names):
    return (lambda value: isinstance(value, str) and value in names), "one of " + ", ".join(names)


TEXT = is_text, "a text"
TIME = is_time, "a number above 0"
NOT_NEGATIVE = is_not_negative, "a number, 0 or more"
COUNT = is_count, "a whole number, 0 or more"
POSITIVE = is_positive, "a whole number, 1 or more"
PLAIN_TEXT = (lambda value: isinstance(value, str)), "a text"
YES_NO = (lambda value: isinstance(value, bool)), "true or false"
MODEL, SEARCH = one_of(MODELS), one_of(SEARCHES)
SETTINGS = {"segment_bytes": POSITIVE, "shapes": PLAIN_TEXT, "modules": PLAIN_TEXT, "between_nodes": TEXT, "trees": POSITIVE,
            "leaders": POSITIVE}
# The lists of tune.json: what a row must have, and what it may have. Lists that no picture shows are not
# looked at.
LISTS = {
    "configurations": ({"id": TEXT, "collective": TEXT, "algorithm": TEXT}, {**SETTINGS, "heuristic": YES_NO}),
    "measured": ({"collective": TEXT, "bytes": COUNT, "configuration": TEXT, "us": TIME}, {}),
    "predicted": ({"collective": TEXT, "bytes": COUNT, "configuration": TEXT, "model": MODEL, "us": TIME}, {}),
    "searches": ({"name": SEARCH, "seconds": NOT_NEGATIVE}, {"measurements": COUNT}),
    "choices": ({"search": SEARCH, "collective": TEXT, "bytes": COUNT, "configuration": TEXT, "us": TIME}, {"best_us": TIME}),
    "host": ({"collective": TEXT, "bytes": COUNT, "us": TIME}, {}),
}
LIMITS = {name: TIME for name in ("link_bytes_per_us", "copy_bytes_per_us", "between_us", "inside_us")}
# What a row of hanpmpi_bench must have, and its variants: rows that differ in these are different curves.
BENCH_ROW = {"collective": TEXT, "bytes": COUNT}
BENCH_VARIANT = ["datatype", "op", "root", "buffers", "arrival", "skew"]


def check_members(where, thing, needed, allowed):
    if not isinstance(thing, dict):
        raise BadInput(f"{where}: must be an object with {', '.join(needed) or ', '.join(allowed)}")
    for name in needed:
        if name not in thing:
            raise BadInput(f"{where}: {name} is missing")
    for name, (holds, wanted) in {**needed, **allowed}.items():
        if name in thing and not holds(thing[name]):
            raise BadInput(f"{where}: {name} must be {wanted}, not {json.dumps(thing[name])}")


def checked_list(path, document, name, needed, allowed):
    rows = document.get(name, [])
    if not isinstance(rows, list):
        raise BadInput(f"{path}: {name} must be a list")
    for i, row in enumerate(rows):
        check_members(f"{path}: {name}[{i}]", row, needed, allowed)
    return rows


def by_key(path, name, rows, members):
    """{values of the members: row}. Two rows for one key: nobody could tell which is meant."""
    result = {}
    for i, row in enumerate(rows):
        key = tuple(row[member] for member in members)
        if key in result:
            raise BadInput(f"{path}: {name}[{i}]: a second row for {', '.join(map(str, key))}")
        result[key] = row
    return result


class TuneRun:
    """One tune.json."""
    kind = "hanpmpi_tune"

    def __init__(self, path, document):
        self.path, self.document, self.name = path, document, None
        self.layout = document.get("layout")
        check_members(f"{path}: layout", self.layout, {"nodes": POSITIVE, "ranks": POSITIVE}, {})
        least_most = self.layout.get("ranks_per_node")
        if not (isinstance(least_most, list) and len(least_most) == 2 and all(map(is_positive, least_most)) and
                least_most[0] <= least_most[1]):
            raise BadInput(f"{path}: layout: ranks_per_node must be [least, most], not {json.dumps(least_most)}")
        self.limits = document.get("limits", {})
        check_members(f"{path}: limits", self.limits, {}, LIMITS)
        rows = {name: checked_list(path, document, name, *members) for name, members in LISTS.items()}
        self.searches = by_key(path, "searches", rows["searches"], ["name"])
        self.searches = {name: row for (name,), row in self.searches.items()}
        self.configurations = {
            key: Configuration.of(row, self.layout["nodes"] == 1)
            for key, row in by_key(path, "configurations", rows["configurations"], ["collective", "id"]).items()}
        for name in ("measured", "predicted", "choices"):
            self.check_configurations(name, rows[name])
        case = ["collective", "bytes"]
        self.measured = by_key(path, "measured", rows["measured"], [*case, "configuration"])
        self.predicted = by_key(path, "predicted", rows["predicted"], [*case, "configuration", "model"])
        self.choices = by_key(path, "choices", rows["choices"], ["search", *case])
        self.host = by_key(path, "host", rows["host"], case)

    def check_configurations(self, name, rows):
        for i, row in enumerate(rows):
            if row["configuration"] != NATIVE and (row["collective"], row["configuration"]) not in self.configurations:
                raise BadInput(f"{self.path}: {name}[{i}]: no configuration {row['configuration']} of {row['collective']} in "
                               "\"configurations\"")

    def configuration(self, collective, identity):
        return Configuration(NATIVE) if identity == NATIVE else self.configurations[collective, identity]

    @property
    def mpi(self):
        return mpi_text(self.document)

    def collectives(self):
        """In the order of the file."""
        rows = [*self.measured, *self.host, *(key[1:] for key in self.choices)]
        return list(dict.fromkeys(key[0] for key in rows))

    def times(self, collective, size):
        """{configuration id: us}, of the exhaustive search."""
        return {key[2]: row["us"] for key, row in self.measured.items() if key[:2] == (collective, size)}

    def ours(self, wanted):
        """The search whose choices are the library's here, or None."""
        there = {key[0] for key in self.choices}
        return next((search for search in ([wanted] if wanted else OURS_ORDER) if search in there), None)

    @property
    def layout_text(self):
        least, most = self.layout["ranks_per_node"]
        return layout_text(self.layout["nodes"], least, most)


class BenchRun:
    """One JSON of hanpmpi_bench."""
    kind = "hanpmpi_bench"

    def __init__(self, path, document):
        self.path, self.document, self.name = path, document, None
        self.rows = checked_list(path, document, "rows", BENCH_ROW, {})
        if not self.rows:
            raise BadInput(f"{path}: has no rows: measure at least one size")
        for i, row in enumerate(self.rows):
            where = f"{path}: rows[{i}]"
            check_members(f"{where}: bound", row.get("bound"), {"us": NOT_NEGATIVE}, {})
            for side in ("host", *(["library"] if "library" in row else [])):
                times = row[side].get("t_max_us") if isinstance(row.get(side), dict) else None
                check_members(f"{where}: {side}: t_max_us", times, {"q1": NOT_NEGATIVE, "median": NOT_NEGATIVE, "q3": NOT_NEGATIVE}, {})
        nodes = checked_list(path, document, "nodes", {"ranks": POSITIVE}, {})
        self.ranks = [node["ranks"] for node in nodes]

    @property
    def forced(self):
        """Did somebody say what to run, rather than the rules?"""
        knobs = self.document.get("knobs") or {}
        return bool(self.document.get("hints") or "--force" in self.document.get("command", []) or
                    any(f"HANPMPI_{row['collective'].upper()}" in knobs for row in self.rows))

    @property
    def mpi(self):
        return mpi_text(self.document)

    @property
    def conditions(self):
        """Runs with the same can be compared."""
        return self.document.get("mpi"), tuple(self.ranks)

    @property
    def layout_text(self):
        return layout_text(len(self.ranks), min(self.ranks), max(self.ranks)) if self.ranks else "unknown layout"


def count_of(value):
    """4, "64K" or "64 KiB" as a number; None: it is none."""
    if is_count(value):
        return value
    match = re.fullmatch(r"(\d+) ?(?:B|([KMG])(?:iB)?)?", value, re.IGNORECASE) if isinstance(value, str) else None
    return match and int(match[1]) * 1024 ** (1 + "KMG".index(match[2].upper()) if match[2] else 0)


class Rules:
    """Rules in JSON; the first that holds is followed."""
    kind = "rules"
    CONDITIONS = ["ranks_per_node", "ranks", "machine"] # beside nodes and bytes

    def __init__(self, path, document):
        self.path, self.document, self.name = path, document, None
        self.rows = checked_list(path, document, "rules", {"collective": TEXT, "algorithm": TEXT}, SETTINGS)
        if not self.rows:
            raise BadInput(f"{path}: has no rules")
        self.ranges = [{name: self.range_of(i, row, name) for name in ("nodes", "bytes")} for i, row in enumerate(self.rows)]
        self.layout_text, self.mpi = "", ""

    def range_of(self, i, row, name):
        """One number, or [from, to], both included; null: without end; no range: everything. hanpmpi-rules(5)."""
        value = row.get(name)
        ends = value if isinstance(value, list) and len(value) == 2 else [value, value]
        low = 0 if ends[0] is None else count_of(ends[0])
        high = FOREVER if ends[1] is None else count_of(ends[1])
        if low is None or high is None or low > high:
            raise BadInput(f"{self.path}: rules[{i}]: {name} must be a number or [from, to], null for no end, not {json.dumps(value)}")
        return low, min(FOREVER, high)

    def collectives(self):
        return list(dict.fromkeys(row["collective"] for row in self.rows))

    def holding(self, collective, nodes, size):
        """(configuration, does it hold under further conditions only?) of the first rule for such a call."""
        for row, ranges in zip(self.rows, self.ranges):
            if row["collective"] == collective and all(
                    low <= value <= high for value, (low, high) in ((nodes, ranges["nodes"]), (size, ranges["bytes"]))):
                return Configuration.of(row, nodes == 1), any(row.get(name) is not None for name in self.CONDITIONS)
        return Configuration(BUILT_IN), False


def mpi_text(document):
    """Open MPI's text goes on with how it was packaged."""
    return str(document.get("mpi", "MPI unknown")).split(", package")[0].split("\n")[0]


def layout_text(nodes, least, most):
    ranks = str(least) if least == most else f"{least} to {most}"
    return f"{nodes} node{'s' if nodes > 1 else ''} x {ranks} rank{'s' if most > 1 else ''}"


def read(path):
    """The TuneRun, BenchRun or Rules that a file holds."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"{path}: is no JSON ({problem}); {ACCEPTED}") from problem
    program = document.get("program") if isinstance(document, dict) else None
    for kind in (TuneRun, BenchRun):
        if program == kind.kind:
            return kind(path, document)
    if isinstance(document, dict) and isinstance(document.get("rules"), list):
        return Rules(path, document)
    found = f"\"program\": {json.dumps(program)}" if program is not None else "something else"
    raise BadInput(f"{path}: holds {found}; {ACCEPTED}")


def read_all(paths):
    """All files, each with a name of its own, which its pictures' names begin with."""
    inputs, taken = [], set()
    for path in paths:
        its = read(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        stem = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in stem)
        its.name = next(name for name in (stem, *(f"{stem}-{i}" for i in range(2, len(paths) + 2))) if name not in taken)
        taken.add(its.name)
        inputs.append(its)
    return inputs
