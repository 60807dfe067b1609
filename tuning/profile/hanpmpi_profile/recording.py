"""Reads a recording (hanpmpi-profile(5)) and checks it: what comes out of here has the members that the views use, of
the right kind. What a recording may lack is empty here, and whoever shows it says so."""
import glob
import json
import os
import re

from hanpmpi_report.inputs import (COUNT, NOT_NEGATIVE, PLAIN_TEXT, POSITIVE, TEXT, BadInput, check_members, checked_list, is_count,
                                   is_number)

from .places import Places
from .words import NO_BYTES, ratio

FORMAT, VERSION = "hanpmpi-profile", 1
ACCEPTED = "accepted is a recording, which a program writes at its end when HANPMPI_PROFILE=FILE is set"
INDEX = COUNT
BIN = (lambda value: value == NO_BYTES or is_count(value) and value < 64), "a bin of sizes, -1 to 63"
PAIRS = ((lambda value: isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)) for pair in value)),
         "a list of [k, count]")
LATE = ((lambda value: isinstance(value, list) and all(isinstance(row, list) and len(row) == 3 and all(map(is_number, row)) for row in value)),
        "a list of [rank, times, seconds]")
TOUCH, UNTOUCHED, NEXT_CALL = "touch", "untouched", "next call" # how a slack is known
HOWS = TOUCH, UNTOUCHED, NEXT_CALL
HOW = (lambda value: value in HOWS), f"one of {', '.join(HOWS)}"
WHOLE = (lambda value: isinstance(value, int) and not isinstance(value, bool)), "a whole number"
# What a row of a list must have, and what it may have; what is not looked at here is not checked.
LISTS = {
    "per_rank": ({"rank": COUNT, "run_s": NOT_NEGATIVE, "mpi_s": NOT_NEGATIVE},
                 {"calls": COUNT, "watch_s": NOT_NEGATIVE, "watches_left_out": COUNT}),
    "calls": ({"name": TEXT, "kind": TEXT}, {}),
    "modules": ({"path": PLAIN_TEXT}, {"build_id": PLAIN_TEXT}),
    "communicators": ({"name": PLAIN_TEXT, "size": COUNT}, {"made": COUNT}),
    "records": ({"call": INDEX, "site": INDEX, "count": COUNT, "bytes": NOT_NEGATIVE, "time_s": NOT_NEGATIVE},
                {"comm": WHOLE, "type": PLAIN_TEXT, "op": PLAIN_TEXT, "memory": PLAIN_TEXT, "bin": BIN, "ranks": POSITIVE,
                 "min_s": NOT_NEGATIVE, "max_s": NOT_NEGATIVE, "rank_min_s": NOT_NEGATIVE, "rank_max_s": NOT_NEGATIVE, "histogram": PAIRS,
                 "accelerated": COUNT, "before_s": NOT_NEGATIVE, "after_s": NOT_NEGATIVE}),
    "waits": ({"post_call": INDEX, "post_site": INDEX, "wait_call": INDEX, "wait_site": INDEX, "count": COUNT, "between_s": NOT_NEGATIVE,
               "wait_s": NOT_NEGATIVE}, {"bytes": NOT_NEGATIVE}),
    "arrival": ({"call": INDEX, "site": INDEX, "samples": COUNT, "waited_s": NOT_NEGATIVE, "transfer_s": NOT_NEGATIVE},
                {"comm": WHOLE, "bin": BIN, "skew_s": NOT_NEGATIVE, "late": LATE}),
    "slack": ({"call": INDEX, "site": INDEX, "samples": COUNT, "after_s": NOT_NEGATIVE, "before_samples": COUNT, "before_s": NOT_NEGATIVE,
               "how": HOW}, {"bin": BIN}),
}
# Members of rows that are indices, and of which list.
INDICES = {"call": "calls", "post_call": "calls", "wait_call": "calls", "site": "sites", "post_site": "sites", "wait_site": "sites"}


def outside_s(row):
    """Of a rank, outside MPI. Threads that are in MPI at a time may be there for longer than the run takes."""
    return max(0.0, row["run_s"] - row["mpi_s"])


class Recording:
    """One file, or what is made of several (parts.py). Times are seconds; without another word they are summed over all
    ranks. missing: what a reader has to know of what is not there."""

    def __init__(self, path, document, missing=()):
        self.path, self.document, self.missing = path, document, list(missing)
        self.notes = [] # of what lies beside it
        self.name = os.path.splitext(os.path.basename(path))[0]
        check_members(path, document, {"ranks": POSITIVE}, {"mpi": PLAIN_TEXT, "library": PLAIN_TEXT, "started": PLAIN_TEXT})
        self.ranks = document["ranks"]
        rows = {name: checked_list(path, document, name, *members) for name, members in LISTS.items() if document.get(name) is not None}
        self.per_rank, self.calls, self.modules, self.communicators, self.records, self.waits, self.arrival, self.slack = (
            rows.get(name, []) for name in LISTS)
        self.sites = self.checked_sites()
        self.check_indices()
        self.peers = self.checked_numbers("peers", 4)
        self.simultaneous = self.checked_numbers("simultaneous", 2)
        if document.get("unexpected") is not None:
            check_members(f"{path}: unexpected", document["unexpected"], {"samples": POSITIVE, "with_any": COUNT, "messages": COUNT, "most": COUNT}, {})
        self.incomplete = document.get("incomplete")
        self.places = Places(self.modules, self.sites)
        self.kept = {} # sums that several views ask for (totals.once)
        self.run_s = sum(row["run_s"] for row in self.per_rank)
        self.mpi_s = sum(row["mpi_s"] for row in self.per_rank)
        self.longest_s = max((row["run_s"] for row in self.per_rank), default=0.0)
        self.outside_s = sum(map(outside_s, self.per_rank))

    def checked_sites(self):
        sites = checked_list(self.path, self.document, "sites", {}, {}) if self.document.get("sites") is not None else []
        for i, site in enumerate(sites):
            frames = site.get("frames", [])
            if not isinstance(frames, list) or not all(
                    isinstance(frame, list) and len(frame) == 2 and all(map(is_count, frame)) and frame[0] < len(self.modules) for frame in frames):
                raise BadInput(f"{self.path}: sites[{i}]: frames must be a list of [module, offset], module below {len(self.modules)}, not "
                               f"{json.dumps(frames)}")
            python = site.get("python", [])
            if not isinstance(python, list) or not all(isinstance(line, str) for line in python):
                raise BadInput(f"{self.path}: sites[{i}]: python must be a list of texts \"file:line function\", not {json.dumps(python)}")
        return sites

    def check_indices(self):
        for name in ("records", "waits", "arrival", "slack"):
            for i, row in enumerate(getattr(self, name)):
                for member, of in INDICES.items():
                    if row.get(member, 0) >= max(len(getattr(self, of)), 1):
                        raise BadInput(f"{self.path}: {name}[{i}]: {member} must be below {len(getattr(self, of))}, the length of {of}, not "
                                       f"{row[member]}")
                comm = row.get("comm", 0)
                if comm < -1 or comm >= max(len(self.communicators), 1):
                    raise BadInput(f"{self.path}: {name}[{i}]: comm must be below {len(self.communicators)}, the length of communicators, or "
                                   f"-1 for none, not {comm}")
        if self.records and not (self.calls and self.sites):
            raise BadInput(f"{self.path}: has records, but no {'sites' if self.calls else 'calls'}")

    def checked_numbers(self, name, width):
        rows = self.document.get(name) or []
        if not isinstance(rows, list):
            raise BadInput(f"{self.path}: {name} must be a list")
        for i, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != width or not all(is_number(value) and value >= 0 for value in row):
                raise BadInput(f"{self.path}: {name}[{i}]: must be {width} numbers, 0 or more, not {json.dumps(row)}")
        return rows

    # ---- what is said of it ----

    @property
    def command(self):
        words = self.document.get("command") or []
        return " ".join(map(str, words)) if isinstance(words, list) else str(words)

    @property
    def mpi(self):
        return self.document.get("mpi", "MPI unknown").split(", package")[0].split("\n")[0]

    @property
    def nodes(self):
        """How many there are, or None."""
        return len(self.document.get("nodes") or []) or None

    @property
    def node_of_rank(self):
        """The node of each rank, or empty."""
        nodes = self.document.get("node_of_rank") or []
        return nodes if len(nodes) == self.ranks and all(map(is_count, nodes)) else []

    @property
    def layout_text(self):
        nodes = f" on {self.nodes} node{'s' if self.nodes > 1 else ''}" if self.nodes else ""
        return f"{self.ranks} rank{'s' if self.ranks > 1 else ''}{nodes}"

    @property
    def subtitle(self):
        return ", ".join(filter(None, [os.path.basename(self.command.split(" ")[0]), self.layout_text, self.mpi]))

    def call_name(self, call):
        return self.calls[call]["name"]

    def call_kind(self, call):
        return self.calls[call]["kind"]

    def is_comm(self, comm):
        """One without ranks stands for calls that have none, or whose was lost."""
        return comm is not None and 0 <= comm < len(self.communicators) and self.communicators[comm]["size"] > 0

    def comm_text(self, comm):
        if not self.is_comm(comm):
            return "none"
        row = self.communicators[comm]
        return f"{row['name'] or 'unnamed'} ({row['size']})"

    @property
    def present(self):
        """How many ranks are in it."""
        return len(self.per_rank) or self.ranks

    def share(self, seconds):
        """Of the run time of all ranks that are in it."""
        return ratio(seconds, self.run_s)

    def cautions(self):
        """What a reader has to know before believing the rest."""
        yield from self.notes
        yield from (f"incomplete: {text}" for text in [*self.missing, *([self.incomplete] if self.incomplete else [])])
        threads = self.document.get("threads_seen")
        if is_count(threads) and threads > 1 and self.document.get("thread_level") == "MPI_THREAD_MULTIPLE":
            yield (f"{threads} threads of a process call MPI: their times in MPI are summed, so that shares may exceed 100%, and less is left of the time "
                   "outside MPI than there was")
        lost = self.document.get("lost")
        if isinstance(lost, dict):
            for name, count in lost.items():
                if count:
                    yield f"lost: {count:,} {name} did not fit into the recorder's memory and are missing here"
        if len(self.per_rank) < self.ranks and not self.missing:
            yield f"incomplete: {len(self.per_rank)} of {self.ranks} ranks are in the recording"


# A line each, in this order; "slack" only where the run was watched.
WRITTEN = "calls", "modules", "sites", "communicators", "records", "peers", "waits", "arrival", "slack", "sequence"
NEEDED = WRITTEN[:5] # without the first four of them, and a part of the fifth, there is nothing to show
LINE = re.compile(r'^"(\w+)":', re.MULTILINE)
BETWEEN_ROWS = re.compile(r"[\s,[]?[\s,]*")


class Cut(BadInput):
    """A file ends before there is anything to show."""


def lines_of(text):
    """Where the keys of WRITTEN begin. Out of order is what a sequence has of the same name, its communicators."""
    lines = []
    for line in LINE.finditer(text):
        if line[1] in WRITTEN and (not lines or WRITTEN.index(line[1]) > WRITTEN.index(lines[-1][1])):
            lines.append(line)
    return lines


def what_is_cut(text, here=""):
    """Of a file that ends too early: which keys that costs. Empty: it is not as the library writes it. here: what of the last one is there."""
    found = [line[1] for line in lines_of(text)]
    if not found:
        return ""
    missing = [key for key in WRITTEN[WRITTEN.index(found[-1]) + 1:] if key != "slack" or "\"watch_s\":" in text]
    return f"; \"{found[-1]}\" is not complete{here}" + (f", and missing is all of {', '.join(missing)}" if missing else "")


def whole_rows(text, at):
    """Of a list that begins there and ends too early."""
    rows, decoder = [], json.JSONDecoder()
    at = BETWEEN_ROWS.match(text, at).end()
    while at < len(text):
        try:
            row, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        rows.append(row)
        at = BETWEEN_ROWS.match(text, at).end()
    return rows


def mended(text):
    """What can be had of a file that ends too early, where that is enough to show something; else None."""
    lines = lines_of(text)
    if [line[1] for line in lines][:len(NEEDED)] != list(NEEDED):
        return None
    last, rows = lines[-1][1], []
    try:
        document = json.loads(text[:lines[-1].start()].rstrip().rstrip(",") + "}")
    except (ValueError, RecursionError):
        return None
    document.update({key: [] for key in WRITTEN[WRITTEN.index(last):]}, sequence=None)
    if last != "sequence": # that is no list
        document[last] = rows = whole_rows(text, lines[-1].end())
    cut = f"the file ends in the middle{what_is_cut(text, f' ({len(rows):,} rows of it are here)' if rows else '')}"
    document["incomplete"] = f"{document['incomplete']}; {cut}" if document.get("incomplete") else cut
    return document


def what_is_left(path):
    """Beside a recording that is not there: what a job leaves that has not come to MPI_Finalize."""
    parts = glob.glob(f"{glob.escape(path)}.rank-*")
    if parts:
        return (f": the job has not come to MPI_Finalize; {len(parts)} of its ranks left what they recorded, each in a file of its own, which show, html, "
                "overlap and advice put together")
    if os.path.exists(f"{path}.part"):
        return (f", but {path}.part: the job has not come to MPI_Finalize: it still runs, or its ranks were killed before they could write "
                "what they recorded")
    return ""


def read(path):
    """The recording in one file; BadInput where there is none, Cut where too little of it is left."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError as problem:
        raise BadInput(f"{path}: {problem.strerror}{what_is_left(os.fspath(path))}") from problem
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise BadInput(f"{path}: is no JSON ({problem}); {ACCEPTED}") from problem
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        if not text:
            raise Cut(f"{path}: is empty: the job has not come to MPI_Finalize; {ACCEPTED}") from problem
        cut = text.lstrip().startswith("{") and (not text.rstrip().endswith("}") or getattr(problem, "pos", 0) >= len(text.rstrip()))
        document = mended(text) if cut else None
        if document is None:
            kind = Cut if cut else BadInput
            raise kind(f"{path}: {'ends in the middle: it was cut, or is still being written' if cut else 'is no JSON'} ({problem})"
                       f"{what_is_cut(text) if cut else ''}; {ACCEPTED}") from problem
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise BadInput(f"{path}: holds {'something else' if found is None else json.dumps(found)} and no \"format\": \"{FORMAT}\"; {ACCEPTED}")
    if document.get("version") != VERSION:
        raise BadInput(f"{path}: is version {json.dumps(document.get('version'))} of the format, and this program reads version {VERSION}: use the "
                       "hanpmpi_profile that came with the library that recorded it")
    return Recording(path, document)
