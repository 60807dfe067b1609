"""What could overlap: hidden time, slack, verdicts and the run through the recorded sequence, against ones computed
by hand."""
import json
import unittest

from builder import Builder, rich
from harness import ROOT, ProfileCase

from hanpmpi_profile.efficiency import ASSUMED, CALLS, THREAD, Efficiency
from hanpmpi_profile.overlap import hidden_s
from hanpmpi_profile.recording import read
from hanpmpi_profile.sequence import Conversion, Sequence

RESULTS = ROOT / "docs" / "results"


def one_site(waited=0.0, after_each=None, time_s=8.0, count=400, told=True, **more):
    """4 ranks of 10 s; the site's calls take 20 ms each, 20% of the run."""
    its = Builder(ranks=4, run_s=10.0).record("MPI_Allreduce", "a", time_s, count=count, after_s=None if after_each is None else count * after_each, **more)
    if told:
        its.arrival("MPI_Allreduce", "a", waited, 1 - waited)
    return its


def bench(progress, overlap, collective="allreduce", size=8, extra=1.0):
    times = {"t_max_us": {"q1": 1.0, "median": 2.0, "q3": 3.0}}
    side = {"pure_by_blocking": extra, "with_tests": [{"tests": 20, "overlap_imb": 99.0}, {"tests": 0, "overlap_imb": overlap}]}
    return {"program": "hanpmpi_bench", "nodes": [{"ranks": 2}], "knobs": {"HANPMPI_PROGRESS": "thread"} if progress == THREAD else {},
            "rows": [{"collective": collective, "bytes": size, "bound": {"us": 1.0}, "host": times, "library": times,
                      "overlap": {"host": {"pure_by_blocking": 1.0, "with_tests": [{"tests": 0, "overlap_imb": 1.0}]}, "library": side}}]}


class Hidden(unittest.TestCase):
    def test_hidden(self):
        """hidden = min(efficiency x, s - covered) + covered, covered = min(w, s), less the cost."""
        for waited, transfer, slack, share, cost, wanted in (
                (0, 10, 20, 1.0, 0, 10), (0, 10, 20, 0.5, 0, 5), (0, 10, 3, 0.5, 0, 3), (4, 10, 6, 0.5, 0, 6), (4, 10, 6, 0.1, 0, 5),
                (4, 10, 2, 1.0, 0, 2), (4, 10, 100, 0.5, 1, 8), (0, 1, 1, 0.5, 3, 0)):
            self.assertEqual(hidden_s(waited, transfer, slack, share, cost), wanted, (waited, transfer, slack, share, cost))


class Overlap(ProfileCase):
    def advice(self, its, *options):
        return self.json("overlap", self.file(its), *options)["sites"]

    def measured(self, calls=None, thread=None, **more):
        options = []
        for progress, overlap in ((CALLS, calls), (THREAD, thread)):
            if overlap is not None:
                options += ["--efficiency", self.file(bench(progress, overlap, **more), f"{progress}.json")]
        return options

    def test_gains(self):
        """20 ms a call: 5 wait, 15 transfer, 10 of slack. Covered 5, then min(0.2 x 15, 5) = 3, min(0.9 x 15, 5) = 5."""
        one, = self.advice(one_site(waited=0.25, after_each=0.010), *self.measured(20, 90))
        self.assertAlmostEqual(one["gains"]["bound"], 10e-3 * 400 / 40)
        self.assertAlmostEqual(one["gains"][CALLS], 8e-3 * 400 / 40)
        self.assertAlmostEqual(one["gains"][THREAD], 10e-3 * 400 / 40)
        self.assertEqual(one["verdict"], "convert")
        self.assertEqual(one["how"], "next call")

    def test_cost_as_measured(self):
        """Non-blocking alone takes 1.2 times as long: 0.2 x 20 ms are lost of 10 ms that are hidden."""
        one, = self.advice(one_site(after_each=0.010), *self.measured(90, 90, extra=1.2))
        self.assertAlmostEqual(one["gains"][CALLS], 6e-3 * 400 / 40)

    def test_convert_with_progress_thread(self):
        path = self.file(one_site(after_each=0.030))
        one, = self.json("overlap", path, *self.measured(2, 90))["sites"]
        self.assertEqual(one["verdict"], "convert with progress thread")
        line = self.text("overlap", path, *self.measured(2, 90)).splitlines()[-1]
        self.assertRegex(line, r"^Allreduce app\+0x1610  8 B  20\.0% of run  wait 0% transfer 100%  next MPI call 30\.0 ms after return \(an upper bound of "
                               r"the slack\): MPI_Iallreduce here, MPI_Wait as late as the program can: -18\.0% \(bound -20\.0%, mean rank\), needs "
                               r"HANPMPI_PROGRESS=thread$")

    def test_balance_the_load(self):
        one, = self.advice(one_site(waited=0.7, after_each=0.0001))
        self.assertEqual((one["verdict"], one["reason"]), ("balance the load", "70.0% of it is waiting for ranks that come late, and no slack covers that"))

    def test_no_slack(self):
        for more in ({}, {"accelerated": 400}):
            one, = self.advice(one_site(after_each=1e-6, **more))
            self.assertEqual(one["verdict"], "no slack")
            self.assertEqual(one["gains"]["bound"], 1e-6 * 400 / 40)

    def test_another_algorithm(self):
        one, = self.advice(one_site(after_each=1e-6, accelerated=10))
        self.assertIn("; the library ran 2.5% of the calls: HANPMPI_EXPLAIN=1 says why not more", one["reason"])
        one, = self.advice(one_site(after_each=1e-6, accelerated=0))
        self.assertEqual((one["verdict"], one["reason"]),
                         ("another algorithm", "no slack, 100.0% of it is transfer; the host MPI ran it: try the library, or hanpmpi_tune"))
        one, = self.advice(one_site())
        self.assertEqual((one["verdict"], one["how"], one["slack_s"]), ("another algorithm", "unknown", None))
        self.assertTrue(one["reason"].startswith("slack unknown"))

    def test_point_to_point_without_slack_is_not_known(self):
        one, = self.advice(Builder().record("MPI_Send", "a", 8.0))
        self.assertEqual((one["verdict"], one["how"]), ("not known", "unknown"))

    def test_touch_wins_and_what_lies_before_counts(self):
        its = one_site(after_each=5.0).having(slack=[{"call": 0, "site": 0, "samples": 10, "after_s": 0.03, "before_samples": 5, "before_s": 0.01, "how": "touch"}])
        path = self.file(its)
        one, = self.json("overlap", path, *self.measured(90))["sites"]
        self.assertEqual((one["how"], one["slack_s"], one["before_s"]), ("touch", 0.003, 0.002))
        self.assertAlmostEqual(one["gains"]["bound"], 5e-3 * 400 / 40)
        self.assertIn("first touch 3.00 ms after return (measured): MPI_Iallreduce here, MPI_Wait before the first use of the result", self.text("overlap", path))

    def test_how_slack_is_known(self):
        """What was watched to its end counts, if it is half of the samples; else all of them are a bound."""
        its = one_site().slack("MPI_Allreduce", "a", "untouched", 6, 0.06, 4, 0.02).slack("MPI_Allreduce", "a", "touch", 2, 0.04)
        path = self.file(its.slack("MPI_Allreduce", "a", "next call", 8, 8.0, 5, 5.0))
        one, = self.json("overlap", path)["sites"]
        self.assertEqual((one["how"], one["slack_s"], one["before_s"]), ("untouched", 0.0125, None))
        self.assertIn("not touched before the next MPI call 12.5 ms after return (measured): MPI_Iallreduce here, MPI_Wait before the next MPI call",
                      self.text("overlap", path))
        one, = self.advice(its.slack("MPI_Allreduce", "a", "next call", 1, 0.4))
        self.assertEqual((one["how"], one["before_s"]), ("next call", None))
        self.assertAlmostEqual(one["slack_s"], 8.5 / 17)
        self.assertIn("(an upper bound of the slack)", self.text("overlap", self.folder / "run.json"))
        found = self.json("show", self.folder / "run.json")["slack"]
        self.assertEqual([(row["samples"], row["how"]) for row in found], [(26, "next call")])

    def test_bad_slack(self):
        its = one_site().slack("MPI_Allreduce", "a", "guessed", 1, 0.1)
        code, _, err = self.run_profile("overlap", self.file(its))
        self.assertEqual(code, 1)
        self.assertIn("slack[0]: how must be one of touch, untouched, next call, not \"guessed\"", err)

    def test_waiting_not_told(self):
        path = self.file(one_site(after_each=0.010, told=False))
        self.assertIn("waiting and transfer not told apart", self.text("overlap", path))
        one, = self.json("overlap", path)["sites"]
        self.assertIsNone(one["waited_s"])
        self.assertAlmostEqual(one["transfer_s"], 0.020)

    def test_which_calls(self):
        """Neither what is non-blocking already nor waits, tests and short ones."""
        its = Builder()
        for call in ("MPI_Iallreduce", "MPI_Isend", "MPI_Wait", "MPI_Iprobe", "MPI_Allreduce_init", "MPI_Allreduce_init_c", "MPI_Start", "MPI_Recv", "MPI_Bcast_c"):
            its.record(call, "a", 2.0, after_s=1.0)
        its.record("MPI_Barrier", "b", 0.3)
        self.assertEqual({one["call"] for one in self.advice(its)}, {"MPI_Recv", "MPI_Bcast_c"})
        self.assertIn("MPI_Ibcast here", self.text("overlap", self.folder / "run.json"))

    def test_waits(self):
        found = self.json("overlap", self.file(rich()))["waits"]
        self.assertEqual([row["verdict"] for row in found], ["no slack", "convert with progress thread"])
        text = self.text("overlap", self.folder / "run.json")
        self.assertIn("Isend app+0x35b0 ... Waitall app+0x35b0  1.9% of run in the wait  between 62.5 us wait 1.88 ms: no slack:", text)

    def test_against_a_smaller_run(self):
        small = Builder(ranks=2, run_s=12.0).record("MPI_Allreduce", "a", 1.0)
        text = self.text("overlap", self.file(one_site(after_each=0.01)), "--against", self.file(small, "small.json"))
        self.assertIn("X(2->4) 17.5%", text) # (8 - 1) / 40

    def test_assumed_is_said(self):
        path = self.file(one_site(after_each=0.010))
        self.assertIn("progress in MPI calls: ASSUMED 50%; progress thread: ASSUMED 85% (measure it:", self.text("overlap", path))
        text = self.text("overlap", path, *self.measured(20))
        self.assertIn("progress in MPI calls: measured for allreduce; progress thread: ASSUMED 85%", text)
        self.assertIn("gains are those of the mean rank", text)

    def test_bad_efficiency(self):
        path = self.file(one_site())
        rules = {"rules": [{"collective": "bcast", "algorithm": "flags"}]}
        half = bench(CALLS, 20)
        del half["rows"][0]["overlap"]["library"]["with_tests"]
        for document, wanted in ((rules, "has no figures of overlap; accepted is the output of hanpmpi_bench --overlap --json"), ("{", "is no JSON"),
                                 (bench(CALLS, 101), "overlap of allreduce of 8 bytes, library: overlap_imb must be a number, 0 to 100, not 101"),
                                 (half, "with_tests is missing")):
            code, out, err = self.run_profile("overlap", path, "--efficiency", self.file(document, "bench.json"))
            self.assertEqual((code, out), (1, ""))
            self.assertIn(wanted, err)


class Efficiencies(ProfileCase):
    def test_of_measured_results(self):
        its = Efficiency([RESULTS / "nonblocking_4_hosts_thread.json", RESULTS / "nonblocking_4_hosts_calls.json"])
        rows = json.loads((RESULTS / "nonblocking_4_hosts_thread.json").read_text())["rows"]
        row = next(row for row in rows if (row["collective"], row["bytes"]) == ("allreduce", 1 << 20))
        share, _, measured = its.of(THREAD, "MPI_Allreduce_c", 1200000, 0.01)
        self.assertAlmostEqual(share, row["overlap"]["library"]["with_tests"][0]["overlap_imb"] / 100)
        self.assertTrue(measured)
        self.assertLess(its.of(CALLS, "MPI_Bcast", 4 << 20, 0.01)[0], its.of(THREAD, "MPI_Bcast", 4 << 20, 0.01)[0])

    def test_what_was_not_measured(self):
        self.assertEqual(Efficiency().of(CALLS, "MPI_Bcast", 8, 0.01)[::2], (ASSUMED[CALLS], False))
        its = Efficiency([self.file(bench(CALLS, 30))])
        self.assertEqual(its.of(CALLS, "MPI_Bcast", 8, 0.01), (0.3, 0.0, False), "as the others that were measured")
        self.assertEqual(its.of(THREAD, "MPI_Allreduce", 8, 0.01)[::2], (ASSUMED[THREAD], False))


class OfASequence(ProfileCase):
    """Ranks 0 and 1; kinds: Allreduce at a, Bcast from 0 at b, Reduce to 0 at c."""
    KINDS = [("MPI_Allreduce", "a", 8, -1), ("MPI_Bcast", "b", 8, 0), ("MPI_Reduce", "c", 8, 0), ("MPI_Iallreduce", "d", 8, -1), ("MPI_Wait", "w", 0, -1)]

    def sequence(self, *ranks, skipped=0, kinds=None):
        its = Builder(ranks=len(ranks), nodes=1).record("MPI_Allreduce", "a", 4.0).sequence(kinds or self.KINDS, ranks, skipped=skipped)
        return Sequence(read(str(self.file(its))))

    def converted(self, its, share=1.0, call="MPI_Allreduce", **more):
        return its.run(lambda kind, rank: Conversion(share, **more) if kind.call == call else None)

    def test_as_recorded(self):
        """Rank 1 comes at 3, rank 0 at 1; the transfer takes 1; then both compute 2 and do it again."""
        its = self.sequence([[0, 1.0, 3.0], [0, 2.0, 1.0]], [[0, 3.0, 1.0], [0, 2.0, 1.0]])
        self.assertAlmostEqual(its.run(), 7.0)
        self.assertEqual(its.unmatched, 0)

    def test_converted(self):
        """Rank 0 computes its 2 s between 1 and 3 while it waits, rank 1 between 3 and 5, during which the transfer
        is done; both are needed at 5, 1 s earlier. The last call has nothing behind it."""
        its = self.sequence([[0, 1.0, 3.0], [0, 2.0, 1.0]], [[0, 3.0, 1.0], [0, 2.0, 1.0]])
        self.assertAlmostEqual(self.converted(its), 6.0)
        self.assertAlmostEqual(self.converted(its, share=0.25), 6.75)
        self.assertAlmostEqual(self.converted(its, after_s=0.5), 6.5, msg="half a second of slack")
        self.assertAlmostEqual(self.converted(its, cost_s=0.125), 6.25, msg="each call costs the last rank")

    def test_posted_earlier(self):
        """The transfer is done in the last second before the call; a rank cannot post before its gap begins."""
        its = self.sequence([[0, 3.0, 1.0]], [[0, 3.0, 1.0]])
        self.assertAlmostEqual(self.converted(its, after_s=0.0, before_s=0.75), 3.25)
        self.assertAlmostEqual(self.converted(its, after_s=0.0, before_s=9.0), 3.0)

    def test_each_rank_has_its_slack(self):
        """Rank 1 comes last and has no slack: its second of transfer is not hidden, whatever rank 0 could do."""
        ranks = [[0, 1.0, 3.0], [0, 2.0, 1.0]], [[0, 3.0, 1.0], [0, 2.0, 1.0]]
        its = Builder(ranks=2, nodes=1, run_s=7.0).record("MPI_Allreduce", "a", 6.0, count=4).arrival("MPI_Allreduce", "a", 2.0, 4.0)
        its.sequence([("MPI_Allreduce", "a", 8, -1)], ranks).slack("MPI_Allreduce", "a", "touch", 4, 4.0)
        one, = self.json("overlap", self.file(its))["sites"]
        self.assertAlmostEqual(one["program"]["bound"], 1 / 7, msg="a second of the mean rank")
        for rank, after in enumerate((2.0, 0.0)):
            its.document["sequence"]["ranks"][rank]["slack"] = [[0, 0, "touch", 2, 2 * after, 0, 0.0]]
        one, = self.json("overlap", self.file(its))["sites"]
        self.assertAlmostEqual(one["program"]["bound"], 0.0)
        its.document["sequence"]["ranks"][0]["slack"] = [[0, 9, "touch", 2, 4.0, 0, 0.0]]
        code, _, err = self.run_profile("overlap", self.file(its))
        self.assertEqual(code, 1)
        self.assertIn("sequence: ranks[0]: slack[0]: must be [call, site, how, samples, seconds, samples, seconds]", err)

    def test_slack_of_an_early_rank_gains_nothing(self):
        """Without progress only waiting is covered: rank 0 gains a second by itself, the program nothing, since all
        wait for rank 1."""
        its = self.sequence([[0, 1.0, 3.0], [0, 1.0, 2.0]], [[0, 3.0, 1.0], [0, 2.0, 1.0]])
        self.assertAlmostEqual(its.run(), 7.0)
        self.assertAlmostEqual(self.converted(its, share=0.0), 7.0)
        self.assertAlmostEqual(self.converted(its), 6.0)

    def test_rooted(self):
        """A Bcast's root does not wait; a Reduce's others do not."""
        its = self.sequence([[1, 1.0, 0.5], [2, 1.0, 2.0]], [[1, 0.0, 2.0], [2, 2.5, 0.5]])
        self.assertAlmostEqual(its.run(), 5.0)
        # Rank 0 waits in the Reduce until rank 1 comes, at 4.5; rank 1 in the Bcast until the root comes, at 1, and a
        # second for the data.
        self.assertEqual([meeting.transfers for meeting in its.meetings], [{0: 0.5, 1: 1.0}, {0: 0.0, 1: 0.5}])
        self.assertAlmostEqual(self.converted(its, call="MPI_Bcast"), 3.0, msg="rank 1 computes while the data comes")

    def test_non_blocking_already(self):
        its = self.sequence([[3, 1.0, 0.0], [4, 2.0, 0.5, 0]], [[3, 2.0, 0.0], [4, 1.0, 0.5, 0]])
        self.assertAlmostEqual(its.run(), 3.5)

    def test_from_the_end_where_calls_were_overwritten(self):
        """Rank 1 has lost its first call: the last ones belong together."""
        its = self.sequence([[0, 1.0, 1.0], [0, 1.0, 1.0]], [[0, 5.0, 1.0]], skipped=3)
        self.assertAlmostEqual(its.run(), 6.0)

    def test_a_partner_that_is_missing(self):
        its = self.sequence([[0, 1.0, 1.0], [0, 1.0, 1.0]], [[0, 1.0, 1.0]])
        self.assertAlmostEqual(its.run(), 4.0)
        self.assertEqual(its.unmatched, 1)

    def test_efficiency_of_all_blocks(self):
        """A call of two blocks of 1 MiB is as efficient as those of the benchmark's blocks of 1 MiB, by the mean rank and by the sequence."""
        document = bench(CALLS, 80, "alltoallv", size=1 << 20)
        document["rows"].append(bench(CALLS, 10, "alltoallv", size=2 << 20)["rows"][0])
        document["rows"].append(bench(CALLS, 0, "alltoallv", size=8)["rows"][0])
        its = Builder(ranks=2, nodes=1, run_s=7.0).record("MPI_Alltoallv", "a", 4.0, count=2, bytes_each=2 << 20, size_bin=21, after_s=4.0)
        its.sequence([("MPI_Alltoallv", "a", 0, -1)], [[[0, 1.0, 2.0], [0, 2.0, 0.0]]] * 2)
        its.document["sequence"]["kinds"][0].update(counts=[1 << 17, 1 << 17], receive_counts=[1 << 17, 1 << 16])
        one, = self.json("overlap", self.file(its), "--efficiency", self.file(document, "bench.json"))["sites"]
        self.assertAlmostEqual(one["gains"][CALLS], 0.8 * 2 / 7)
        self.assertAlmostEqual(one["program"][CALLS], 0.8 * 2 / 5)

    def test_nothing_to_run_it_for(self):
        """No call site takes enough of the run for what the program would gain to be asked for."""
        its = Builder(ranks=1, nodes=1, run_s=1000.0).record("MPI_Barrier", "a", 1.0).sequence([("MPI_Barrier", "a", 0, -1)], [[[0, 1.0, 1.0]]])
        self.assertIn("nothing to gain from overlap", self.text("overlap", self.file(its)))

    def test_program_and_bound_are_printed(self):
        """The site takes 40% of the run by the mean rank; the program gains 1 s of 7."""
        its = Builder(ranks=2, nodes=1, run_s=7.0).record("MPI_Allreduce", "a", 6.0, count=4).arrival("MPI_Allreduce", "a", 2.0, 4.0)
        its.sequence([("MPI_Allreduce", "a", 8, -1)], [[[0, 1.0, 3.0], [0, 2.0, 1.0]], [[0, 3.0, 1.0], [0, 2.0, 1.0]]])
        found = self.json("overlap", self.file(its), "--efficiency", self.file(bench(CALLS, 50), "bench.json"))
        one, = found["sites"]
        self.assertEqual((one["how"], one["slack_s"]), ("sequence", 2.0))
        self.assertAlmostEqual(one["program"]["bound"], 1 / 7)
        self.assertAlmostEqual(one["program"][CALLS], 0.5 / 7)
        text = self.text("overlap", self.folder / "run.json", "--efficiency", self.folder / "bench.json")
        self.assertIn("next collective 2.00 s after return (an upper bound of the slack)", text)
        self.assertIn("-12.1% (bound -14.3%, program), needs HANPMPI_PROGRESS=thread", text) # 0.85 of 1 s


if __name__ == "__main__":
    unittest.main()
