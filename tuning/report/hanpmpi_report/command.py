"""Draws pictures of what hanpmpi_tune and hanpmpi_bench measured, and writes report.md, which shows them with
tables of their numbers.

  hanpmpi_report tune.json                                  what the tuner found, what its models are worth, what the searches cost
  hanpmpi_report cluster.json node.json --output pictures   hanpmpi_bench --json: time and share of the lower bound against size
  hanpmpi_report tune_2.json tune_4.json tune_8.json        also a map of the choices over message size and nodes
  hanpmpi_report rules.json                                 the map of what rules choose

What a file is, its content tells. Runs of hanpmpi_bench with the same MPI and layout belong together: where one was forced (--force,
--hint, HANPMPI_BCAST=...), the others show the best that could be forced. Pictures are PNG, 900 pixels wide, and SVG.
"""
import argparse
import os

from . import __version__, pictures, style
from .inputs import SEARCHES, BadInput, read_all
from .report import Report, complain

OK, FAILED = 0, 1 # argparse ends with 2 for bad options


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="hanpmpi_report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit code: 0 the report is written (what a file lacks is said), 1 a file cannot be used or written, or there is nothing "
               "to show, 2 bad options.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tune.json, output of hanpmpi_bench --json, or rules in JSON")
    parser.add_argument("--output", default="report", metavar="DIR", help="folder to write to; made if need be (default: report)")
    parser.add_argument("--search", choices=list(SEARCHES),
                        help="whose choices are shown as the library's (default: the first of task, task+heuristic, heuristic, "
                             "exhaustive that a file has)")
    parser.add_argument("--version", action="version", version=f"hanpmpi_report {__version__}")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        inputs = read_all(options.files)
    except BadInput as problem:
        complain(problem)
        return FAILED
    style.use()
    try:
        os.makedirs(options.output, exist_ok=True)
        report = Report(options.output, options.search)
        pictures.draw_all(report, inputs)
        if not report.sections:
            complain("nothing to show: see above what the files lack")
            return FAILED
        path = report.write("What was measured")
    except OSError as problem:
        complain(f"{problem.filename or options.output}: {problem.strerror}; name a folder that can be written with --output")
        return FAILED
    complain(f"{path}: {len(report.pictures)} pictures")
    return OK
