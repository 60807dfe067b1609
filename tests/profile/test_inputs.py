"""What hanpmpi_profile accepts and refuses, and how it says so."""
import json
import os
import re
import subprocess
import sys
import time
import unittest

from builder import Builder, rich
from harness import ROOT, ProfileCase
from hanpmpi_profile.recording import WRITTEN, read

COMMANDS = ("show", "html", "scaling", "overlap", "diff", "advice")


def changed(which, i, **changes):
    """A good recording with row i of a list changed; None takes a member out."""
    document = rich().document
    row = {**document[which][i], **changes}
    document[which][i] = {key: value for key, value in row.items() if value is not None}
    return document


def sequence(**changes):
    document = Builder(ranks=1, nodes=1).record("MPI_Barrier", "a", 1.0).sequence([("MPI_Barrier", "a", 0, -1)], [[[0, 1.0, 1.0]]]).document
    document["sequence"].update(changes)
    return document


BAD = {
    "no JSON": ("not JSON", "is no JSON", "HANPMPI_PROFILE=FILE"),
    "empty": ("", "is empty: the job has not come to MPI_Finalize"),
    "unexpected": (Builder().having(unexpected={"samples": 0, "with_any": 0, "messages": 0, "most": 0}), "unexpected: samples must be"),
    "truncated": (json.dumps(rich().document)[:3000], "ends in the middle: it was cut, or is still being written"),
    "deeply nested": ("[" * 100000, "is no JSON"),
    "a list": ([1], "holds something else and no \"format\": \"hanpmpi-profile\"", "HANPMPI_PROFILE=FILE"),
    "another format": ({"format": "trace"}, "holds \"trace\""),
    "another version": (Builder().having(version=2).document, "is version 2 of the format, and this program reads version 1"),
    "no ranks": (Builder().having(ranks=0).document, "ranks must be a whole number, 1 or more, not 0"),
    "records that are no list": (Builder().having(records={}).document, "records must be a list"),
    "a record without time": (changed("records", 2, time_s=None), "records[2]: time_s is missing"),
    "a negative time": (changed("records", 2, time_s=-1.0), "records[2]: time_s must be a number, 0 or more, not -1.0"),
    "a time that is no number": (json.dumps(changed("records", 2, time_s=0.5)).replace("\"time_s\": 0.5", "\"time_s\": NaN", 1), "time_s must be a number"),
    "an unknown call": (changed("records", 1, call=99), "records[1]: call must be below 8, the length of calls, not 99"),
    "an unknown site": (changed("arrival", 1, site=99), "arrival[1]: site must be below 15, the length of sites, not 99"),
    "an unknown communicator": (changed("records", 1, comm=9), "records[1]: comm must be below 3"),
    "a bin that is none": (changed("records", 1, bin=64), "records[1]: bin must be a bin of sizes, -1 to 63, not 64"),
    "a histogram that is none": (changed("records", 1, histogram=[[1]]), "records[1]: histogram must be a list of [k, count]"),
    "a frame of no module": (changed("sites", 0, frames=[[5, 1]]), "sites[0]: frames must be a list of [module, offset], module below 1, not [[5, 1]]"),
    "Python's lines": (changed("sites", 0, python=[1]), "sites[0]: python must be a list of texts"),
    "peers": (Builder().having(peers=[[0, 1, 2]]).document, "peers[0]: must be 4 numbers, 0 or more, not [0, 1, 2]"),
    "waits": (changed("waits", 0, wait_s=None), "waits[0]: wait_s is missing"),
    "late ranks": (changed("arrival", 0, late=[[1, 2]]), "arrival[0]: late must be a list of [rank, times, seconds], not [[1, 2]]"),
}
BAD_SEQUENCES = {
    "kinds": (sequence(kinds={}), "sequence: kinds must be a list"),
    "a kind of no call": (sequence(kinds=[{"call": 7}]), "sequence: kinds[0]: call must be below 1, not 7"),
    "a kind of no site": (sequence(kinds=[{"call": 0, "site": 9}]), "sequence: kinds[0]: site must be below 1, not 9"),
    "an event of no kind": (sequence(ranks=[{"rank": 0, "events": [[3, 0, 0]]}]), "events[0]: must be [kind, gap, took]", "kind below 1, not [3, 0, 0]"),
    "no events": (sequence(ranks=[{"rank": 0, "events": 5}]), "events[0]: must be [kind, gap, took]"),
}


class Inputs(ProfileCase):
    def refused(self, wanted, *arguments):
        code, out, err = self.run_profile(*arguments)
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err.count("\n"), 1, err)
        for text in ("hanpmpi_profile: ", *wanted):
            self.assertIn(text, err)

    def test_bad_files(self):
        for name, (document, *wanted) in BAD.items():
            with self.subTest(name):
                path = self.file(document)
                self.refused([f"{path}: ", *wanted], "show", path)

    def test_bad_sequences(self):
        for name, (document, *wanted) in BAD_SEQUENCES.items():
            with self.subTest(name):
                path = self.file(document)
                self.refused([f"{path}: ", *wanted], "overlap", path)

    def test_every_command_says_it(self):
        path = self.file("{")
        for command in COMMANDS:
            more = {"html": ["-o", self.folder / "page.html"], "diff": [path]}.get(command, [])
            self.refused([f"{path}: ends in the middle"], command, path, *more)
        self.assertFalse((self.folder / "page.html").exists())

    def test_files_that_are_not_there(self):
        for path, wanted in ((self.folder / "none.json", "No such file"), (self.folder, "no parts of a recording (NAME.rank-N) are in this folder")):
            self.refused([f"{path}: {wanted}"], "show", path)

    def test_job_that_has_not_ended(self):
        """The empty file that it leaves is named; what there is of parts: test_parts."""
        path = self.folder / "run.json"
        part = self.file("", "run.json.part")
        self.refused([f"{path}: No such file or directory, but {part}: the job has not come to MPI_Finalize"], "show", path)

    def test_cut_anywhere(self):
        """A file as the library writes it, a line a list: what is missing is said. Of slack only where the run was watched."""
        for watched in (True, False):
            document = rich().document
            for row in document["per_rank"]:
                row.update({"watch_s": 0.01} if watched else {})
            if not watched:
                del document["slack"]
            self.cut_anywhere(document, [key for key in WRITTEN if key != "slack" or watched])

    def cut_anywhere(self, document, keys):
        head = {key: value for key, value in document.items() if key not in WRITTEN}
        text = json.dumps(head)[:-1] + "".join(f",\n\"{key}\":{json.dumps(document[key])}" for key in keys) + "}\n"
        self.text("show", self.file(text))
        for number, key in enumerate(keys):
            for at in (text.index(f"\n\"{key}\":") + len(key) + 4, text.index(f"\n\"{key}\":") + len(key) + 8):
                path = self.file(text[:at])
                wanted = [f"\"{key}\" is not complete"] + ([f"missing is all of {', '.join(keys[number + 1:])}"] if keys[number + 1:] else [])
                if number < WRITTEN.index("records"):
                    self.refused([f"{path}: ends in the middle", *wanted], "show", path)
                    continue
                shown = " ".join(self.text("show", path).split())
                for said in ("CAUTION: incomplete: the file ends in the middle", *wanted):
                    self.assertIn(said, shown)

    def test_rows_before_the_cut(self):
        """Records are read up to the last one that is whole, also where the file ends behind it."""
        document = rich().document
        head = json.dumps({key: value for key, value in document.items() if key not in WRITTEN})[:-1]
        text = head + "".join(f",\n\"{key}\":{json.dumps(document[key])}" for key in WRITTEN[:5])
        for dropped in (1, 2, 5): # "]"; "}]"; in the middle of the last row
            its = read(self.file(text[:-dropped]))
            self.assertEqual(its.records, document["records"][:None if dropped == 1 else -1])
            self.assertIn(f"\"records\" is not complete ({len(its.records)} rows of it are here), and missing is all of peers", its.incomplete)
            self.assertEqual((its.peers, its.waits, its.arrival), ([], [], []))

    def test_slack_before_the_cut(self):
        """What of it is whole is shown; the lists before it are all there, and nobody is told that one of them is cut."""
        document = rich().document
        head = json.dumps({key: value for key, value in document.items() if key not in WRITTEN})[:-1]
        text = head + "".join(f",\n\"{key}\":{json.dumps(document[key])}" for key in WRITTEN[:9])
        for dropped in (1, 2, 5): # "]"; "}]"; in the middle of the last row
            path = self.file(text[:-dropped])
            its = read(path)
            self.assertEqual((its.slack, its.arrival), (document["slack"][:None if dropped == 1 else -1], document["arrival"]))
            self.assertIn(f"\"slack\" is not complete ({len(its.slack)} rows of it are here), and missing is all of sequence", its.incomplete)
            self.assertEqual(len(self.json("show", path)["slack"]), len(its.slack))

    def test_cut_in_the_sequence(self):
        """Its communicators begin a line, too, and are not the recording's."""
        document = rich().document
        head = json.dumps({key: value for key, value in document.items() if key not in WRITTEN})[:-1]
        text = head + "".join(f",\n\"{key}\":{json.dumps(document[key])}" for key in WRITTEN[:9])
        its = read(self.file(text + ",\n\"sequence\":{\"ranks\":[],\n\"kinds\":[],\n\"communicators\":[\n{\"world_ranks\":[0,1"))
        self.assertEqual((its.slack, its.communicators), (document["slack"], document["communicators"]))
        self.assertEqual(its.incomplete, "the file ends in the middle; \"sequence\" is not complete")

    def test_a_letter_that_the_locale_lacks(self):
        path = self.file(Builder().having(command=["./\u00e9"]))
        done = subprocess.run([sys.executable, "-m", "hanpmpi_profile", "show", path], env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("./?", done.stdout)

    def test_page_that_cannot_be_written(self):
        page = self.folder / "none" / "page.html"
        self.refused([f"{page}: No such file or directory"], "html", self.file(Builder().record("MPI_Bcast", "a", 1.0)), "-o", page)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.executable, "-m", "hanpmpi_profile", "show", self.file(rich())], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("hanpmpi_profile: standard output: No space left", done.stderr)

    def test_closed_pipe(self):
        """`hanpmpi_profile show | head -1` ends without a word, whatever is left to print."""
        its = Builder()
        for i in range(3000):
            its.record("MPI_Bcast", f"site {i}", 0.001)
        out, into = os.pipe()
        os.close(out)
        done = subprocess.run([sys.executable, "-m", "hanpmpi_profile", "show", "--most", "0", "--no-symbols", self.file(its)], stdout=into,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        os.close(into)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bad_options(self):
        path = self.file(rich())
        for arguments, wanted in (([], "COMMAND"), (["dance"], "invalid choice"), (["show"], "FILE"), (["html", path], "-o/--output"),
                                  (["show", path, "--most", "-1"], "'-1': accepted are whole numbers, 0 or more"),
                                  (["scaling", path, "--at", "1"], "'1': accepted are whole numbers, 2 or more")):
            code, out, err = self.run_profile(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("usage: hanpmpi_profile", err)
            self.assertIn(wanted, err)

    def test_version(self):
        version = re.search(r"project\(hanpmpi VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.run_profile("--version")[:2], (0, f"hanpmpi_profile {version}\n"))

    def test_help_and_manual_page(self):
        """The page has every command and every option."""
        page = (ROOT / "docs" / "hanpmpi_profile.1").read_text().replace("\\-", "-")
        self.assertIn("Exit code: 0", self.text("-h"))
        for command in COMMANDS:
            self.assertIn(f".SS {command}", page)
            options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", self.text(command, "--help")))
            self.assertEqual([option for option in sorted(options) if option not in page], [], command)

    def test_least_recording(self):
        """What is not needed may be missing, and what is missing is said."""
        path = self.file({"format": "hanpmpi-profile", "version": 1, "ranks": 4})
        text = self.text("show", path)
        self.assertIn("CAUTION: incomplete: 0 of 4 ranks", text)
        self.assertIn("Share of the run time by call: no records", text)
        self.assertIn("nothing to gain from overlap", self.text("overlap", path))
        self.assertIn("Nothing to advise", self.text("advice", path))
        self.text("diff", path, path)

    def test_incomplete_and_lost_are_said(self):
        its = Builder().record("MPI_Bcast", "a", 1.0).having(incomplete="rank 3 was killed", lost={"records": 12, "sites": 0, "peers": 1})
        its.document["per_rank"].pop()
        path = self.file(its)
        for command in ("show", "overlap", "advice"):
            lines = self.text(command, path).splitlines()
            self.assertEqual(lines[:4], ["CAUTION: incomplete: rank 3 was killed",
                                         "CAUTION: lost: 12 records did not fit into the recorder's memory and are missing here",
                                         "CAUTION: lost: 1 peers did not fit into the recorder's memory and are missing here",
                                         "CAUTION: incomplete: 3 of 4 ranks are in the recording"])
        self.assertEqual(len(self.json("show", path)["cautions"]), 4)

    def test_large(self):
        """10,000 call sites and 100,000 records in seconds."""
        its = Builder(ranks=64, nodes=8)
        for i in range(10000):
            its.site(f"{i}")
        its.document["sites"] = [{"frames": [[0, 4096 + 16 * i]]} for i in range(10000)]
        call = its.call("MPI_Allreduce")
        its.document["records"] = [{"call": call, "site": i % 10000, "comm": 0, "type": "MPI_DOUBLE", "op": "MPI_SUM", "memory": "host", "bin": i // 10000,
                                    "ranks": 64, "count": 64, "bytes": 64 * 2**(i // 10000), "time_s": 1e-3, "min_s": 1e-6, "max_s": 1e-4,
                                    "rank_min_s": 1e-5, "rank_max_s": 2e-5, "histogram": [[14, 60], [15, 4]]} for i in range(100000)]
        path = self.file(its)
        began = time.process_time()
        self.assertIn("... and 9980 more", self.text("show", path))
        self.assertIn("Nothing", self.text("advice", path))
        self.assertLess(time.process_time() - began, 60) # six seconds where this was written, ten times that in the worst hour


if __name__ == "__main__":
    unittest.main()
