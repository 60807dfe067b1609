#!/usr/bin/env python3
"""test_instructions.py: would instructions.py notice? Its parts, on figures that are made up."""
import pathlib
import tempfile
import unittest

import instructions

ROW = {"runs": "han", "first": 10000, "start": 1000, "run": 200, "libc": 4}
PROFILE = """\
desc: Trigger: Client Request: bcast/2x1/8
ob=/build/instructions
fl=/x/src/hier/collectives/pipeline.c
fn=emit'hp_request_start'counted_start'start
10 7
cfn=hp_emit_send'emit'hp_request_start'counted_start
calls=1 20
11 500
cob=/lib/libc.so.6
cfn=memcpy'emit'hp_request_start'counted_start
calls=3 20
11 60
12 5
fl=/x/src/event_engine/op/kernels.c
fn=SUM_INT64'reduce'counted_progress
1 900
fl=/x/tests/sim/job.c
fn=engine_start'run
1 300
"""


class Compare(unittest.TestCase):
    def compared(self, **changed):
        return instructions.compare({"a": ROW}, {"a": {**ROW, **changed}})

    def test_growth_beyond_the_tolerance_is_found(self):
        grown, less, other = self.compared(run=211)
        self.assertEqual((len(grown), less, other), (1, [], []))
        self.assertRegex(grown[0], r"^a +run +200 -> 211 +\+5\.5%$")

    def test_growth_from_nothing_is_found(self):
        grown, _, _ = instructions.compare({"a": {**ROW, "run": 0}}, {"a": ROW})
        self.assertEqual(len(grown), 1)

    def test_growth_within_it_is_not(self):
        self.assertEqual(self.compared(run=210, start=951), ([], [], []))

    def test_less_is_no_growth(self):
        grown, less, other = self.compared(start=900)
        self.assertEqual((grown, len(less), other), ([], 1, []))

    def test_cases_that_come_go_or_run_otherwise_are_found(self):
        self.assertEqual(len(self.compared(runs="flags")[2]), 1)
        self.assertEqual(instructions.compare({"a": ROW}, {"b": ROW})[2], ["a: the case is gone", "b: a new case"])


class Again(unittest.TestCase):
    def test_a_repeated_call_of_many_leaders_costs_a_tenth(self):
        dear = {**ROW, "start": 1001}
        self.assertEqual(instructions.laid_out_again({"allreduce/1x64/4194304": ROW, "allreduce/1x64/65536": dear, "allreduce/4x4/4194304": dear}), [])
        self.assertEqual(len(instructions.laid_out_again({"allreduce/1x64/4194304": dear})), 1)


class Profile(unittest.TestCase):
    def test_own_cost_of_the_library_alone_counts(self):
        costs, libc = instructions.read_profile(PROFILE.splitlines())
        self.assertEqual(costs, {"bcast/2x1/8": {("counted_start", "emit"): 12}})
        self.assertEqual(libc, {"bcast/2x1/8": {"counted_start": 3}})


class Files(unittest.TestCase):
    def test_what_is_written_is_read(self):
        rows = {"bcast/1x2/8": ROW, "reduce_scatter_block/4x4/4194304": {**ROW, "runs": "single_copy*", "start": 123456}}
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "golden")
            instructions.write_golden(path, "GNU 12.2.0 x86_64 -O2", rows)
            self.assertEqual(instructions.read_golden(path), ("GNU 12.2.0 x86_64 -O2", rows))

    def test_vectors_and_blocks_have_a_table_each(self):
        rows = {"bcast/2x1/8": ROW, "bcast/1x2/8": ROW, "gather/2x1/8": {**ROW, "runs": "flat*"}}
        text = instructions.document("GNU", rows)
        cell = "1,000 + 200 = 1,200; 10,000"
        self.assertIn(f"| collective | bytes | 2x1 | 1x2 |\n|---|--:|---|---|\n| bcast | 8 | han {cell} | han {cell} |\n\n", text)
        self.assertTrue(text.endswith(f"| bytes of a block | 2x1 |\n|---|--:|---|\n| gather | 8 | flat* {cell} |"))

    def test_the_table_replaces_the_one_before(self):
        text = f"a\n{instructions.BEGIN}\nold\n{instructions.END}\nb\n"
        self.assertEqual(instructions.with_table(text, "new"), text.replace("old", "new"))


if __name__ == "__main__":
    unittest.main()
