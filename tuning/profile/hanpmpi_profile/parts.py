"""Parts: what the ranks of a job leave that does not come to MPI_Finalize, a file each (hanpmpi-profile(5)). One recording is
made of them in the way of the recorder's tree of ranks (hp_book_merge): numbers of modules, call sites and communicators are
those of a part, so rows are found by what they say, and rows that say the same are added up. A part has neither arrivals nor a
sequence, which take all ranks."""
import glob
import math
import os
import re

from hanpmpi_report.inputs import BadInput

from .recording import ACCEPTED, Cut, Recording, read

NAME = re.compile(r"(.+)\.(rank|part)-(\d+)") # part: it was not written to its end
WHY = re.compile(r"rank \d+ (.*): this is its part alone(?:; (.*))?", re.DOTALL) # incomplete: why the rank has ended; what was cut
SEVERAL = {"was": "were", "has": "have"}
LISTED = 16 # ranks
# Of rows that say the same: what tells rows apart; what is added up, the least of, the most of.
RECORD = ("call", "site", "comm", "type", "op", "memory", "bin"), ("ranks", "count", "bytes", "time_s", "accelerated", "before_s", "after_s"), \
    ("min_s", "rank_min_s"), ("max_s", "rank_max_s")
WAIT = ("post_call", "post_site", "wait_call", "wait_site"), ("count", "bytes", "between_s", "wait_s"), (), ()
SLACK = ("call", "site", "bin", "how"), ("samples", "after_s", "before_samples", "before_s"), (), ()


# ---- which files ----


def beside(path):
    """{rank: file} of what lies beside the name of a recording."""
    found = {}
    for kind in ("part", "rank"):
        for file in glob.glob(f"{glob.escape(path)}.{kind}-*"):
            name = NAME.fullmatch(file)
            if name:
                found[int(name[3])] = file
    return found


def inside(folder):
    """The name of the recording whose parts lie in a folder."""
    names = sorted({name[1] for name in map(NAME.fullmatch, glob.glob(os.path.join(glob.escape(folder), "*"))) if name})
    if not names:
        raise BadInput(f"{folder}: no parts of a recording (NAME.rank-N) are in this folder; accepted are a recording, its parts, and a folder with "
                       "parts of one job")
    if len(names) > 1:
        raise BadInput(f"{folder}: parts of {len(names)} recordings are in this folder: name one of {', '.join(names)}")
    return names[0]


def open_all(paths):
    """The recording that some arguments mean: one file; the name of a recording that was never written, or a folder, whose parts
    are put together; several parts."""
    if len(paths) > 1:
        return merged(paths, common_name(paths))
    path = os.fspath(paths[0])
    if os.path.isdir(path):
        path = inside(path)
    files = beside(path)
    if not files or os.path.exists(path):
        its = read(path)
        its.notes += later(path, files)
        return its
    return merged([files[rank] for rank in sorted(files)], path)


def later(path, files):
    """Of a whole recording: whether a job after it, of the same name, has not come to MPI_Finalize. It begins with an empty file."""
    begun, when = f"{path}.part", os.path.getmtime(path)
    found = [file for _, file in sorted(files.items()) if os.path.getmtime(file) > when]
    if found:
        text = f"name its parts to see it, {found[0]}{' and others' if found[1:] else ''}"
    elif os.path.exists(begun) and os.path.getmtime(begun) > when:
        text = f"it still runs, or was killed, and has left {begun} alone"
    else:
        return []
    return [f"a later job of this name has not come to MPI_Finalize: {text}"]


def common_name(paths):
    names = {name and name[1] for name in map(NAME.fullmatch, map(os.fspath, paths))}
    return names.pop() if len(names) == 1 and None not in names else f"{paths[0]} and others"


# ---- are they parts of one job ----


def is_part(its):
    return bool(its.incomplete) and len(its.per_rank) == 1 and its.ranks > 1


def job_of(its):
    """What all parts of a job share. job: a number that rank 0 has made up."""
    return its.document.get("job"), its.ranks, its.mpi, its.document.get("library")


def check_one_job(parts):
    for its in parts:
        if not is_part(its):
            raise BadInput(f"{its.path}: a recording of {its.layout_text}, not the part of one rank: only parts of one job are put together")
    jobs, ranks = {}, {}
    for its in parts:
        jobs.setdefault(job_of(its), []).append(its)
    if len(jobs) > 1:
        raise BadInput(f"parts of {len(jobs)} jobs: " + "; ".join(
            f"{', '.join(str(its.path) for its in of[:3])}{' and others' if len(of) > 3 else ''} of {of[0].ranks} ranks, "
            f"{of[0].document.get('started', 'date unknown')}" for of in jobs.values()) + ": name those of one")
    for its in parts:
        other = ranks.setdefault(its.per_rank[0]["rank"], its)
        if other is not its:
            raise BadInput(f"{its.path}: a second part of rank {its.per_rank[0]['rank']}, which {other.path} has, too")


# ---- one recording of many ----


def merged(paths, name):
    parts, useless = [], {}
    for path in paths:
        try:
            parts.append(read(path))
        except Cut as problem: # nothing of the rank can be shown
            useless[path] = problem
    if not parts:
        raise next(iter(useless.values()))
    check_one_job(parts)
    parts.sort(key=lambda its: its.per_rank[0]["rank"])
    return Recording(name, Merge(parts).document(), what_is_missing(parts, useless))


def ranks_text(ranks):
    """rank 3; ranks 0, 2, 5; ..."""
    shown = ", ".join(map(str, ranks[:LISTED]))
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}" + (f" and {len(ranks) - LISTED} more" if len(ranks) > LISTED else "")


def what_is_missing(parts, useless):
    ranks = parts[0].ranks
    yield f"the job has not come to MPI_Finalize: these are the parts of {len(parts)} of its {ranks} ranks, without arrivals and sequence"
    left = {its.per_rank[0]["rank"] for its in parts}
    for path, problem in useless.items():
        name = NAME.fullmatch(os.fspath(path))
        left |= {int(name[3])} if name else set()
        yield f"nothing can be read of {str(problem).replace(f'; {ACCEPTED}', '')}"
    nothing = [rank for rank in range(ranks) if rank not in left]
    if nothing:
        yield f"{ranks_text(nothing)} left no part: killed, or still running"
    ends = {}
    for its in parts:
        found = WHY.fullmatch(str(its.incomplete))
        ends.setdefault(found[1] if found else str(its.incomplete), []).append(its.per_rank[0]["rank"])
        if found and found[2]:
            yield f"rank {its.per_rank[0]['rank']}: {found[2]}"
    yield from (f"{ranks_text(of)} {why if len(of) == 1 else several(why)}" for why, of in ends.items())


def several(why):
    """Of one rank, as the recorder has it; of more than one."""
    verb, _, rest = why.partition(" ")
    return f"{SEVERAL.get(verb, verb)} {rest}"


class Table:
    """Rows by what they say."""

    def __init__(self):
        self.rows, self.numbers = [], {}

    def number(self, key, row):
        """The place of the row that says this; row: what becomes one, if there is none."""
        if key not in self.numbers:
            self.numbers[key] = len(self.rows)
            self.rows.append(row)
        return self.numbers[key]

    def add(self, row, how):
        """how: as RECORD, WAIT, SLACK. A row is changed once it is here."""
        names, sums, least, most = how
        known = len(self.rows)
        number = self.number(tuple(row.get(name) for name in names), dict(row))
        into = self.rows[number]
        if number == known:
            return into
        for members, add in ((sums, lambda a, b: a + b), (least, min), (most, max)):
            for name in members:
                if name in row:
                    into[name] = add(into[name], row[name]) if name in into else row[name]
        return into


def add_pairs(into, rows):
    """into: {key: number}; rows: lists of a key's parts and, at the end, how many."""
    for *key, count in rows:
        into[tuple(key)] = into.get(tuple(key), 0) + count


class Merge:
    """What all parts say together."""

    def __init__(self, parts):
        self.parts = parts
        self.calls, self.modules, self.sites, self.comms, self.nodes = (Table() for _ in range(5))
        self.records, self.waits, self.slack = (Table() for _ in range(3))
        self.histograms, self.messages, self.bytes, self.simultaneous, self.lost, self.unexpected = [], {}, {}, {}, {}, {}
        for its in parts:
            self.add(its)

    def add(self, its):
        calls = [self.calls.number(row["name"], row) for row in its.calls]
        modules = [self.modules.number((row["path"], row.get("build_id", "")), row) for row in its.modules]
        sites = [self.add_site(site, modules) for site in its.sites]
        comms = [self.add_comm(row) for row in its.communicators]

        def here(row):
            """With the numbers of the whole."""
            of = {"call": calls, "post_call": calls, "wait_call": calls, "site": sites, "post_site": sites, "wait_site": sites}
            changes = {name: of[name][number] for name, number in row.items() if name in of}
            if row.get("comm", -1) >= 0:
                changes["comm"] = comms[row["comm"]]
            return {**row, **changes}
        for row in its.records:
            self.add_record(here(row))
        for row in its.waits:
            self.waits.add(here(row), WAIT)
        for row in its.slack:
            self.slack.add(here(row), SLACK)
        add_pairs(self.messages, ((source, destination, messages) for source, destination, messages, _ in its.peers))
        add_pairs(self.bytes, ((source, destination, size) for source, destination, _, size in its.peers))
        add_pairs(self.simultaneous, its.simultaneous)
        add_pairs(self.lost, (its.document.get("lost") or {}).items())
        self.add_unexpected(its.document.get("unexpected"))

    def add_site(self, site, modules):
        if site.get("python"):
            return self.sites.number(tuple(site["python"]), site)
        frames = [[modules[module], offset] for module, offset in site.get("frames", [])]
        return self.sites.number(tuple(map(tuple, frames)), {"frames": frames})

    def add_comm(self, row):
        """made: in a part, those that its rank was in."""
        number = self.comms.number((row["name"], row["size"]), {**row, "made": 0, "most": 0})
        into = self.comms.rows[number]
        into["made"] += row.get("made", 0)
        into["most"] = max(into["most"], row.get("made", 0))
        return number

    def add_record(self, row):
        into = self.records.add(row, RECORD)
        number = self.records.numbers[tuple(row.get(name) for name in RECORD[0])]
        if number == len(self.histograms):
            self.histograms.append({})
        add_pairs(self.histograms[number], row.get("histogram", []))
        into["histogram"] = self.histograms[number]

    def add_unexpected(self, found):
        for name, value in (found or {}).items():
            before = self.unexpected.get(name, 0)
            self.unexpected[name] = max(before, value) if name == "most" else before + value

    def document(self):
        first = self.parts[0].document
        node_of_rank = [self.nodes.number(node, node) for its in self.parts for node in (its.document.get("nodes") or [])[:1]]
        return {**{name: first.get(name) for name in ("format", "version", "library", "mpi", "command", "started", "job", "ranks", "thread_level")
                   if name in first},
                "nodes": self.nodes.rows, "node_of_rank": node_of_rank,
                "threads_seen": max(its.document.get("threads_seen", 0) for its in self.parts),
                "per_rank": [row for its in self.parts for row in its.per_rank],
                "lost": {key[0]: count for key, count in self.lost.items()}, "unexpected": self.unexpected or None,
                "simultaneous": [[*key, count] for key, count in sorted(self.simultaneous.items())],
                "calls": self.calls.rows, "modules": self.modules.rows, "sites": self.sites.rows,
                "communicators": [comm_row(row) for row in self.comms.rows],
                "records": [{**row, "histogram": [[*key, count] for key, count in sorted(row["histogram"].items())]} for row in self.records.rows],
                "peers": [[*key, count, self.bytes[key]] for key, count in self.messages.items()],
                "waits": self.waits.rows, "slack": self.slack.rows}


def comm_row(row):
    """Each rank of a communicator has counted it; where not all of them are here, some that were made may be unknown."""
    made = max(row["most"], math.ceil(row["made"] / row["size"])) if row["size"] else 0
    return {"name": row["name"], "size": row["size"], "made": made}
