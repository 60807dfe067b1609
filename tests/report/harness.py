"""What the tests of hanpmpi_report share: running it in this process, and small files of its kinds."""
import contextlib
import copy
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import matplotlib # noqa: F401
except ImportError:
    raise unittest.SkipTest("needs python3-matplotlib") from None

from hanpmpi_report import style
from hanpmpi_report.command import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = HERE / "data"

SMALL_TUNE = {
    "program": "hanpmpi_tune", "mpi": "TEST DATA", "layout": {"nodes": 4, "ranks_per_node": [2, 4], "ranks": 14},
    "limits": {"link_bytes_per_us": 100.0, "copy_bytes_per_us": 1000.0, "between_us": 10.0, "inside_us": 1.0},
    "configurations": [
        {"id": name, "collective": "bcast", "algorithm": "han", "segment_bytes": segment, "shapes": f"node:{name} core:linear",
         "modules": "node:p2p core:shm", "between_nodes": "tree", "trees": 1, "leaders": 1, "heuristic": name == "chain"}
        for name, segment in (("chain", 8192), ("binary", 32768), ("linear", 32768))],
    "measured": [{"collective": "bcast", "bytes": size, "configuration": name, "us": us} for size, name, us in (
        (1024, "chain", 100.0), (1024, "binary", 200.0), (1024, "linear", 600.0), (1024, "native", 400.0),
        (4096, "chain", 1000.0), (4096, "binary", 500.0), (4096, "linear", 800.0), (4096, "native", 900.0))],
    "predicted": [{"collective": "bcast", "bytes": size, "configuration": name, "model": model, "us": us} for size, name, model, us in (
        (1024, "chain", "lockstep", 150.0), (1024, "binary", "lockstep", 220.0), (1024, "linear", "lockstep", 60.0),
        (4096, "chain", "lockstep", 1100.0), (1024, "chain", "events", 90.0), (4096, "binary", "events", 505.0))],
    "searches": [{"name": "exhaustive", "seconds": 200.0, "measurements": 160}, {"name": "heuristic", "seconds": 53.6, "measurements": 40},
                 {"name": "task", "seconds": 46.0, "measurements": 30}, {"name": "task+heuristic", "seconds": 8.6, "measurements": 9}],
    "choices": [{"search": search, "collective": "bcast", "bytes": size, "configuration": name, "us": us, "best_us": best}
                for search, size, name, us, best in (
                    ("exhaustive", 1024, "chain", 101.0, 101.0), ("exhaustive", 4096, "binary", 510.0, 510.0),
                    ("task", 1024, "chain", 104.0, 104.0), ("task", 4096, "linear", 600.0, 500.0))],
    "host": [{"collective": "bcast", "bytes": 1024, "us": 416.0}, {"collective": "bcast", "bytes": 4096, "us": 1200.0}]}


def small_tune(**changes):
    """SMALL_TUNE with other members; None takes one out."""
    document = {**copy.deepcopy(SMALL_TUNE), **changes}
    return {name: value for name, value in document.items() if value is not None}


class ReportCase(unittest.TestCase):
    """A folder for each test, and the program on files in it."""
    draws = True # False: pictures are laid out, but their files stay empty, which saves most of the time

    def setUp(self):
        if not self.draws:
            instead = mock.patch.object(style, "save", lambda _, directory, name: (Path(directory) / f"{name}.svg").touch())
            instead.start()
            self.addCleanup(instead.stop)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)
        self.output = self.folder / "out"

    def file(self, document, name="tune.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def run_report(self, *arguments):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([*map(str, arguments), "--output", str(self.output)])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def report(self, *files, options=()):
        """report.md of files that must be accepted, and what was said."""
        code, out, err = self.run_report(*files, *options)
        self.assertEqual((code, out), (0, ""), err)
        return (self.output / "report.md").read_text(), err

    def rows(self, text, heading, header):
        """The table with that first column below a heading: {first cell: {column: cell}}."""
        lines = iter(text.split(f"# {heading}\n", 1)[1].splitlines())
        names = next(line for line in lines if line.startswith(f"| {header} |"))
        next(lines)
        result = {}
        for line in lines:
            if not line.startswith("|"):
                break
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            result[cells[0]] = dict(zip([name.strip() for name in names.strip("|").split("|")], cells))
        return result
