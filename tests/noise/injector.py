#!/usr/bin/env python3
"""libhanpmpi-noise.so does what its variables say: preloaded into victim, a program without MPI whose rank is made up.

Nothing here expects the machine to be quiet: a signal may come late, so counts and shares have wide margins.
"""
import os
import subprocess
import sys
import unittest

LIBRARY, VICTIM = "", ""


def run(rank=None, seconds=1.0, words=(), rank_variable="OMPI_COMM_WORLD_RANK", **settings):
    """-> (exit code, times, seconds lost as the injector says, as the victim says, read's outcome, stderr)"""
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": LIBRARY}
    environment.update({f"HANPMPI_NOISE{'_' + name if name != 'AMOUNT' else ''}": str(value)
                        for name, value in settings.items()})
    if rank is not None:
        environment[rank_variable] = str(rank)
    done = subprocess.run([VICTIM, str(seconds), *words], env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return done.returncode, 0, 0.0, 0.0, [], done.stderr
    figures, *read = done.stdout.splitlines()
    times, said, found = figures.split()
    return 0, int(times), float(said), float(found), read, done.stderr


class Injector(unittest.TestCase):
    def test_share(self):
        """200 times a second a constant 2 ms: two fifths of the time are lost, and the victim misses what the injector says."""
        for how in ("sleep", "burn"):
            with self.subTest(how):
                code, times, said, found, read, _ = run(0, 0.5, ["read"], AMOUNT="constant:2", HZ=200, HOW=how)
                self.assertEqual((code, read), (0, ["read ok"]))
                self.assertTrue(20 <= times <= 101, times)
                self.assertTrue(0.002 * times <= said <= 0.5, (times, said))
                self.assertTrue(0.95 * said <= found, (said, found))

    def test_shorthand(self):
        """20% at 50 Hz: uniform 0 to 8 ms; the mean of 10 draws is above 1 ms (four deviations); a loaded machine wakes late."""
        _, times, said, _, _, _ = run(0, 1.0, AMOUNT="20%", HZ=50)
        self.assertTrue(10 <= times <= 51, times)
        self.assertTrue(0.001 < said / times < 0.03, said / times)

    def test_chosen_ranks(self):
        for text, chosen in (("all", {1, 2, 5}), ("1,3-5", {1, 5}), ("every 2", {2}), ("0%", set())):
            for rank in (1, 2, 5):
                with self.subTest(ranks=text, rank=rank):
                    _, times, *_ = run(rank, 0.1, AMOUNT="constant:1", HZ=200, RANKS=text)
                    self.assertEqual(times > 0, rank in chosen)

    def test_rank_of_any_launcher(self):
        for variable in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
            _, times, *_ = run(3, 0.1, rank_variable=variable, AMOUNT="constant:1", HZ=200, RANKS="3")
            self.assertGreater(times, 0, variable)

    def test_nothing_where_there_is_no_rank(self):
        for settings in ({"AMOUNT": "20%"}, {"AMOUNT": "nonsense"}):
            code, times, _, _, _, error = run(None, 0.3, REPORT=1, **settings)
            self.assertEqual((code, times, error), (0, 0, ""))

    def test_off(self):
        for settings in ({}, {"AMOUNT": "off"}, {"AMOUNT": "0%", "RANKS": "7"}):
            self.assertEqual(run(0, 0.2, **settings)[1], 0)

    def test_delay(self):
        self.assertEqual(run(0, 0.2, AMOUNT="constant:1", HZ=200, DELAY_SECONDS=30)[1], 0)

    def test_program_switches(self):
        """Off, on, off: noise in the middle only."""
        _, times, said, _, _, _ = run(0, 0.9, words=["switch"], HZ=100)
        self.assertTrue(5 <= times <= 31, times)
        self.assertGreaterEqual(said, 0.001 * times)

    def test_report(self):
        error = run(2, 0.2, AMOUNT="constant:1", HZ=100, REPORT=1)[5]
        self.assertRegex(error, r"^hanpmpi: rank 2: noise: \d+ times, 0\.\d+ s of \d\.\d+ s \(\d+\.\d+%\)\n$")

    def test_bad_values(self):
        bad = [("AMOUNT", "5", "uniform:MAX"), ("AMOUNT", "uniform:x", "uniform:MAX"), ("AMOUNT", "-1%", "5%"),
               ("AMOUNT", "exponential:1:", "exponential:MEAN"), ("AMOUNT", "60%", "a lower HANPMPI_NOISE_HZ"),
               ("AMOUNT", "constant:100", "less than 100 ms"), ("HZ", "0", "0.001 to 10000"), ("HZ", "10Hz", "0.001 to"),
               ("RANKS", "3-1", "every N"), ("RANKS", "", "every N"), ("RANKS", "1,", "every N"), ("RANKS", "every 0", "every N"),
               ("SEED", "-3", "0 to 9e15"), ("HOW", "spin", "sleep, burn"), ("REPORT", "maybe", "0 or 1"),
               ("SIGNAL", "14", "34 to 64"), ("DELAY_SECONDS", "soon", "0 to 1000000")]
        for name, value, accepted in bad:
            with self.subTest(name=name, value=value):
                code, _, _, _, _, error = run(0, 0.1, **{name: value})
                self.assertEqual(code, 2)
                variable = "HANPMPI_NOISE" + ("" if name == "AMOUNT" else "_" + name)
                self.assertTrue(error.startswith("hanpmpi: rank 0: error: noise: "), error)
                self.assertIn(f"{variable}={value} is not accepted", error)
                self.assertIn(accepted, error)

    def test_only_rank_0_speaks(self):
        self.assertEqual(run(1, 0.1, AMOUNT="much")[0::5], (2, ""))


if __name__ == "__main__":
    LIBRARY, VICTIM = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main()
