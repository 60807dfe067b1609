"""hanpmpi_tune --teach as a whole, with a made-up MPI (made_up_teach).   ctest -R tune.teach.unit"""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

from hanpmpi_teach import wisdom
from hanpmpi_teach.command import main
from hanpmpi_teach.jobs import Launcher
from hanpmpi_teach.model import About

MADE_UP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "made_up_teach")
ASKED = ["-c", "bcast,gather", "-b", "8,64"]


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rules = os.path.join(self.folder.name, "rules")
        turns = mock.patch("hanpmpi_teach.command.VERIFY_TURNS", 1)
        turns.start()
        self.addCleanup(turns.stop)

    def run_main(self, *options, launcher=("env",), host="openmpi", asked=ASKED, output=None, **made_up):
        """Its exit status and what it said. The launcher env runs one rank of what follows."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, {"MADE_UP": json.dumps(made_up)}), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(["--teach", host, "-o", output or self.rules, "--program", MADE_UP, *asked, *options, "--", *launcher])
            except SystemExit as ended:
                status = ended.code
        return status, out.getvalue() + err.getvalue()

    def read(self, suffix=""):
        with open(self.rules + suffix) as file:
            return file.read()

    def numbers(self):
        return [int(word) for line in self.read().splitlines() for word in line.split("#")[0].split()]

    def test_it_finds_writes_and_verifies(self):
        status, said = self.run_main()
        self.assertEqual(status, 0, said)
        default = [1, 0, 0, 0, 0]
        self.assertEqual(self.numbers(), [2, 7, 3, 1, *default, 4, 2, 0, 1, 0, 0, 182, 0, 0, 0, 5, *default,
                                          9, 3, 1, *default, 4, 2, 0, 1, 0, 0, 728, 0, 0, 0, 5, *default])
        self.assertIn("| bcast | 8 | linear | 10 | 5 | 2.00 | 5 | 2.00 |", said)
        self.assertIn("2.00 times as fast", said)
        self.assertIn(f"export OMPI_MCA_coll_tuned_dynamic_rules_filename='{self.rules}'", self.read(".env"))

    def test_what_does_not_hold_in_its_own_job_is_given_back(self):
        status, said = self.run_main(taught=11)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.numbers(), [0])
        self.assertIn("4 cells are not faster with the files and keep the default", said)

    def test_files_with_which_a_job_fails_do_not_stay(self):
        status, said = self.run_main(fails=True)
        self.assertEqual((status, self.numbers()), (0, [0]), said)
        self.assertIn("made up: no rules", said)
        self.assertIn("given back to the default: everything", said)

    def test_the_finalists_second_times_decide(self):
        status, said = self.run_main("-c", "bcast", asked=["-b", "8,64"], us={"0": 10, "1": 5, "2": 6, "6": 12}, **{"finally": {"1": 11, "2": 5}})
        self.assertEqual(status, 0, said)
        self.assertIn("| bcast | 8 | chain |", said)
        status, said = self.run_main("-c", "bcast", asked=["-b", "8,64"], **{"finally": {"1": 11}})
        self.assertIn("nothing to improve", said)

    def test_nothing_to_improve(self):
        status, said = self.run_main(us={"0": 5, "1": 5, "2": 20, "6": 12})
        self.assertEqual((status, self.numbers()), (0, [0]), said)
        self.assertIn("nothing to improve", said)

    def test_wisdom_says_where(self):
        finding = {"collective": "bcast", "bin": 7, "nodes": 1, "ranks": [4, 4], "candidates": [["0", 9.0], ["7f", 5.0]], "chosen": 1}
        with mock.patch("hanpmpi_teach.wisdom.read", return_value={"mpis": [{"mpi": "open-mpi-v4.1.4", "findings": [finding]}]}):
            status, said = self.run_main("--from-wisdom")
        self.assertEqual(status, 0, said)
        self.assertIn("| bcast | 64 |", said)
        self.assertNotIn("| bcast | 8 |", said)
        with mock.patch("hanpmpi_teach.wisdom.read", return_value={"mpis": []}):
            status, said = self.run_main("--from-wisdom")
        self.assertEqual((status, self.numbers()), (0, [0]), said)
        self.assertIn("nothing was measured", said)

    def test_a_job_that_hangs(self):
        status, said = self.run_main("--patience", "1", "-c", "bcast", "-b", "8", hangs=2, asked=[])
        self.assertEqual(status, 0, said)
        self.assertIn("chain is left out: it said nothing for 1 s", said)
        self.assertIn(" 1 0 0 #", self.read())

    def test_a_job_that_ends(self):
        status, said = self.run_main(ends=2)
        self.assertEqual(status, 0, said)
        self.assertIn("chain is left out: it ended with status 3", said)
        self.assertIn("linear", self.read())

    def test_the_default_that_ends_the_job(self):
        status, said = self.run_main(ends=0)
        self.assertEqual(status, 1, said)
        self.assertIn("made up: no more", said)

    def test_an_algorithm_that_refuses(self):
        status, said = self.run_main(refuses=1)
        self.assertEqual(status, 0, said)
        self.assertIn("linear is left out at 8: it returns an error", said)
        self.assertEqual(self.numbers(), [0])

    def test_another_mpi(self):
        status, said = self.run_main(version="MPICH Version: 4.0.2")
        self.assertEqual(status, 2)
        self.assertIn("accepted are openmpi, mpich, intel", said)
        self.assertFalse(os.path.exists(self.rules))

    def test_one_rank(self):
        status, said = self.run_main(ranks=1)
        self.assertEqual(status, 2)
        self.assertIn("two at least", said)

    def test_no_launcher(self):
        status, said = self.run_main(launcher=())
        self.assertEqual(status, 2)
        self.assertIn("mpirun -np 16", said)
        status, said = self.run_main(launcher=["no-such-launcher"])
        self.assertEqual(status, 1)
        self.assertIn("no-such-launcher", said)

    def test_output_that_cannot_be_written(self):
        for path in (os.path.join(self.folder.name, "none", "rules"), self.folder.name):
            status, said = self.run_main(output=path)
            self.assertEqual(status, 1, path)
            self.assertIn("--output", said)

    def test_bad_options_name_what_is_accepted(self):
        for options, word in ((["-c", "scan"], "bcast, reduce"), (["-b", "7"], "multiples of 8"), (["-b", "x"], "sizes from 1"),
                              (["--seconds", "0"], "above 0"), (["--margin", "x"], "above 0")):
            status, said = self.run_main(*options)
            self.assertEqual(status, 2, options)
            self.assertIn(word, said)
        self.assertEqual(self.run_main(host="lam")[0], 2)

    def test_dry_run_measures_nothing(self):
        status, said = self.run_main("--dry-run")
        self.assertEqual(status, 0)
        self.assertIn("    binomial", said)
        self.assertFalse(os.path.exists(self.rules))

    def test_results(self):
        path = self.rules + ".results"
        self.assertEqual(self.run_main("--results", path)[0], 0)
        with open(path) as file:
            document = json.load(file)
        self.assertEqual({row["taught"] for row in document["choices"]}, {"linear"})
        self.assertEqual(document["verified"][0]["taught_us"], 5)


    def test_a_signal_ends_the_job_too(self):
        environment = {**os.environ, "MADE_UP": json.dumps({"hangs": 1}), "MADE_UP_FOLDER": self.folder.name}
        words = ["--teach", "openmpi", "-o", self.rules, "--program", MADE_UP, "-c", "bcast", "-b", "8", "--", "env"]
        process = subprocess.Popen([sys.executable, "-m", "hanpmpi_teach", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        while not os.path.exists(os.path.join(self.folder.name, "hangs")):
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.terminate()
        said, _ = process.communicate(timeout=20)
        until = time.monotonic() + 30
        while self.marked() and time.monotonic() < until: # who is killed is there for another moment
            time.sleep(0.02)
        self.assertEqual((process.returncode, self.marked()), (1, []), said)
        self.assertIn("ended by a signal", said)

    def test_a_signal_while_a_job_is_started_ends_it_too(self):
        popen, jobs = subprocess.Popen, []

        def interrupted(*arguments, **words):
            jobs.append(popen(*arguments, **words))
            signal.raise_signal(signal.SIGTERM)
            return jobs[0]

        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        with mock.patch("hanpmpi_teach.jobs.subprocess.Popen", interrupted), self.assertRaises(KeyboardInterrupt):
            list(Launcher(["env"], "sleep", 60).run(["60"], {}))
        self.assertEqual([job.poll() for job in jobs], [-signal.SIGTERM])

    def marked(self):
        """The processes with this test's folder in their environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
                found += [pid] if f"MADE_UP_FOLDER={self.folder.name}".encode() in file.read() else []
        return found


class Wisdom(unittest.TestCase):
    ABOUT = About("Open MPI v4.1.4", 8, 2, 4, [], {})
    HOST = types.SimpleNamespace(NAME="Open MPI")

    def cells(self, mpi="open-mpi-v4.1.4-package-debian", **finding):
        one = {"collective": "bcast", "bin": 4, "nodes": 2, "ranks": [4, 4], "candidates": [["0", 10.0], None, ["7f", 5.0]], "chosen": 2, **finding}
        document = {"mpis": [{"mpi": mpi, "findings": [one]}]}
        return wisdom.slower_cells(document, self.HOST, self.ABOUT, {"bcast": [8, 64], "barrier": [0]})

    def test_where_the_hosts_own_was_slower(self):
        self.assertEqual(self.cells(), {"bcast": [8]})
        self.assertEqual(self.cells(collective="barrier", bin=0), {"barrier": [0]})

    def test_where_it_was_not_or_nothing_is_known(self):
        for finding in ({"chosen": 0}, {"bin": 5}, {"nodes": 1}, {"ranks": [8, 8]}, {"mpi": "mpich-version-4.0.2"}, {"candidates": [None, None, ["7f", 5.0]]},
                        {"candidates": [["0", 5.2], None, ["7f", 5.0]]}):
            self.assertEqual(self.cells(**finding), {}, finding)


if __name__ == "__main__":
    unittest.main()
