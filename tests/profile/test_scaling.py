"""Scaling losses against ones computed by hand, intervals against those of R and tables, growth against functions
that are known."""
import math
import unittest

from builder import Builder
from harness import ProfileCase

from hanpmpi_profile import growth, intervals, scaling


def run(ranks, run_s, costs, waited=None, offset=0):
    """costs: {(call, site): seconds of one rank}; waited: {(call, site): share}. offset moves nothing: sites are
    matched by file and offset."""
    its = Builder(ranks=ranks, run_s=run_s)
    for (call, site), seconds in costs.items():
        its.record(call, site, seconds * ranks, count=ranks * 100)
    for (call, site), share in (waited or {}).items():
        its.arrival(call, site, share, 1 - share)
    return its


A, B = ("MPI_Allreduce", "a"), ("MPI_Barrier", "b")


class Losses(ProfileCase):
    def files(self, *runs):
        return [self.file(its, f"run{i}.json") for i, its in enumerate(runs)]

    def site(self, found, call):
        return next(row for row in found["sites"] if row["call"] == call)

    def loss(self, row, p, q):
        return next(pair["loss"] for pair in row["losses"] if (pair["from"], pair["to"]) == (p, q))

    def test_strong(self):
        """X = (q C(q) - p C(p)) / (q T(q)): 8 ranks x 2 s - 4 x 1.5 s of 8 x 10 s; of B 8 x 0.5 - 4 x 1 = 0."""
        found = self.json("scaling", *self.files(run(4, 16.0, {A: 1.5, B: 1.0}), run(8, 10.0, {A: 2.0, B: 0.5})))
        self.assertAlmostEqual(self.loss(self.site(found, A[0]), 4, 8), (16 - 6) / 80)
        self.assertAlmostEqual(self.loss(self.site(found, B[0]), 4, 8), 0)
        # 8 (10 - 2.5) - 4 (16 - 2.5) = 6 of 80 is lost outside MPI, and 8 x 10 - 4 x 16 = 16 in all.
        self.assertAlmostEqual(self.loss(self.site(found, "outside MPI"), 4, 8), 6 / 80)
        self.assertAlmostEqual(found["pairs"][0]["loss"], 16 / 80)
        self.assertEqual([(row["call"], row["loses"]) for row in found["sites"]], [(A[0], True), ("outside MPI", True), (B[0], False)])
        self.assertEqual(found["scaling"], "strong")

    def test_weak(self):
        """X = (C(q) - C(p)) / T(q)."""
        found = self.json("scaling", "--weak", *self.files(run(4, 10.0, {A: 1.5, B: 1.0}), run(8, 12.5, {A: 2.0, B: 1.0})))
        self.assertAlmostEqual(self.loss(self.site(found, A[0]), 4, 8), 0.5 / 12.5)
        self.assertAlmostEqual(self.loss(self.site(found, B[0]), 4, 8), 0)
        self.assertAlmostEqual(found["pairs"][0]["loss"], 2.5 / 12.5)
        self.assertEqual(found["scaling"], "weak")

    def test_every_pair(self):
        files = self.files(run(2, 10.0, {A: 1.0}), run(4, 6.0, {A: 1.0}), run(8, 4.0, {A: 1.0}))
        found = self.json("scaling", *files)
        self.assertEqual([(pair["from"], pair["to"]) for pair in found["pairs"]], [(2, 4), (2, 8), (4, 8)])
        row = self.site(found, A[0])
        self.assertEqual([round(self.loss(row, p, q), 6) for p, q in ((2, 4), (2, 8), (4, 8))],
                         [round(x, 6) for x in ((4 - 2) / 24, (8 - 2) / 32, (8 - 4) / 32)])
        self.assertIn("MPI_Allreduce", self.text("scaling", *files).splitlines()[4])

    def test_a_site_of_the_larger_run_only(self):
        found = self.json("scaling", *self.files(run(4, 10.0, {A: 1.0}), run(8, 5.0, {A: 0.5, B: 1.0})))
        self.assertAlmostEqual(self.loss(self.site(found, B[0]), 4, 8), 8 / 40)

    def test_threshold(self):
        """0.8% of the larger run is below 1%."""
        found = self.json("scaling", *self.files(run(4, 10.0, {A: 1.0}), run(8, 5.0, {A: 0.54})))
        row = self.site(found, A[0])
        self.assertAlmostEqual(self.loss(row, 4, 8), 0.008)
        self.assertEqual((row["loses"], row["verdict"]), (False, "scales"))

    def test_intervals_over_repeats(self):
        """Three runs of each scale that agree, and three that do not."""
        def files(costs):
            return self.files(*(run(4, 10.0, {A: cost}) for cost in (0.99, 1.0, 1.01)), *(run(8, 5.0, {A: cost}) for cost in costs))
        row = self.site(self.json("scaling", *files((0.99, 1.0, 1.01))), A[0])
        # X = 8/40 - 4/40. Per run the terms vary by 0.08/40 and 0.04/40, so the error is sqrt(0.002^2 + 0.001^2) /
        # sqrt(3), and Welch's degrees
        # of freedom are (4 + 1)^2 / (16/2 + 1/2).
        loss = next(iter(row["losses"]))
        error, freedom = math.sqrt((0.002**2 + 0.001**2) / 3), 25 / 8.5
        self.assertAlmostEqual(loss["loss"], 0.1)
        self.assertAlmostEqual(loss["interval"][0], 0.1 - intervals.t_quantile(freedom) * error, 7)
        self.assertAlmostEqual(loss["interval"][1], 0.1 + intervals.t_quantile(freedom) * error, 7)
        self.assertTrue(row["loses"])
        row = self.site(self.json("scaling", *files((0.2, 0.7, 2.1))), A[0])
        self.assertLess(row["losses"][0]["interval"][0], 0)
        self.assertAlmostEqual(row["losses"][0]["loss"], 0.1)
        self.assertEqual((row["loses"], row["verdict"]), (False, "uncertain: the runs differ too much"))

    def test_a_longer_run_is_no_loss(self):
        """Runs that take longer as a whole, with the same share in the site, vary in time, not in X."""
        runs = [run(4, 10.0, {A: 1.0})] * 3 + [run(8, 5.0 * f, {A: 1.0 * f}) for f in (0.8, 1.0, 1.2)]
        loss = self.site(self.json("scaling", *self.files(*runs)), A[0])["losses"][0]
        self.assertAlmostEqual(loss["interval"][0], loss["loss"])

    def test_few_runs_are_said(self):
        text = self.text("scaling", *self.files(run(4, 10.0, {A: 1.0}), run(8, 5.0, {A: 1.0})))
        self.assertIn("fewer than three runs of a scale: no intervals", text)
        self.assertNotIn("95% interval", text)

    def test_imbalance_and_communication(self):
        """Of A the loss is waiting, of B transfer, of C half of each."""
        c, d = ("MPI_Bcast", "c"), ("MPI_Reduce", "d")
        before, after = {A: 0.5, B: 0.5, c: 0.5, d: 0.5}, {A: 1.0, B: 1.0, c: 1.0, d: 1.0}
        found = self.json("scaling", *self.files(run(4, 10.0, before, {A: 0.2, B: 0.2, c: 0.2}), run(8, 10.0, after, {A: 0.8, B: 0.1, c: 0.425})))
        verdicts = {row["call"]: row["verdict"] for row in found["sites"]}
        # A: 8 x 0.8 - 4 x 0.1 = 6 of 8 - 2; B: 0.8 - 0.4; c: 3.4 - 0.4 = 3
        self.assertEqual(verdicts[A[0]], "imbalance: 100.0% of the loss is waiting; balance the load")
        self.assertEqual(verdicts[B[0]], "communication: 93.3% of the loss is transfer; another algorithm, or overlap")
        self.assertEqual(verdicts["MPI_Bcast"], "both: 50.0% of the loss is waiting, the rest transfer")
        self.assertEqual(verdicts["MPI_Reduce"], "loses; waiting and transfer not told apart (no sampled arrivals)")

    def test_combination(self):
        """A loses from 4 to 8, B from 8 to 16, as Graph500's Allreduce and point-to-point do: no single site follows."""
        tsp = self.files(run(4, 20.0, {A: 1.0, B: 0.4}), run(8, 12.0, {A: 3.0, B: 0.2}), run(16, 10.0, {A: 2.0, B: 4.0}))
        found = self.json("scaling", *tsp)
        self.assertEqual([[site["call"] for site in pair["combination"]] for pair in found["pairs"]], [[A[0]], [B[0], A[0]], [B[0], A[0]]])
        self.assertEqual({site["call"] for site in found["combination"]}, {A[0], B[0]})
        self.assertIn("No single call site follows the program's trend; together these do", self.text("scaling", *tsp))
        text = self.text("scaling", *self.files(run(4, 10.0, {A: 1.0, B: 0.4}), run(8, 6.0, {A: 2.0, B: 0.2})))
        self.assertIn("One call site holds 90% of the positive loss between any two scales: MPI_Allreduce", text)

    def test_growth(self):
        """From five scales on; 0.1 log2(p) seconds of Allreduce, 100/p of the program's own."""
        runs = [run(p, 100 / p + 0.1 * math.log2(p), {A: 0.1 * math.log2(p)}) for p in (4, 8, 16, 32, 64)]
        found = self.json("scaling", "--at", "1024,256", *self.files(*runs))
        row, outside = self.site(found, A[0]), self.site(found, "outside MPI")
        self.assertEqual((row["growth"]["power"], row["growth"]["log_power"]), (0, 1))
        self.assertAlmostEqual(row["growth"]["factor"], 0.1)
        self.assertAlmostEqual(row["predicted_s"]["1024"], 1.0)
        self.assertEqual(outside["growth"]["power"], -1)
        self.assertAlmostEqual(outside["predicted_s"]["256"], 100 / 256)
        text = self.text("scaling", *self.files(*runs))
        self.assertRegex(text, r"MPI_Allreduce +app\+0x\w+ +log p +0\.0% +800 ms +67\.2% +1\.00 s +91\.1%")
        self.assertIn("an extrapolation, not a measurement", text)

    def test_no_growth_of_four_scales(self):
        files = self.files(*(run(p, 10.0, {A: 1.0}) for p in (4, 8, 16, 32)))
        self.assertIn("No growth is fitted: that takes 5 scales, here are 4.", self.text("scaling", *files))
        code, _, err = self.run_profile("scaling", "--at", "64", *files)
        self.assertEqual(code, 0)
        self.assertIn("--at: no growth is fitted to 4 scales", err)

    def test_what_cannot_be_compared(self):
        lacking = run(8, 10.0, {A: 1.0})
        del lacking.document["per_rank"][3]
        for runs, wanted in (((run(4, 10.0, {A: 1.0}), run(4, 10.0, {A: 1.0})), "all files are of 4 ranks"),
                             ((run(4, 10.0, {A: 1.0}), lacking), "7 of 8 ranks are in the recording"),
                             ((run(4, 10.0, {A: 1.0}), run(8, 0.0, {A: 1.0})), "says no run time of its ranks (per_rank)")):
            code, out, err = self.run_profile("scaling", *self.files(*runs))
            self.assertEqual((code, out), (1, ""))
            self.assertIn(wanted, err)


class Cover(unittest.TestCase):
    def test_smallest(self):
        cover = scaling.smallest_cover
        self.assertEqual(cover([{"a": 0.5, "b": 0.3, "c": 0.1, "d": -0.4}]), ("a", "b", "c"))
        self.assertEqual(cover([{"a": 0.9, "b": 0.1}]), ("a",))
        self.assertEqual(cover([{"a": 0.5, "b": 0.4, "c": 0.1}, {"a": 0.02, "b": 0.03, "c": 0.95}, {"b": 0.9, "c": 0.1}]), ("b", "c", "a"))
        self.assertEqual(cover([{"a": 0.6, "b": 0.4, "c": 0.0}, {"a": 0.4, "b": 0.55, "c": 0.05}]), ("a", "b"))

    def test_losses_below_the_threshold_do_not_matter(self):
        self.assertEqual(scaling.smallest_cover([{"a": 0.5}, {"b": 0.004}]), ("a",))
        self.assertEqual(scaling.smallest_cover([{"b": 0.004}, {}]), ())

    def test_many_sites(self):
        losses = [{i: 1.0 for i in range(200)}, {i: 1.0 for i in range(200, 400)}]
        self.assertEqual(len(scaling.smallest_cover(losses)), 360)


class Statistics(unittest.TestCase):
    def test_quantiles_of_t(self):
        """R: qt(0.975, df)."""
        for freedom, wanted in ((1, 12.7062047), (2, 4.30265273), (4, 2.77644511), (30, 2.04227246), (1000, 1.96233909)):
            self.assertAlmostEqual(intervals.t_quantile(freedom) / wanted, 1, 5)

    def test_growth_functions(self):
        for power, log_power in ((0, 0), (-1, 0), (0.5, 0), (1, 1), (0, 2), (1 / 3, 0)):
            costs = {p: 3e-3 * growth.shape(p, power, log_power) for p in (16, 32, 64, 128, 256, 512)}
            its = growth.fit(costs)
            self.assertEqual((its.power, its.log_power), (power, log_power))
            self.assertAlmostEqual(its.at(8192) / (3e-3 * growth.shape(8192, power, log_power)), 1)
        self.assertIsNone(growth.fit({p: 1.0 for p in (2, 4, 8, 16)}))
        self.assertIsNone(growth.fit({**{p: 1.0 for p in (2, 4, 8, 16)}, 32: 0.0}))

    def test_growth_of_noisy_costs(self):
        """Within 20% of the truth at 16 times the largest scale, when each cost is off by up to 5%."""
        off = (1.05, 0.97, 1.02, 0.95, 1.04, 1.0)
        costs = {2**(4 + i): 1e-3 * 2**(4 + i) * f for i, f in enumerate(off)}
        self.assertAlmostEqual(growth.fit(costs).at(8192) / 8.192, 1, delta=0.2)


if __name__ == "__main__":
    unittest.main()
