"""The pictures: all there, as wide as they should be, text that is text and does not overlap, the same bytes
each time, and what is left when parts of a file are missing."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import readable
from harness import DATA, ROOT, SMALL_TUNE, ReportCase, small_tune

from hanpmpi_report import style

ALL = [*sorted(DATA.glob("*.json")), *(ROOT / "docs" / "results" / f"{name}.json" for name in ("cluster_openmpi", "node_openmpi"))]
TUNE_AND_RULES = DATA / "tune_4_nodes.json", DATA / "rules.json"


class Pictures(ReportCase):
    once = None # the folder of drawn()

    def test_all(self):
        figures, save = {}, style.save

        def keep(figure, directory, name):
            save(figure, directory, name)
            figures[name] = figure
        narrow = [{"collective": "allreduce", "nodes": [2, None], "bytes": [2**i, 2**(i + 1) - 1], "algorithm": "recursive_doubling",
                   "segment_bytes": 1024 << i % 3} for i in range(14)]
        with mock.patch.object(style, "save", keep):
            text, _ = self.report(*ALL, self.file({"rules": narrow}, "narrow.json"))
        self.assertGreater(len(figures), 20)
        for name, figure in figures.items():
            readable.check(self, name, figure, drawn=True)
        names = re.findall(r"^\[!\[[^\]]+\]\(([\w.-]+)\.png\)\]\(\1\.svg\)$", text, re.M)
        self.assertEqual(len(names), text.count("!["))
        self.files(names)
        for part in ("_time_bcast", "_predictions_bcast", "_searches", "_choices_bcast"):
            self.assertIn("tune_4_nodes" + part, names)
        for name in ("choice_map_bcast", "rules_choice_map_bcast"):
            self.assertIn(name, names)

    def files(self, names):
        self.assertEqual(sorted(path.name for path in self.output.iterdir()),
                         sorted(["report.md", *(name + kind for name in names for kind in (".png", ".svg"))]))
        for name in names:
            width, height = struct.unpack(">II", (self.output / (name + ".png")).read_bytes()[16:24])
            self.assertEqual(width, 900, name)
            self.assertTrue(150 < height < 1000, (name, height))
            svg = (self.output / (name + ".svg")).read_text()
            self.assertIn("<text", svg, "text is text")
            self.assertNotIn("<dc:date>", svg)

    def test_rotated_size_labels_have_room(self):
        """Labels at 30 degrees touch when ticks are closer than a line's height by the sine of 30."""
        _, (plot, _) = style.figure(4, columns=2)
        sizes = [2**i for i in range(2, 25)]
        style.size_axis(plot, sizes)
        plot.set_xlim(sizes[0], sizes[-1])
        places = [plot.transData.transform((size, 1))[0] for size in plot.get_xticks()]
        self.assertLessEqual(len(places), style.MOST_TICKS)
        self.assertGreater(min(b - a for a, b in zip(places, places[1:])), style.SMALL_POINTS * style.DPI / 72 / 0.5)

    def drawn(self):
        """The folder of a report of TUNE_AND_RULES, drawn once for those that look at it."""
        if not Pictures.once:
            self.report(*TUNE_AND_RULES)
            Pictures.once = tempfile.TemporaryDirectory()
            self.addClassCleanup(Pictures.once.cleanup)
            shutil.copytree(self.output, Pictures.once.name, dirs_exist_ok=True)
        return Path(Pictures.once.name)

    def test_units(self):
        svg = (self.drawn() / "tune_4_nodes_time_bcast.svg").read_text()
        for text in ("4 B", "1 KiB", "1 MiB", "100 us", "1 ms", "message size", "time of the slowest rank", "host MPI", "lower bound"):
            self.assertIn(f">{text}<", svg)

    def test_same_bytes_each_time(self):
        """Of this process, whose strings have another order in sets, and of one of its own."""
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        subprocess.run([sys.executable, "-m", "hanpmpi_report", *TUNE_AND_RULES, "--output", self.folder / "other"], check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed}, stderr=subprocess.DEVNULL, timeout=300)
        first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (self.drawn(), self.folder / "other"))
        self.assertGreater(len(first), 10)
        self.assertEqual([name for name in first if first[name] != second.get(name)], [])

    def test_users_settings_of_matplotlib_do_not_matter(self):
        self.report(DATA / "rules.json")
        before = (self.output / "rules_choice_map_bcast.svg").read_bytes()
        import matplotlib
        matplotlib.rcParams.update({"font.size": 20, "svg.fonttype": "path", "axes.facecolor": "black"})
        self.report(DATA / "rules.json")
        self.assertEqual((self.output / "rules_choice_map_bcast.svg").read_bytes(), before)


class MissingParts(ReportCase):
    draws = False
    KINDS = {"time": "_time_bcast", "predictions": "_predictions_bcast", "searches": "_searches", "choices": "_choices_bcast",
             "map": "choice_map_bcast"}

    def check(self, gone, said, **changes):
        """Only the pictures in `gone` are not drawn, and what is missing is said on stderr and in
        report.md."""
        text, err = self.report(self.file(small_tune(**changes)))
        drawn = {path.stem.replace("tune", "", 1) for path in self.output.glob("*.svg")}
        self.assertEqual(drawn, {name for kind, name in self.KINDS.items() if kind not in gone})
        for line in said:
            self.assertIn(line, err)
            self.assertIn(line, text.split("## Not shown")[1])

    def test_nothing_missing(self):
        text, err = self.report(self.file(SMALL_TUNE))
        self.assertNotIn("Not shown", text)
        self.assertEqual(err, f"hanpmpi_report: {self.output}/report.md: 5 pictures\n")

    def test_predicted(self):
        self.check(["predictions"], ["no \"predicted\": predictions are not shown"], predicted=None)

    def test_measured(self):
        self.check(["predictions"], ["no \"measured\": the best forced", "no \"measured\": predictions", "without median, mean and best"],
                   measured=[])

    def test_searches(self):
        self.check(["searches"], ["no \"searches\""], searches=[])

    def test_exhaustive_search(self):
        self.check([], ["no exhaustive search"], searches=SMALL_TUNE["searches"][1:])

    def test_choices(self):
        self.check(["choices"], ["no \"choices\": hanpmpi's time", "no \"choices\": what the searches chose"], choices=None)

    def test_limits(self):
        self.check([], ["no \"limits\": the lower bound is not shown"], limits=None)
        self.assertNotIn("| lower bound", (self.output / "report.md").read_text())

    def test_one_limit(self):
        self.check([], ["no link_bytes_per_us, copy_bytes_per_us, inside_us in \"limits\""], limits={"between_us": 3.0})

    def test_host(self):
        self.check([], ["no \"host\", and nothing native"], host=None,
                   measured=[row for row in SMALL_TUNE["measured"] if row["configuration"] != "native"])

    def test_nothing_predicted_that_was_measured(self):
        self.check(["predictions"], ["nothing of bcast is both predicted and measured"],
                   predicted=[{**SMALL_TUNE["predicted"][0], "bytes": 77}])

    def test_everything(self):
        code, _, err = self.run_report(self.file({name: SMALL_TUNE[name] for name in ("program", "layout")}))
        self.assertEqual(code, 1)
        self.assertIn("nothing to show", err)

    def test_one_size_is_a_table(self):
        few = {name: [row for row in SMALL_TUNE[name] if row["bytes"] == 1024] for name in ("measured", "predicted", "choices", "host")}
        text, _ = self.report(self.file(small_tune(**few)))
        self.assertFalse((self.output / "tune_time_bcast.svg").exists())
        self.assertIn("| 1 KiB | 104.0 |", text)

    def test_barrier(self):
        rows = [{"collective": "barrier", "bytes": 0, "configuration": name, "us": us} for name, us in (("flags", 3.0), ("native", 4.0))]
        text, _ = self.report(self.file(small_tune(
            configurations=[{"id": "flags", "collective": "barrier", "algorithm": "flags"}], measured=rows, predicted=[], host=[],
            choices=[{"search": "task", **rows[0], "best_us": 3.0}])))
        self.assertIn("| 0 B | 3.0 | 4.0 |", text)


if __name__ == "__main__":
    unittest.main()
