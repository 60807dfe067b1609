"""What the tests of hanpmpi_profile share: running it in this process, and files of made-up recordings."""
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from hanpmpi_profile.command import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class ProfileCase(unittest.TestCase):
    """A folder for each test, and the program on files in it."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)

    def file(self, document, name="run.json"):
        """document: a Builder, an object, or a text."""
        path = self.folder / name
        document = getattr(document, "document", document)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def run_profile(self, *arguments):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([*map(str, arguments)])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def text(self, *arguments):
        """What a command prints that must end well."""
        code, out, err = self.run_profile(*arguments)
        self.assertEqual(code, 0, err)
        return out

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))
