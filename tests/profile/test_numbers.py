"""Sums, shares and words, against ones computed by hand."""
import unittest

from builder import Builder, rich
from harness import ProfileCase

from hanpmpi_profile.views import bars, size_time
from hanpmpi_profile.words import bin_text, count_text, seconds_text, size_text


def two_sites():
    """4 ranks of 10 s: of 40 s Allreduce has 4 + 2 at two sizes of site a and 1 at site b, Recv 1."""
    its = Builder(ranks=4, run_s=10.0)
    its.record("MPI_Allreduce", "a", 4.0, count=400, bytes_each=8, size_bin=3, rank_max_s=2.0, accelerated=300)
    its.record("MPI_Allreduce", "a", 2.0, count=40, bytes_each=1000, size_bin=10, rank_max_s=0.5, accelerated=0)
    its.record("MPI_Allreduce", "b", 1.0, count=4, bytes_each=100, size_bin=7, accelerated=4)
    its.record("MPI_Recv", "c", 1.0, count=8, bytes_each=16, size_bin=4)
    its.arrival("MPI_Allreduce", "a", 3.0, 1.0, samples=10, late=[[2, 7, 0.7], [1, 3, 0.03]], skew_s=2.0)
    return its


class Sums(ProfileCase):
    def row(self, rows, **wanted):
        return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))

    def setUp(self):
        super().setUp()
        self.path = self.file(two_sites())
        self.found = self.json("show", self.path)

    def test_by_call(self):
        row = self.row(self.found["calls"], call="MPI_Allreduce")
        self.assertAlmostEqual(row["share"], 7 / 40)
        self.assertAlmostEqual(row["process_s"], 7 / 4)
        self.assertAlmostEqual(row["calls_a_process"], 444 / 4)
        self.assertAlmostEqual(row["mean_s"], 7 / 444)
        self.assertAlmostEqual(row["mean_bytes"], (400 * 8 + 40 * 1000 + 4 * 100) / 444)
        # slowest ranks 2 + 0.5 + 0.25, means 1 + 0.5 + 0.25
        self.assertAlmostEqual(row["imbalance"], 2.75 / 1.75)
        # Sampled: 3 of 4 s are waiting, at site a, both sizes; site b was not sampled.
        self.assertAlmostEqual(row["waited"], 0.75)
        self.assertAlmostEqual(row["accelerated"], 304 / 444)
        self.assertIsNone(self.row(self.found["calls"], call="MPI_Recv")["accelerated"])
        self.assertEqual([row["call"] for row in self.found["calls"]], ["MPI_Allreduce", "MPI_Recv"])

    def test_by_site(self):
        self.assertEqual([(row["call"], round(row["share"], 6), row["waited"]) for row in self.found["sites"]],
                         [("MPI_Allreduce", 0.15, 0.75), ("MPI_Allreduce", 0.025, None), ("MPI_Recv", 0.025, None)])

    def test_by_size(self):
        sizes = {(row["call"], row["bin"]): row for row in self.found["sizes"]}
        self.assertEqual(set(sizes), {("MPI_Allreduce", 3), ("MPI_Allreduce", 10), ("MPI_Allreduce", 7), ("MPI_Recv", 4)})
        self.assertAlmostEqual(sizes["MPI_Allreduce", 10]["mean_s"], 2 / 40)
        frequency = {row["bin"]: row["calls_a_process"] for row in self.found["frequency"]}
        self.assertEqual(frequency, {3: 100, 4: 2, 7: 1, 10: 10})

    def test_run_and_library(self):
        self.assertEqual(self.row(self.found["run"], what="in MPI")["value"], "20.0% of it, mean over the ranks")
        self.assertEqual(self.row(self.found["run"], what="MPI calls")["value"], "113 a process")
        row = self.row(self.found["accelerated"], call="MPI_Allreduce")
        # 4 s x 300/400 + 0 + 1 s, of 40
        self.assertAlmostEqual(row["accelerated_s"], 4 / 40)

    def test_cost_of_watching(self):
        def value(*left_out):
            its = Builder(ranks=2).record("MPI_Bcast", "a", 1.0)
            for row, number in zip(its.document["per_rank"], left_out):
                row.update(watch_s=0.1, watches_left_out=number)
            return [row["value"] for row in self.json("show", self.file(its))["run"] if row["what"] == "watching"]

        self.assertEqual(value(), [])
        self.assertEqual(value(0, 0), ["1.0% of it"])
        self.assertEqual(value(0, 1200), ["1.0% of it; 1,200 watches left out, to take no more"])

    def test_threads_in_mpi_at_a_time(self):
        """Two of them, 8 s each of a run of 10 s: that is said, and no time is negative."""
        its = Builder(ranks=2).record("MPI_Recv", "a", 32.0).having(thread_level="MPI_THREAD_MULTIPLE", threads_seen=2)
        found = self.json("show", "--all", self.file(its))
        self.assertEqual(self.row(found["ranks"], what="outside MPI")["mean_s"], 0.0)
        self.assertTrue(found["cautions"][0].startswith("2 threads of a process call MPI: their times in MPI are summed"), found["cautions"])
        self.assertEqual(self.row(self.json("diff", self.folder / "run.json", self.folder / "run.json")["run"], what="outside MPI, mean rank")["a_s"], 0.0)
        self.json("advice", self.folder / "run.json")
        self.assertEqual(self.json("show", self.file(its.having(thread_level="MPI_THREAD_SERIALIZED")))["cautions"], [])

    def test_arrival(self):
        row, = self.found["arrival"]
        self.assertEqual((row["waited"], row["samples"]), (0.75, 10))
        self.assertAlmostEqual(row["skew_mean_s"], 0.2)
        self.assertEqual(row["last"], "rank 2: 7 times, by 100 ms, rank 1: 3 times, by 10.0 ms")

    def test_own_size_is_asked_first(self):
        its = two_sites().arrival("MPI_Allreduce", "a", 0.0, 4.0, size_bin=10)
        waited = {row["bin"]: row["waited"] for row in self.json("show", self.file(its))["sizes"] if row["call"] == "MPI_Allreduce"}
        self.assertEqual(waited, {3: 0.75, 10: 0.0, 7: None})

    def test_terminal(self):
        text = self.text("show", self.path)
        self.assertRegex(text, r"MPI_Allreduce +17\.5% +1\.75 s +111 +15\.8 ms +500 ms +98 B +1\.57 +75\.0% +68\.5%")
        self.assertIn("Calls and operations at a time", self.text("show", "--all", self.file(rich())))
        self.assertIn("... and 1 more (--most 0 shows all)", self.text("show", "--most", "2", self.path))
        self.assertNotIn("more (", self.text("show", "--most", "0", self.path))

    def test_latency(self):
        its = Builder(ranks=1, nodes=1).record("MPI_Bcast", "a", 1.0, count=100, histogram=[[10, 89], [12, 10], [20, 1]])
        row, = self.json("show", self.file(its))["latency"]
        self.assertEqual([row[key] for key in ("half", "nine_tenths", "all_but_1_percent")], [1024e-9, 4096e-9, 4096e-9])

    def test_ranks_waits_peers(self):
        found = self.json("show", self.file(rich()))
        waits = found["waits"]
        self.assertEqual([(round(row["under_way"], 4), row["share"]) for row in waits], [(round(0.1 / 3.1, 4), 3 / 160), (0.6667, 2 / 160)])
        self.assertEqual(found["peers"][0]["bytes"], 4096000)
        self.assertAlmostEqual(sum(row["of_messages"] for row in found["peers"]), 1)
        self.assertEqual(found["unexpected"], [{"samples": 400, "with_any": 0.25, "mean": 2.5, "most": 21}])
        self.assertEqual([row["calls"] for row in found["simultaneous"]], [90000, 9000, 700])
        self.assertEqual([(row["name"], row["made"]) for row in found["communicators"]], [("MPI_COMM_WORLD", 1), ("rows", 4), ("unnamed", 120)])

    def test_what_is_none(self):
        """The recorder's rows for no communicator, no type and no known call site."""
        its = Builder().record("MPI_Waitall", "a", 1.0, type="", op="", comm=1).record("MPI_Bcast", "a", 1.0)
        its.document["communicators"].append({"name": "", "size": 0, "made": 0})
        its.document["sites"][0] = {"frames": []}
        found = self.json("show", self.file(its))
        self.assertEqual([row["name"] for row in found["communicators"]], ["MPI_COMM_WORLD"])
        self.assertEqual([row["type"] for row in found["types"]], ["MPI_DOUBLE"])
        self.assertEqual({row["site"] for row in found["sites"]}, {"unknown"})

    def test_nobody_is_alone_with_the_time(self):
        its = Builder(ranks=2, nodes=1).record("MPI_Bcast", "a", 2.0)
        its.document["per_rank"][1].update(run_s=12.0, mpi_s=0.0)
        rows = {row["what"]: row for row in self.json("show", self.file(its))["ranks"]}
        self.assertEqual((rows["outside MPI"]["most_s"], rows["outside MPI"]["most_rank"], rows["outside MPI"]["least_s"]), (12.0, 1, 9.0))
        self.assertAlmostEqual(rows["outside MPI"]["more"], 12 / 10.5 - 1)


class Differences(ProfileCase):
    def test_diff(self):
        a, b = two_sites(), two_sites()
        b.document["records"][0]["time_s"] = 8.0
        b.record("MPI_Barrier", "new", 0.4)
        for rank in b.document["per_rank"]:
            rank["run_s"] = 11.0
        found = self.json("diff", self.file(a, "a.json"), self.file(b, "b.json"))
        self.assertEqual(found["run"][0]["difference_s"], 1.0)
        first, second = found["sites"][:2]
        self.assertEqual((first["call"], first["where"]), ("MPI_Allreduce", "both"))
        self.assertAlmostEqual(first["difference_s"], 1.0) # 4 s more of 4 ranks
        self.assertAlmostEqual(first["change"], 10 / 6 - 1)
        self.assertAlmostEqual(first["of_run"], 0.1)
        self.assertEqual((second["call"], second["where"], second["change"]), ("MPI_Barrier", "only in B", None))
        text = self.text("diff", self.folder / "a.json", self.folder / "b.json")
        self.assertRegex(text, r"MPI_Allreduce .* 1\.50 s +2\.50 s +\+1\.00 s +\+66\.7%")


class Words(unittest.TestCase):
    def test_short_ones_in_pictures(self):
        self.assertEqual([size_time.short(s) for s in (4e-8, 9.99e-7, 12.34e-6, 0.00456, 0.4667, 1.194, 467, 86400)],
                         ["<1us", "1.0us", "12us", "4.6ms", "467ms", "1.2s", "467s", "9e4"])
        self.assertEqual([bars.site_name("MPI_Send", name) for name in ("solve (a.c:3)", "LAMMPS_NS::GridComm::forward_comm+0x311 (liblammps.so.0)",
                                                                        "LAMMPS_NS::GridComm::forward_comm_of_all+0x311 (liblammps.so.0)")],
                         ["Send  solve (a.c:3)", "Send  …MMPS_NS::GridComm::forward_comm+0x311", "Send  …::GridComm::forward_comm_of_all+0x311"])

    def test_times(self):
        self.assertEqual([seconds_text(s) for s in (0, 1.5e-9, 9.996e-7, 12.34e-6, 0.00456, 0.9996, 12.3, 1234.5, None)],
                         ["0 s", "1.50 ns", "1.00 us", "12.3 us", "4.56 ms", "1.00 s", "12.3 s", "1,234 s", "-"])

    def test_sizes_and_counts(self):
        self.assertEqual([size_text(count) for count in (0, 8, 339.1, 2848, 65536, 1e9, None)],
                         ["0 B", "8 B", "339 B", "2.78 KiB", "64 KiB", "954 MiB", "-"])
        self.assertEqual([bin_text(which) for which in (-1, 0, 10)], ["none", "1 B", "1 KiB"])
        self.assertEqual([count_text(count) for count in (3, 0.5, 1234567, 12.34)], ["3", "0.50", "1,234,567", "12.3"])


if __name__ == "__main__":
    unittest.main()
