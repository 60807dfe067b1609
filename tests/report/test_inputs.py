"""What hanpmpi_report accepts and refuses, and how it says so."""
import json
import re
import unittest

from harness import DATA, ROOT, SMALL_TUNE, ReportCase, small_tune


def changed(which, i, **changes):
    """SMALL_TUNE with row i of a list changed; None takes a member out."""
    document = small_tune()
    row = {**document[which][i], **changes}
    document[which][i] = {key: value for key, value in row.items() if value is not None}
    return document


def bench(**changes):
    times = {"t_max_us": {"q1": 1.0, "median": 2.0, "q3": 3.0}}
    return {"program": "hanpmpi_bench", "nodes": [{"ranks": 2}],
            "rows": [{"collective": "bcast", "bytes": 8, "bound": {"us": 1.0}, "host": times, "library": times, **changes}]}


BAD = {
    "no JSON": ("{", "is no JSON", "accepted are tune.json"),
    "not even text": ("\0\1", "is no JSON"),
    "deeply nested": ("[" * 100000, "is no JSON"),
    "a list": ([1], "holds something else", "accepted are tune.json", "hanpmpi_bench --json", "rules"),
    "another program": ({"program": "hanpmpi_noise"}, "holds \"program\": \"hanpmpi_noise\"", "accepted are tune.json"),
    "a program that is no text": ({"program": ["hanpmpi_tune"]}, "accepted are tune.json"),
    "a trace": ({"traceEvents": []}, "holds something else"),
    "no layout": (small_tune(layout=None), "layout: must be an object with nodes, ranks"),
    "half a layout": (small_tune(layout={"nodes": 4}), "layout: ranks is missing"),
    "ranks_per_node": (small_tune(layout={"nodes": 4, "ranks": 4, "ranks_per_node": [4, 2]}), "ranks_per_node must be [least, most]"),
    "limits": (small_tune(limits={"between_us": "30"}), "limits: between_us must be a number above 0, not \"30\""),
    "no list": (small_tune(measured={}), "measured must be a list"),
    "no object": (small_tune(measured=[3]), "measured[0]: must be an object with collective, bytes, configuration, us"),
    "no time": (changed("measured", 1, us=None), "measured[1]: us is missing"),
    "negative time": (changed("measured", 1, us=-1), "measured[1]: us must be a number above 0, not -1"),
    "no number": (json.dumps(changed("measured", 1, us=1.5)).replace("1.5", "NaN"), "measured[1]: us must be a number above 0, not NaN"),
    "a yes for a number": (changed("measured", 1, bytes=True), "measured[1]: bytes must be a whole number, 0 or more, not true"),
    "half a byte": (changed("measured", 1, bytes=0.5), "measured[1]: bytes must be a whole number"),
    "unknown configuration": (changed("measured", 2, configuration="ring"), "measured[2]: no configuration ring of bcast"),
    "unknown collective": (changed("choices", 0, collective="reduce"), "choices[0]: no configuration chain of reduce"),
    "unknown model": (changed("predicted", 0, model="guess"), "predicted[0]: model must be one of lockstep, events, not \"guess\""),
    "unknown search": (changed("searches", 0, name="luck"), "searches[0]: name must be one of exhaustive, heuristic, task"),
    "measured twice": (changed("measured", 1, configuration="chain"), "measured[1]: a second row for bcast, 1024, chain"),
    "an id twice": (changed("configurations", 1, id="chain"), "configurations[1]: a second row for bcast, chain"),
    "bench without rows": ({"program": "hanpmpi_bench", "rows": []}, "has no rows"),
    "bench without bound": (bench(bound=None), "rows[0]: bound: must be an object with us"),
    "bench without host": (bench(host=None), "rows[0]: host: t_max_us: must be an object"),
    "bench without median": (bench(library={"t_max_us": {"q1": 1.0, "q3": 1.0}}), "rows[0]: library: t_max_us: median is missing"),
    "no rules": ({"rules": []}, "has no rules"),
    "a rule without algorithm": ({"rules": [{"collective": "bcast"}]}, "rules[0]: algorithm is missing"),
    "a range that holds for nothing": ({"rules": [{"collective": "bcast", "algorithm": "han", "nodes": [4, 2]}]},
                                       "rules[0]: nodes must be a number or [from, to], null for no end, not [4, 2]"),
    "a negative segment": ({"rules": [{"collective": "bcast", "algorithm": "han", "segment_bytes": -1}]},
                           "rules[0]: segment_bytes must be a whole number, 1 or more, not -1"),
}


class Inputs(ReportCase):
    draws = False

    def test_bad_files(self):
        for name, (document, *wanted) in BAD.items():
            with self.subTest(name):
                path = self.file(document)
                code, out, err = self.run_report(path)
                self.assertEqual((code, out), (1, ""))
                self.assertEqual(err.count("\n"), 1, err)
                for text in (f"hanpmpi_report: {path}: ", *wanted):
                    self.assertIn(text, err)
                self.assertFalse(self.output.exists(), "nothing is written for a bad file")

    def test_one_bad_file_among_good_ones(self):
        code, _, err = self.run_report(self.file(SMALL_TUNE), self.file("{", "bad.json"))
        self.assertEqual(code, 1)
        self.assertIn("bad.json", err)
        self.assertFalse(self.output.exists())

    def test_files_that_are_not_there(self):
        for path, wanted in ((self.folder / "none.json", "No such file"), (self.folder, "Is a directory")):
            code, _, err = self.run_report(path)
            self.assertEqual(code, 1)
            self.assertIn(f"{path}: {wanted}", err)

    def test_output_that_cannot_be_made(self):
        self.output.write_text("a file")
        code, _, err = self.run_report(self.file(SMALL_TUNE))
        self.assertEqual(code, 1)
        self.assertIn(f"{self.output}: File exists; name a folder that can be written with --output", err)

    def test_bad_options(self):
        for arguments in ([], ["--search", "luck", "x.json"], ["--colour", "x.json"]):
            code, out, err = self.run_report(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("usage: hanpmpi_report", err)

    def test_help_and_manual_page(self):
        code, out, _ = self.run_report("--help")
        self.assertEqual(code, 0)
        for text in ("tune.json", "hanpmpi_bench --json", "rules.json", "Exit code: 0"):
            self.assertIn(text, out)
        options = set(re.findall(r"--[a-z]+", out.split("options:")[1]))
        self.assertLessEqual({"--help", "--output", "--search", "--version"}, options)
        page = (ROOT / "docs" / "hanpmpi_report.1").read_text().replace("\\-", "-")
        self.assertEqual([option for option in options if option not in page], [])

    def test_format_text_names_all_members(self):
        from hanpmpi_report import inputs
        text = (ROOT / "tuning" / "tune" / "FORMAT.md").read_text()
        names = {name for needed, allowed in inputs.LISTS.values() for name in {**needed, **allowed}}
        names |= set(inputs.LISTS) | set(inputs.LIMITS) | set(inputs.MODELS) | set(inputs.SEARCHES)
        self.assertEqual([name for name in sorted(names) if f"`{name}`" not in text], [])

    def test_the_example_of_the_format_is_accepted(self):
        text = (ROOT / "tuning" / "tune" / "FORMAT.md").read_text()
        example = text.split("```json\n")[1].split("```")[0]
        report, _ = self.report(self.file(example))
        self.assertIn("han-chain-shm-32K", report)

    def test_unknown_members_do_not_matter(self):
        document = {**changed("measured", 0, comment="new"), "extra": {"a": 1}}
        self.assertEqual(self.report(self.file(document))[0], self.report(self.file(SMALL_TUNE))[0])

    def test_files_of_one_name_have_pictures_of_their_own(self):
        (self.folder / "other").mkdir()
        second = self.folder / "other" / "tune.json"
        second.write_text(json.dumps(small_tune(layout={"nodes": 8, "ranks_per_node": [1, 1], "ranks": 8})))
        text, _ = self.report(self.file(SMALL_TUNE), second)
        for name in ("tune_time_bcast.svg", "tune-2_time_bcast.svg"):
            self.assertTrue((self.output / name).exists(), name)
            self.assertIn(f"({name})", text)

    def test_all_kinds_at_once(self):
        text, _ = self.report(DATA / "tune_4_nodes.json", DATA / "rules.json", ROOT / "docs" / "results" / "cluster_openmpi.json")
        for kind in ("hanpmpi_tune", "hanpmpi_bench", "rules"):
            self.assertIn(f"| {kind} |", text)


if __name__ == "__main__":
    unittest.main()
