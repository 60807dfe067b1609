#!/usr/bin/env python3
"""One rank is late, or all are interrupted, in a simulation of 16 ranks: whom does it delay? Always the same figures.

A broadcast of 1 MiB, chain between four nodes, linear inside: rank 5 is a leaf, rank 8 has the descendants 9 to 15 and the parent 4.
"""
import argparse
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import study_figures  # noqa: E402
import study_simulated  # noqa: E402

RANKS, DELAY = 16, 40e-6
BUILD = ""


def run(side, words):
    arguments = argparse.Namespace(build=BUILD, seed=1, bytes="1M", set=[], eager=16384, timeout=100)
    study = {"calls": {}, "noise": {}, "finish": {}, "trees": {}}
    with tempfile.TemporaryDirectory() as directory:
        stem = os.path.join(directory, "star")
        study_simulated.machines.write(study_simulated.machines.parse("--nodes", "4", "--ranks-per-node", "4"), "star", stem)
        study_figures.read_lines(study_simulated.slowdown(arguments, "bcast", side, stem, RANKS, 2500, words), study)
    return study


class Delayed(unittest.TestCase):
    def shares(self, side, rank):
        """Per rank: how much later it finishes, as a share of the delay."""
        study = run(side, ["--blocks", "0", "--delayed", str(rank), "--delay-ms", str(1e3 * DELAY), "--repeat", "1"])
        return [seconds / DELAY for seconds in study_figures.later(study, "bcast", side, str(rank))]

    def test_leaf_delays_nobody(self):
        shares = self.shares("ours", 5)
        self.assertLess(max(shares[:5] + shares[6:]), 0.02, shares)

    def test_inner_rank_delays_its_descendants(self):
        """And its parent, whose last segments it takes late: its receives cover less than the delay."""
        shares = self.shares("ours", 8)
        self.assertGreater(min(shares[8:]), 0.5, shares)
        self.assertLess(max(shares[:4] + shares[5:8]), 0.02, shares)
        self.assertLess(shares[4], 1, shares)

    def test_control_delays_everybody(self):
        for rank in (5, 8):
            shares = self.shares("control", rank)
            self.assertGreater(min(shares), 0.5, (rank, shares))


class Interrupted(unittest.TestCase):
    def test_slow_down(self):
        """The share of time is what was asked for, and the library loses less than the control."""
        slow_downs = {}
        for side in ("ours", "control"):
            study = run(side, ["--noise", "off,10%", "--blocks", "2", "--calls", "4"])
            self.assertTrue(0.06 < study["noise"]["bcast"][side]["10%"] < 0.12, study["noise"])
            self.assertEqual(study["noise"]["bcast"][side]["off"], 0)
            slow_downs[side] = study_figures.slow_down(study["calls"]["bcast"][side], "10%")[0]
        self.assertTrue(0 < slow_downs["ours"] < 0.7 * slow_downs["control"], slow_downs)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
