#!/usr/bin/env python3
"""instructions.py: counts with callgrind what the library executes for a collective, and compares with the golden file.

    instructions.py --program BIN --golden FILE                  fails where a figure has grown by more than 5%, or another run in other
                                                                 surroundings counts otherwise
    instructions.py --program BIN --golden FILE --update         writes the golden file and the tables in --doc anew
    instructions.py --program BIN --functions CASE               what the instructions of one case are spent on

Only the library's own code counts: libc and the reduction kernels use the instructions that the processor has. The compiler
decides the rest, so the golden figures hold for the one that they name; with another one the comparison is skipped (exit 77), but not
that of the two runs.
"""
import argparse
import collections
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
LEADERS = "1x64"  # the layout whose long allreduces have 16 leaders: a repeated call must cost a tenth of laying one out
LEADERS_BYTES = 196607
TOLERANCE = 0.05
FIGURES = ["start", "run", "libc", "first"]  # per call and rank; libc: calls of its functions
PHASES = {"start": ["counted_find", "counted_start"], "run": ["counted_progress"]}
COUNTED = sum(PHASES.values(), [])
NOT_COUNTED = ["sim_isend", "sim_irecv", "sim_poll", "sim_reduce", "sim_copy"]
OF_A_VECTOR = ["bcast", "reduce", "allreduce", "barrier"]  # in the first table; the others move blocks, or parts of sums
BEGIN, END = "<!-- counts: written by instructions_update -->", "<!-- end of counts -->"

HEADER = """\
# Instructions that the library executes for a collective, per call and rank, in the simulated world. Compared by
# `ctest -L instructions`; to write this file anew:  cmake --build build --target instructions_update
#
# case   collective / nodes x ranks on each / bytes, of a collective of blocks those of one block
# runs   what the built-in rules choose; with a *: what is asked for where they leave the call to the host MPI
# start  laying the collective out: plan, lanes, first window; of a flags collective also its first step
# run    what follows, until the rank is done
# libc   calls of libc's functions (memcpy, memset), whose instructions are not counted
# first  start, where the communicator has no plan for the call yet
"""


class Problem(Exception):
    pass


@functools.cache
def is_library(path):
    """Is the source file one whose instructions count?"""
    return re.search(r"/src/(base|topo_tree|event_engine|hier)/(?!op/)", path) is not None


def read_profile(lines):
    """{case: Counter of (phase, function): instructions} and {case: Counter of phase: calls of libc} of callgrind's output.

    With --separate-callers a function is named with its callers, "hp_emit_send'emit'...", which tells the phase."""
    costs, libc = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    case = function = phase = path = where = to = None
    is_counted = inclusive = False
    for line in lines:
        if line[0].isdigit():  # nine lines of ten
            if is_counted and not inclusive:
                costs[case][phase, function] += int(line.split()[1])
            inclusive = False
            continue
        key, _, value = line.rstrip("\n").partition("=")
        if line.startswith("desc: Trigger: Client Request: "):
            case = line.split(": ")[3].strip()
        elif key == "ob":
            where = value
        elif key in ("fl", "fi", "fe"):
            path = value  # fi, fe: the file of what was inlined
            is_counted = phase is not None and is_library(path)
        elif key == "fn":
            chain = value.split("'")
            function = chain[0]
            phase = next((name for name in COUNTED if name in chain[1:]), None)
            is_counted = phase is not None and is_library(path)
        elif key == "cob":
            to = value
        elif key == "calls":
            if is_counted and (to or where).split("/")[-1].startswith("libc.so"):
                libc[case][phase] += int(value.split()[0])
            inclusive, to = True, None
    return costs, libc


def count(program, cases, surroundings=None):
    """(compiler, {case: row}, {case: costs}); row: what runs and the figures."""
    with tempfile.TemporaryDirectory() as directory:
        profile = pathlib.Path(directory, "profile")
        toggles = [f"--toggle-collect={name}" for name in COUNTED + NOT_COUNTED]
        # Valgrind executes "rep movsb", which ERMS makes libc prefer, byte by byte: 16 times slower.
        environment = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS", **(surroundings or {})}
        done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
                               "--separate-callers=16", "--combine-dumps=yes", "--compress-strings=no",
                               "--compress-pos=no", f"--callgrind-out-file={profile}", *toggles, program, *cases],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            raise Problem(f"{program} ended with {done.returncode} in valgrind:\n{done.stderr}")
        with open(profile) as lines:
            costs, libc = read_profile(lines)
    compiler, *lines = done.stdout.splitlines()
    rows = {}
    for line in lines:
        case, runs, calls, ranks = line.split()
        calls, ranks = int(calls), int(ranks)
        rows[case] = {"runs": runs}
        for figure, functions in PHASES.items():
            of_phase = sum(cost for (name, _), cost in costs[case].items() if name in functions)
            rows[case][figure] = round(of_phase / (calls * ranks))
        rows[case]["libc"] = round(sum(libc[case].values()) / (calls * ranks))
        if f"{case}/first" in costs:
            first = sum(cost for (name, _), cost in costs.pop(f"{case}/first").items() if name in PHASES["start"])
            rows[case]["first"] = round(first / ranks)
        if not rows[case]["start"]:
            raise Problem(f"{case}: nothing was counted")
    return compiler.removeprefix("compiler "), rows, costs


# ---- the golden file ----

def golden_line(case, runs, *figures):
    """In columns; a long case takes from the blanks before the first figure."""
    head = f"{case:<25} {runs}"
    return f"{head} {figures[0]:>{max(43 - len(head), 0)}}" + "".join(f"{word:>10}" for word in figures[1:])


def write_golden(path, compiler, rows):
    lines = [golden_line("case", "runs", *FIGURES)]
    lines += [golden_line(case, row["runs"], *(row[f] for f in FIGURES if f in row)) for case, row in rows.items()]
    path.write_text("\n".join([HEADER, f"compiler {compiler}", *lines, ""]))


def read_golden(path):
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = {}
    for line in lines[2:]:
        case, runs, *numbers = line.split()
        rows[case] = {"runs": runs, **dict(zip(FIGURES, map(int, numbers)))}
    return lines[0].removeprefix("compiler "), rows


def compare(old, new):
    """(what has grown, what has become less, what else differs): lines of text."""
    grown, less, other = [], [], []
    for case in [*old, *(case for case in new if case not in old)]:
        if case not in old or case not in new:
            other.append(f"{case}: {'a new case' if case in new else 'the case is gone'}")
            continue
        if old[case]["runs"] != new[case]["runs"]:
            other.append(f"{case}: {old[case]['runs']} -> {new[case]['runs']}")
            continue
        for figure in FIGURES:
            before, now = old[case].get(figure, 0), new[case].get(figure, 0)
            line = f"{case:<26}{figure:<6}{before:>10} -> {now:<10}{(now - before) / (before or 1):+8.1%}"
            if now > before * (1 + TOLERANCE):
                grown.append(line)
            elif now < before * (1 - TOLERANCE):
                less.append(line)
    return grown, less, other


def laid_out_again(rows):
    """The cases of many leaders in which a repeated call lays out more than a tenth of what a first one does: lines of text."""
    found = []
    for case, row in rows.items():
        _, layout, size = case.split("/")
        if layout == LEADERS and int(size) > LEADERS_BYTES and 10 * row["start"] > row["first"]:
            found.append(f"{case:<26}first {row['first']}, start {row['start']}")
    return found


# ---- the tables in docs ----

def cell(row):
    first = f"; {row['first']:,}" if "first" in row else ""
    return f"{row['runs']} {row['start']:,} + {row['run']:,} = {row['start'] + row['run']:,}{first}"


def markdown_table(rows, of):
    """A row a collective and size, a column a layout. of: whose bytes they are."""
    layouts = list(dict.fromkeys(case.split("/")[1] for case in rows))
    lines = [f"| collective | {of} | " + " | ".join(layouts) + " |", "|---|--:|" + "---|" * len(layouts)]
    for collective, size in dict.fromkeys((case.split("/")[0], case.split("/")[2]) for case in rows):
        cells = []
        for layout in layouts:
            row = rows.get(f"{collective}/{layout}/{size}")
            cells.append(cell(row) if row else "")
        lines.append(f"| {collective} | {int(size):,} | " + " | ".join(cells) + " |")
    return lines


def document(compiler, rows):
    """The tables as Markdown: of one vector, and of blocks."""
    vectors = {case: row for case, row in rows.items() if case.split("/")[0] in OF_A_VECTOR}
    blocks = {case: row for case, row in rows.items() if case not in vectors}
    return "\n".join([
        f"Compiler and flags: `{compiler}`. Each cell: algorithm, start + run = instructions per call and rank; first.", "",
        *markdown_table(vectors, "bytes"), "",
        "Of blocks, each of so many bytes, and scans of a vector of so many:", "",
        *markdown_table(blocks, "bytes of a block")])


def with_table(text, table):
    """The document with these tables between its marks."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}"


# ---- what is asked for ----

def update(args):
    compiler, rows, _ = count(args.program, [])
    write_golden(args.golden, compiler, rows)
    args.doc.write_text(with_table(args.doc.read_text(), document(compiler, rows)))
    print(f"{len(rows)} cases: written")
    return 0


def repeats(args, rows, costs):
    """Does a second run, of every third case, count the same? Another environment moves the stack, and nothing may depend on where it
    is, nor on what was counted before."""
    cases = list(rows)[::3]
    again = count(args.program, cases, {"HANPMPI_TEST_FILLER": "x" * 3333})[2]
    for case in cases:
        if costs[case] != again[case]:
            print(f"{case}: another count in the second run")
            return False
    print(f"{len(cases)} of {len(rows)} cases: two runs count the same, function by function")
    return True


def check(args):
    compiler, old = read_golden(args.golden)
    if args.doc.read_text() != with_table(args.doc.read_text(), document(compiler, old)):
        print(f"The table in {args.doc} is not that of {args.golden}:\n    {args.update_command}")
        return 1
    ours, new, costs = count(args.program, [])
    if not repeats(args, new, costs):
        return 1
    if ours != compiler:
        print(f"skipped: the golden figures hold for \"{compiler}\", this build is \"{ours}\"")
        return SKIPPED
    grown, less, other = compare(old, new)
    again = laid_out_again(new)
    for title, lines in ((f"Grown by more than {TOLERANCE:.0%}", grown), ("Other cases", other),
                         (f"Repeated calls of {LEADERS} that lay out more than a tenth of a first one", again),
                         ("Less than in the golden file, which may be written anew", less)):
        if lines:
            print(f"{title}:")
            print("\n".join(f"    {line}" for line in lines))
    if grown or other or again:
        print(f"\nWhat a case spends them on: python3 {sys.argv[0]} --program {args.program} --functions CASE\n"
              f"If this is what you meant to change:\n    {args.update_command}\nand look at git diff {args.golden}")
        return 1
    print(f"{len(new)} cases: none has grown by more than {TOLERANCE:.0%}")
    return 0


def functions(args):
    _, rows, costs = count(args.program, [args.functions])
    total = sum(costs[args.functions].values())
    print(f"{args.functions}: {rows.get(args.functions)}")
    for (phase, function), cost in costs[args.functions].most_common(30):
        print(f"{cost / total:6.1%}  {cost:>10}  {phase.removeprefix('counted_'):<9} {function}")
    return 0


def main():
    here = pathlib.Path(__file__).resolve()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--golden", type=pathlib.Path, default=here.parent / "golden/instructions.txt")
    parser.add_argument("--doc", type=pathlib.Path, default=here.parents[2] / "docs/instructions.md")
    parser.add_argument("--update", action="store_true", help="write the golden file and the tables in the document")
    parser.add_argument("--update-command", default="the same with --update", help="named when something has grown")
    parser.add_argument("--functions", metavar="CASE", help="what the instructions of a case are spent on")
    args = parser.parse_args()
    return (update if args.update else functions if args.functions else check)(args)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Problem, OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"instructions.py: {problem}")
