"""The numbers of report.md, against ones computed by hand, and the lower bound against hanpmpi_bench's
own."""
import copy
import json
import unittest

from harness import DATA, ROOT, SMALL_TUNE, ReportCase, small_tune

from hanpmpi_report.bounds import lower_bound
from hanpmpi_report.configurations import Configuration, bytes_text, colors, shade
from hanpmpi_report.inputs import read
from hanpmpi_report.pictures.choice_map import edges, from_text
from hanpmpi_report.style import time_text

RESULTS = ROOT / "docs" / "results"


class InPictures(ReportCase):
    def test_of_a_tuner_run(self):
        self.report(self.file(SMALL_TUNE))
        picture = (self.output / "tune_predictions_bcast.svg").read_text()
        self.assertIn("lock-step model: median error 30.0%, 4 points", picture)
        self.assertIn("event model: median error 5.5%, 2 points", picture)
        picture = (self.output / "tune_searches.svg").read_text()
        self.assertIn("53.6 s (26.8%), 40 measurements", picture)
        self.assertIn("200 s (100.0%), 160 measurements", picture)

    def test_what_is_passed_through_is_said(self):
        self.report(RESULTS / "cluster_openmpi.json")
        self.assertIn("hanpmpi, passed through", (self.output / "cluster_openmpi_time_bcast.svg").read_text())
        self.assertNotIn("passed through", (self.output / "cluster_openmpi_time_reduce.svg").read_text())


class OfATunerRun(ReportCase):
    draws = False
    reported = None # what all tests here look at, laid out once

    def setUp(self):
        super().setUp()
        if not OfATunerRun.reported:
            OfATunerRun.reported = self.report(self.file(SMALL_TUNE))
        self.text, self.said = OfATunerRun.reported

    def test_times_against_size(self):
        rows = self.rows(self.text, "bcast: time against message size", "size")
        # The bound of 1 KiB: 2 rounds between nodes, 20 us; the link 1024 / 100; the memory 2 (4 - 1) 1024 /
        # 1000; of 4 KiB the link, 40.96.
        self.assertEqual(list(rows["1 KiB"].values()), ["1 KiB", "104.0", "416.0", "100.0", "4.00", "0.96", "20.0", "0.19"])
        self.assertEqual(list(rows["4 KiB"].values()), ["4 KiB", "600.0", "1,200.0", "500.0", "2.00", "0.83", "41.0", "0.07"])

    def test_median_errors(self):
        rows = self.rows(self.text, "bcast: predicted against measured", "model")
        # lock-step: 50%, 10%, 90%, 10%; events: 10%, 1%
        self.assertEqual(list(rows["lock-step model"].values()), ["lock-step model", "4", "30.0%", "90.0%", "50.0%"])
        self.assertEqual(list(rows["event model"].values()), ["event model", "2", "5.5%", "10.0%", "100.0%"])

    def test_errors_of_each_configuration(self):
        rows = self.rows(self.text, "bcast: predicted against measured", "configuration")
        self.assertEqual(list(rows["chain"].values()), ["chain", "chain, 8 KiB, shm", "2", "30.0%", "50.0%", "10.0%", "10.0%"])
        self.assertEqual(list(rows["linear"].values()), ["linear", "linear, 32 KiB, shm", "1", "90.0%", "90.0%", "", ""])
        self.assertEqual(list(rows), ["chain", "binary", "linear"])

    def test_search_times(self):
        rows = self.rows(self.text, "Time of the searches", "search")
        self.assertEqual(list(rows["exhaustive"].values()), ["exhaustive", "200.0", "100.0%", "160"])
        self.assertEqual([row["of exhaustive"] for row in rows.values()], ["100.0%", "26.8%", "23.0%", "4.3%"])

    def test_searches_that_had_no_time(self):
        """A run that ends before its searches begin is a valid one."""
        rows = [{"name": "exhaustive", "seconds": 0.0, "measurements": 0}, {"name": "task", "seconds": 0.0, "measurements": 0}]
        found = self.rows(self.report(self.file(small_tune(searches=rows)))[0], "Time of the searches", "search")
        self.assertEqual(list(found["tasks"].values()), ["tasks", "0.0", "", "0"])

    def test_choices(self):
        rows = self.rows(self.text, "bcast: what the searches choose", "size")
        # best, median, mean of 100, 200, 600, 400 and of 1000, 500, 800, 900
        self.assertEqual(list(rows["1 KiB"].values()), ["1 KiB", "100.0", "300.0", "325.0", "chain +0.0%", "chain +0.0%"])
        self.assertEqual(list(rows["4 KiB"].values()), ["4 KiB", "500.0", "850.0", "800.0", "binary +0.0%", "linear +20.0%"])
        rows = self.rows(self.text, "bcast: what the searches choose", "search")
        self.assertEqual(list(rows["tasks"].values()), ["tasks", "2", "+10.0%", "+20.0%"])

    def test_whose_choice_is_ours(self):
        text, _ = self.report(self.file(SMALL_TUNE), options=["--search", "exhaustive"])
        self.assertEqual(self.rows(text, "bcast: time against message size", "size")["4 KiB"]["hanpmpi (us)"], "510.0")
        text, said = self.report(self.file(SMALL_TUNE), options=["--search", "heuristic"])
        self.assertIn("no \"choices\" of the search heuristic", said)
        self.assertNotIn("hanpmpi (us)", text)
        self.assertNotIn("the choice over message size", text)

    def test_host_time_from_native(self):
        text, _ = self.report(self.file(small_tune(host=None)))
        self.assertEqual(self.rows(text, "bcast: time against message size", "size")["1 KiB"]["host MPI (us)"], "400.0")

    def test_map_of_choices(self):
        more = copy.deepcopy(SMALL_TUNE)
        more["layout"] = {"nodes": 2, "ranks_per_node": [1, 1], "ranks": 2}
        more["choices"][3]["configuration"] = "native"
        text, _ = self.report(self.file(SMALL_TUNE, "four.json"), self.file(more, "two.json"))
        rows = self.rows(text, "bcast: the choice over message size and nodes", "")
        self.assertEqual([list(row.values()) for row in rows.values()], [
            ["2 nodes x 1 rank", "chain, 8 KiB, shm", "host MPI"], ["4 nodes x 2 to 4 ranks", "chain, 8 KiB, shm", "linear, 32 KiB, shm"]])

    def test_map_without_choices_shows_the_best(self):
        text, _ = self.report(self.file(small_tune(choices=None)))
        self.assertIn("search: best of what was measured", text)
        row = list(self.rows(text, "bcast: the choice over message size and nodes", "").values())[0]
        self.assertEqual((row["1 KiB"], row["4 KiB"]), ("chain, 8 KiB, shm", "binary, 32 KiB, shm"))


class OfRules(ReportCase):
    draws = False

    def test_map(self):
        text, _ = self.report(DATA / "rules.json")
        rows = self.rows(text, "bcast: what the rules choose", "")
        self.assertEqual(list(rows), ["1 node", "2 to 4 nodes", "5 to 16 nodes", "17 and more nodes"])
        self.assertEqual(list(rows["1 node"])[1:], ["from 1 B", "from 4 KiB", "from 8 KiB", "above 16 KiB", "from 32 KiB", "from 64 KiB",
                                                    "from 512 KiB"])
        self.assertEqual(list(rows["2 to 4 nodes"].values())[1:4], ["built-in rules", "linear, 32 KiB, shm*", "linear, 32 KiB, shm*"])
        self.assertEqual(rows["1 node"]["from 8 KiB"], "flags")
        self.assertEqual(rows["1 node"]["above 16 KiB"], "single_copy, 128 KiB")
        self.assertEqual(rows["5 to 16 nodes"]["from 512 KiB"], "double_tree, 16 KiB, shm")

    def test_first_match_wins(self):
        rule = {"collective": "bcast", "algorithm": "han", "shapes": "node:chain"}
        rules = [{**rule, "bytes": [100, 199], "segment_bytes": 1024}, {**rule, "bytes": [0, None], "segment_bytes": 2048}]
        text, _ = self.report(self.file({"rules": rules}))
        rows = self.rows(text, "bcast: what the rules choose", "")
        self.assertEqual(list(rows), ["1 node", "2 and more nodes"])
        self.assertEqual(list(rows["2 and more nodes"].values())[1:], ["chain, 2 KiB", "chain, 1 KiB", "chain, 2 KiB"])

    def test_no_rule_holds(self):
        """Then the built-in rules decide, as hanpmpi_info --explain says, and not the host MPI."""
        rule = {"collective": "bcast", "algorithm": "native", "nodes": 2, "bytes": ["4K", "64 KiB"]}
        text, _ = self.report(self.file({"rules": [rule, {**rule, "nodes": [3, None], "bytes": None}]}))
        rows = self.rows(text, "bcast: what the rules choose", "")
        self.assertEqual(list(rows), ["1 node", "2 nodes", "3 and more nodes"])
        self.assertEqual(set(list(rows["1 node"].values())[1:]), {"built-in rules"})
        self.assertEqual(list(rows["2 nodes"].values())[1:], ["built-in rules", "host MPI", "built-in rules"])
        self.assertEqual(list(rows["2 nodes"])[1:], ["from 1 B", "from 4 KiB", "above 64 KiB"])
        self.assertEqual(set(list(rows["3 and more nodes"].values())[1:]), {"host MPI"})

    def test_edges(self):
        self.assertEqual(edges([(1, 4), (2, 2**64 - 1), (8, 9)], 1), [1, 2, 5, 8, 10])
        self.assertEqual([from_text(size) for size in (1, 1024, 16385)], ["from 1 B", "from 1 KiB", "above 16 KiB"])


class OfTheBenchmark(ReportCase):
    draws = False

    def test_table_is_what_the_file_says(self):
        path = RESULTS / "cluster_openmpi.json"
        text, _ = self.report(path)
        for row in (row for row in json.loads(path.read_text())["rows"] if row["collective"] == "reduce"):
            shown = self.rows(text, "reduce: time against message size", "size")[bytes_text(row["bytes"])]
            ours, host = (row[side]["t_max_us"]["median"] for side in ("library", "host"))
            self.assertEqual(list(shown.values())[1:], [f"{ours:,.1f}", f"{host:,.1f}", f"{host / ours:.2f}", f"{row['bound']['us']:,.1f}",
                                                        f"{row['library']['reached']:.2f}"])

    def test_lower_bound_is_the_benchmark_s(self):
        compared = 0
        for name in ("cluster_openmpi", "node_openmpi", "node_mpich"):
            document = json.loads((RESULTS / f"{name}.json").read_text())
            ranks = [node["ranks"] for node in document["nodes"]]
            layout = {"nodes": len(ranks), "ranks": sum(ranks), "ranks_per_node": [min(ranks), max(ranks)]}
            measured = document["limits"]
            for row in (row for row in document["rows"] if row["collective"] != "barrier"):
                limits = {"inside_us": measured["node_latency_us"], "copy_bytes_per_us": row["bound"]["copy_bytes_per_second"] / 1e6}
                if measured["link_bytes_per_second"]:
                    limits.update(between_us=measured["link_latency_us"], link_bytes_per_us=measured["link_bytes_per_second"] / 1e6)
                bound = lower_bound(row["collective"], row["bytes"], layout, limits)
                self.assertAlmostEqual(bound / row["bound"]["us"], 1, 6, (name, row["collective"], row["bytes"]))
                compared += 1
        self.assertGreater(compared, 50)

    def test_forced_runs_give_the_best(self):
        plain = json.loads((RESULTS / "cluster_openmpi.json").read_text())
        forced = []
        for share, hints, command in ((0.5, ["hanpmpi_bcast=han"], []), (0.8, [], ["--force"])):
            document = copy.deepcopy(plain)
            document["hints"], document["command"] = hints, ["hanpmpi_bench", *command]
            for row in document["rows"]:
                row["library"]["t_max_us"]["median"] *= share
            forced.append(self.file(document, f"forced_{len(forced)}.json"))
        text, _ = self.report(*forced, self.file(plain, "plain.json"))
        rows = self.rows(text, "bcast: time against message size", "size")
        self.assertEqual({row["best forced configuration / hanpmpi"] for row in rows.values()}, {"0.50"})
        self.assertNotIn("## forced_0", text)
        text, _ = self.report(*forced)
        self.assertIn("hanpmpi, forced (us)", text)
        self.assertIn("## forced_1", text)

    def test_host_alone(self):
        document = json.loads((RESULTS / "cluster_openmpi.json").read_text())
        for row in document["rows"]:
            del row["library"]
        text, _ = self.report(self.file(document))
        self.assertEqual(list(self.rows(text, "bcast: time against message size", "size")["16 B"]),
                         ["size", "host MPI (us)", "lower bound (us)", "share: host MPI"])

    def test_variants_are_kept_apart(self):
        text, _ = self.report(RESULTS / "arrival_openmpi.json")
        shares = [self.rows(text, f"bcast: time against message size (MPI_DOUBLE, root 0, warm buffers{more})", "size")["4 MiB"]
                  for more in ("", ", arrival late, skew 1")]
        self.assertNotEqual(shares[0]["hanpmpi (us)"], shares[1]["hanpmpi (us)"])


class Words(unittest.TestCase):
    def test_sizes_and_times(self):
        self.assertEqual([bytes_text(size) for size in (0, 4, 1023, 1024, 1536, 2**20, 3 * 2**30)],
                         ["0 B", "4 B", "1023 B", "1 KiB", "1.5 KiB", "1 MiB", "3 GiB"])
        self.assertEqual([bytes_text(size, space="") for size in (512, 32768, 2**20)], ["512", "32K", "1M"])
        self.assertEqual([time_text(us) for us in (0.1, 100, 2000, 1e6)], ["0.1 us", "100 us", "2 ms", "1 s"])

    def test_partial_limits_lower_the_bound(self):
        layout = {"nodes": 4, "ranks": 16, "ranks_per_node": [4, 4]}
        whole = {"link_bytes_per_us": 100, "copy_bytes_per_us": 1000, "between_us": 10, "inside_us": 1}
        bounds = [lower_bound("allreduce", 2**20, layout, limits) for limits in (whole, {"between_us": 10}, {})]
        self.assertEqual(bounds, [1.5 * 2**20 / 100, 20, None])

    def test_configurations(self):
        row = {"collective": "allreduce", "algorithm": "han", "segment_bytes": 32768, "shapes": "node:chain core:linear",
               "modules": "node:p2p core:shm", "between_nodes": "ring", "trees": 16, "leaders": 1}
        self.assertEqual(Configuration.of(row, False).label, "ring, 32 KiB, shm, 16 trees")
        self.assertEqual(Configuration.of({**row, "between_nodes": "tree"}, False).label, "chain, 32 KiB, shm, 16 trees")
        self.assertEqual(Configuration.of(row, True).label, "shm, 32 KiB, 16 trees")
        self.assertEqual(Configuration.of({**row, "algorithm": "recursive_doubling"}, False).family, "recursive_doubling")
        self.assertEqual(Configuration.of({**row, "algorithm": "native"}, False).label, "host MPI")
        blocks = {"collective": "allgather", "algorithm": "flat", "between_nodes": "ring"}
        self.assertEqual(Configuration.of(blocks, True).label, "ring, flat")
        self.assertEqual(Configuration.of({**blocks, "between_nodes": "tree", "shapes": "node:postal"}, False).label, "postal, flat")
        self.assertEqual(Configuration.of({**blocks, "algorithm": "han", "leaders": 16}, False).label, "ring, 16 leaders")

    def test_each_configuration_has_its_colour(self):
        its = read(DATA / "tune_4_nodes.json")
        every = {its.configuration(*key) for key in its.configurations}
        found = colors(every)
        self.assertEqual(len(set(found.values())), len(every))
        self.assertEqual(found, colors(sorted(every, key=repr, reverse=True)))
        self.assertEqual([shade("#808080", i, 3) for i in range(3)], ["#cccccc", "#808080", "#535353"])


if __name__ == "__main__":
    unittest.main()
