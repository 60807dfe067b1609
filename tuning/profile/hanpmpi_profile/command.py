"""Says what a recording of an MPI program holds, which the program writes at its end with HANPMPI_PROFILE=FILE.

  hanpmpi_profile show run.json                          the share of the run time by call, call site and size
  hanpmpi_profile html run.json -o page.html             one page with all views, as pictures and tables
  hanpmpi_profile scaling run16.json run32.json ...      where scaling is lost, from runs of several scales
  hanpmpi_profile overlap run.json                       which calls are worth making non-blocking
  hanpmpi_profile diff before.json after.json            what differs
  hanpmpi_profile advice run.json                        what to do, and what speaks for it

Of a job that has not come to MPI_Finalize, show, html, overlap and advice put together what its ranks have left: its files
run.json.rank-N, the folder that they are in, or the name run.json.
"""
import argparse
import json
import os
import sys

from hanpmpi_report.inputs import BadInput

from . import __version__, advice, diff, overlap, parts, scaling, show
from .efficiency import Efficiency
from .recording import read

OK, FAILED = 0, 1 # argparse ends with 2 for bad options
MOST = 20
ONE_JOB = "a recording; or the parts of one job, a folder with them, or the name beside which they lie"


def complain(text):
    print(f"hanpmpi_profile: {text}", file=sys.stderr)


def whole(least):
    def number(text):
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}: accepted are whole numbers, {least} or more")
        return int(text)
    return number


def scales(text):
    return [whole(2)(word) for word in text.split(",")]


# ---- the commands: each returns the lines of a terminal, or with --json an object ----


def run_show(options):
    its = open_job(options)
    return show.document(its, show.made(its)) if options.json else show.lines(its, options.most, options.all)


def run_html(options):
    its = open_job(options)
    try:
        from . import page
    except ImportError as problem:
        raise BadInput(f"the page needs {problem.name or 'matplotlib'} (package python3-matplotlib); `show` does not") from problem
    text = page.text(its)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)
    complain(f"{options.output}: {text.count('<svg')} pictures")
    return []


def run_scaling(options):
    study = scaling.Study([open_recording(options, path) for path in options.files], options.weak)
    rows, by_pair = scaling.analyse(study)
    at = scaling.scales_beyond(study, options.at)
    if options.at and not at:
        complain(f"--at: no growth is fitted to {len(study.scales)} scales; it takes {scaling.growth.FEWEST_SCALES}")
    return scaling.json_of(study, rows, by_pair, at) if options.json else scaling.lines(study, rows, by_pair, at, options.most)


def run_overlap(options):
    its, efficiency = open_job(options), Efficiency(options.efficiency)
    found, sequence = overlap.study(its, efficiency)
    if options.against:
        overlap.add_losses(found, its, open_recording(options, options.against))
    if options.json:
        return {"program": "hanpmpi_profile", "file": its.path, "cautions": list(its.cautions()), "efficiency": efficiency.text(),
                "sequence": sequence is not None, "sites": overlap.rows(found), "waits": overlap.waiting_rows(its)}
    return overlap.lines(its, found, sequence, efficiency)


def run_diff(options):
    a, b = (open_recording(options, path) for path in (options.a, options.b))
    return {"program": "hanpmpi_profile", "a": a.path, "b": b.path, **{name: table.json() for name, table in diff.tables(a, b).items()}} \
        if options.json else diff.lines(a, b, options.most)


def run_advice(options):
    its, efficiency = open_job(options), Efficiency(options.efficiency)
    found = advice.items(its, efficiency)
    if options.json:
        return {"program": "hanpmpi_profile", "file": its.path, "cautions": list(its.cautions()), "advice": [vars(item) for item in found]}
    return advice.lines(its, found, efficiency, options.most)


# ---- options ----


def add_command(commands, name, run, text, json_too=True, most=True):
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(run=run, json=False)
    if json_too:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    if most:
        parser.add_argument("--most", type=whole(0), default=MOST, metavar="N", help=f"rows of a table at most; 0: all (default {MOST})")
    parser.add_argument("--modules", metavar="DIR", help="look for the program's files below DIR, when it ran on another machine")
    parser.add_argument("--frames", type=whole(0), default=1, metavar="N",
                        help="frames that tell call sites apart: 2 also by the caller, for programs that wrap MPI in functions; 0: all (default 1)")
    parser.add_argument("--no-symbols", action="store_true", help="call sites as file and offset, without looking for names")
    return parser


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="hanpmpi_profile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit code: 0; 1 a file cannot be used or written, 2 bad options. `hanpmpi_profile COMMAND --help` has the options of a command.")
    parser.add_argument("--version", action="version", version=f"hanpmpi_profile {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = add_command(commands, "show", run_show, "the share of the run time by call, call site and size")
    one.add_argument("files", nargs="+", metavar="FILE", help=ONE_JOB)
    one.add_argument("--all", action="store_true", help="all views, as the page has them")
    one = add_command(commands, "html", run_html, "one page with all views, which needs no network", json_too=False, most=False)
    one.add_argument("files", nargs="+", metavar="FILE", help=ONE_JOB)
    one.add_argument("-o", "--output", required=True, metavar="PAGE", help="the page to write")
    one = add_command(commands, "scaling", run_scaling, "where scaling is lost, by call site")
    one.add_argument("files", nargs="+", metavar="FILE", help="recordings of two numbers of ranks or more; several of one number are repeats")
    one.add_argument("--weak", action="store_true", help="the problem grew with the ranks (default: it stayed the same)")
    one.add_argument("--at", type=scales, default=[], metavar="RANKS,...", help="extrapolate to these numbers of ranks (from five scales on)")
    for name, run, text in (("overlap", run_overlap, "which blocking calls are worth making non-blocking, and what that gives"),
                            ("advice", run_advice, "what to do, each with what speaks for it")):
        one = add_command(commands, name, run, text, most=name == "advice")
        one.add_argument("files", nargs="+", metavar="FILE", help=ONE_JOB)
        one.add_argument("--efficiency", action="append", default=[], metavar="JSON",
                         help="output of hanpmpi_bench --overlap --json on this machine; once with HANPMPI_PROGRESS=thread, once without")
        if name == "overlap":
            one.add_argument("--against", metavar="FILE", help="a recording of fewer ranks: the scaling loss of each site is printed, too")
    one = add_command(commands, "diff", run_diff, "what differs between two recordings")
    one.add_argument("a", metavar="A")
    one.add_argument("b", metavar="B")
    return parser.parse_args(arguments)


def open_recording(options, path):
    return opened(options, read(path))


def open_job(options):
    return opened(options, parts.open_all(options.files))


def opened(options, its):
    its.places.folder, its.places.look_up, its.places.frames = options.modules, not options.no_symbols, options.frames
    options.opened.append(its)
    return its


def main(arguments=None):
    options = parse(arguments)
    options.opened = []
    if hasattr(sys.stdout, "reconfigure"): # a locale may lack a letter
        sys.stdout.reconfigure(errors="replace")
    try:
        result = options.run(options)
        if isinstance(result, dict):
            json.dump(result, sys.stdout, indent=1)
            print()
        else:
            for line in result:
                print(line)
        sys.stdout.flush()
    except BadInput as problem:
        complain(problem)
        return FAILED
    except BrokenPipeError: # head has seen enough; nothing more may be written, not even at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as problem:
        complain(f"{problem.filename or 'standard output'}: {problem.strerror}")
        return FAILED
    for trouble in dict.fromkeys(trouble for its in options.opened for trouble in its.places.troubles):
        complain(trouble)
    return OK
