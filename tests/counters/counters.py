#!/usr/bin/env python3
"""counters.py: runs the program `counters` and compares its table with the golden file and with theory.

Exact: messages, bytes, rounds, chains, reductions, copies, tasks and memory follow from the algorithms alone.
virtual_us is shown (--show) and neither kept nor compared. A difference prints case, counter, old -> new; when
it is intended, --update writes the golden file anew, and the difference of the file is part of the change.
"""
import argparse
import pathlib
import subprocess
import sys

import theory

KEY = ["collective", "layout", "wanted", "shapes", "bytes", "root", "order"]
NOT_KEPT = ["virtual_us"]
SHOWN = 12  # lines of a kind

HEADER = """\
# Counters of the collectives on made-up machines; exact, the same on every machine. Compared by `ctest -L counters`.
# To write this file anew:  cmake --build build --target counters_update
#
# layout   nodes x ranks on each, or the ranks of each node; cyclic: ranks go to the nodes in turn, else node after
#          node; 1x8, 4x4, 32x32: two packages a node
# wanted   HANPMPI_<collective>, and the module inside nodes; shapes: between nodes/inside/bytes of the pieces of a segment between nodes; order: rank = the operation is not commutative
# runs     what the library does: an algorithm, or it leaves the call to the host MPI, and why
# messages, bytes        by the outermost level at which sender and receiver differ
# chain, chain_bytes     the longest sequence of messages of which each can only be sent when the one before is complete; of a
#                        barrier that all ranks of the nodes lead: in one of its rounds
# rounds                 the same where a message also waits for the one before it from the same rank to the same rank
# copies                 tasks that copy; pulls, pushes: from and to the memory of another rank of the node
# sets                   of counters and flags in the memory of a node
# window, tasks, scratch per rank at most: segments in work, room for tasks, bytes of scratch memory they may need
# scratch_peak           and did need: depends on the order of events, this is the highest of three runs with fixed seeds
"""


class Problem(Exception):
    pass


def parse(lines):
    """The rows of a table as {key: {column: text}}, without comments."""
    lines = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    names, rows = lines[0], {}
    for words in lines[1:]:
        row = dict(zip(names, words))
        key = " ".join(words[:len(KEY)])
        complete = len(words) == (len(KEY) + 1 if row.get("runs", "").startswith("left:") else len(names))
        if not complete or key in rows:
            raise Problem(f"a line that is too short, too long or there twice: {' '.join(words)}")
        rows[key] = row
    return rows


def run(program, layouts):
    """(rows, problems) of the program."""
    done = subprocess.run([program, *layouts], stdout=subprocess.PIPE, text=True)
    problems, lines = [], []
    waiting = []
    for line in done.stdout.splitlines():
        if line.startswith("problem: "):
            waiting.append(line)
        else:
            problems += [f"{' '.join(line.split()[:len(KEY)])}: {text}" for text in waiting]
            waiting = []
            lines.append(line)
    if done.returncode not in (0, 1) or waiting or not lines:
        raise Problem(f"{program} ended with {done.returncode} after {len(lines)} lines")
    return parse(lines), problems


def aligned(rows, leave_out):
    names = [name for name in max(rows.values(), key=len) if name not in leave_out]
    table = [names] + [[row.get(name, "") for name in names] for row in rows.values()]
    widths = [max(len(line[i]) for line in table) for i in range(len(names))]
    left = len(KEY) + 1
    return "".join(" ".join(word.ljust(width) if i < left else word.rjust(width)
                            for i, (word, width) in enumerate(zip(line, widths))).rstrip() + "\n" for line in table)


def differences(old, new, layouts):
    """One line a counter that changed: case, counter, old -> new."""
    lines = []
    for key in old:
        if key not in new and (not layouts or old[key]["layout"] in layouts):
            lines.append(f"{key}: the case is gone")
    for key, row in new.items():
        if key not in old:
            lines.append(f"{key}: a new case")
            continue
        lines += [f"{key}: {name} {old[key].get(name, '-')} -> {value}" for name, value in row.items()
                  if name not in NOT_KEPT and old[key].get(name) != value]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the program that counts")
    parser.add_argument("--golden", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write the golden file instead of comparing")
    parser.add_argument("--update-command", default="the same with --update", help="named when something differs")
    parser.add_argument("--show", action="store_true", help="print the table, virtual times too")
    parser.add_argument("layouts", nargs="*", help="only the cases of these layouts")
    args = parser.parse_args()
    if args.update and args.layouts:
        parser.error("--update writes all layouts: name none")

    rows, problems = run(args.program, args.layouts)
    if args.show:
        print(aligned(rows, []), end="")
    against_theory = [f"{key}: {text}" for key, row in rows.items() for text in theory.violations(row)]
    changed = []
    if args.update and not against_theory and not problems:
        args.golden.parent.mkdir(exist_ok=True)
        args.golden.write_text(HEADER + "\n" + aligned(rows, NOT_KEPT))
    elif not args.update:
        changed = differences(parse(args.golden.read_text().splitlines()), rows, args.layouts)
    for title, lines in (("Other counters than in the golden file", changed),
                         ("Against theory", against_theory), ("Wrong in itself", problems)):
        if lines:
            print(f"{title}:")
            print("\n".join(f"    {line}" for line in lines[:SHOWN]))
            if len(lines) > SHOWN:
                print(f"    ... and {len(lines) - SHOWN} more")
    if against_theory or problems:
        print(f"\nA defect, and no reason for new golden figures. {args.program} runs the cases; what must be is in "
              f"{theory.__file__}")
        return 1
    if changed:
        print(f"\nIf this is what you meant to change:\n    {args.update_command}\nand look at git diff {args.golden}")
        return 1
    print(f"{len(rows)} cases: {'written' if args.update else 'no difference'}, theory holds")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Problem, OSError) as problem:
        sys.exit(f"counters.py: {problem}")
