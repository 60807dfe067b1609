"""What --teach chooses, and the ranges it makes of that, from made-up times.   ctest -R tune.teach.unit"""
import unittest

from hanpmpi_teach.choose import Choice, Range, choose, choose_uniform, finalists, geometric_mean, ranges
from hanpmpi_teach.model import DEFAULT, Candidate, Table

RING, TREE = Candidate("ring"), Candidate("tree")


def table(**cells):
    """b8={"default": [..]}: of a bcast of 8 bytes."""
    made = Table()
    for name, times in cells.items():
        made.add("bcast", int(name[1:]), times)
    return made


def names(choices):
    return [choice.candidate and choice.candidate.name for choice in choices]


class Choose(unittest.TestCase):
    def test_the_fastest_takes_the_defaults_place(self):
        choices = choose(table(b8={DEFAULT: [10, 11, 10], "ring": [5, 5, 6], "tree": [4, 4, 4]}), "bcast", [RING, TREE])
        self.assertEqual(names(choices), ["tree"])
        self.assertEqual((choices[0].default_us, choices[0].us, choices[0].gain), (10, 4, 2.5))

    def test_only_where_it_is_faster_by_the_margin(self):
        times = table(b8={DEFAULT: [10, 10, 10], "ring": [9.5, 9.5, 9.5]})
        self.assertEqual(names(choose(times, "bcast", [RING])), [None])
        self.assertEqual(names(choose(times, "bcast", [RING], margin=0.04)), ["ring"])

    def test_only_where_most_rounds_agree(self):
        self.assertEqual(names(choose(table(b8={DEFAULT: [10, 10, 10, 10], "ring": [2, 2, 11, 11]}), "bcast", [RING])), [None])

    def test_a_disturbed_round_hits_both(self):
        """The round in which everything took ten times as long is a round like the others."""
        self.assertEqual(names(choose(table(b8={DEFAULT: [10, 100, 10], "ring": [8, 80, 8]}), "bcast", [RING])), ["ring"])

    def test_who_was_left_out_of_rounds_is_no_choice(self):
        self.assertEqual(names(choose(table(b8={DEFAULT: [10, 10, 10], "ring": [1]}), "bcast", [RING])), [None])

    def test_a_neighbours_choice_is_kept_where_it_is_as_good(self):
        times = table(b8={DEFAULT: [10] * 3, "ring": [5] * 3, "tree": [6] * 3}, b64={DEFAULT: [10] * 3, "ring": [5.1] * 3, "tree": [5] * 3},
                      b512={DEFAULT: [10] * 3, "ring": [8] * 3, "tree": [5] * 3})
        self.assertEqual(names(choose(times, "bcast", [RING, TREE])), ["ring", "ring", "tree"])

    def test_sizes_without_the_default_are_left_out(self):
        self.assertEqual(choose(table(b8={"ring": [1, 1, 1]}), "bcast", [RING]), [])


class Finalists(unittest.TestCase):
    def test_the_best_few_of_each_size(self):
        times = table(b8={DEFAULT: [10] * 3, "ring": [5] * 3, "tree": [4] * 3}, b64={DEFAULT: [10] * 3, "ring": [9.9] * 3, "tree": [8] * 3},
                      b512={DEFAULT: [10] * 3, "ring": [11] * 3})
        self.assertEqual(finalists(times, "bcast", [RING, TREE]), {8: ["tree", "ring"], 64: ["tree"]})
        self.assertEqual(finalists(times, "bcast", [RING, TREE], most=1)[8], ["tree"])


class Uniform(unittest.TestCase):
    def test_one_choice_for_all_sizes(self):
        times = table(b8={DEFAULT: [10] * 3, "ring": [5] * 3, "tree": [2] * 3}, b64={DEFAULT: [10] * 3, "ring": [9] * 3, "tree": [20] * 3})
        self.assertEqual(names(choose_uniform(times, "bcast", [RING, TREE])), ["ring", "ring"])

    def test_none_that_is_slower_anywhere(self):
        times = table(b8={DEFAULT: [10] * 3, "tree": [2] * 3}, b64={DEFAULT: [10] * 3, "tree": [11] * 3})
        self.assertEqual(names(choose_uniform(times, "bcast", [TREE])), [None, None])

    def test_none_that_was_not_measured_everywhere(self):
        times = table(b8={DEFAULT: [10] * 3, "tree": [2] * 3}, b64={DEFAULT: [10] * 3})
        self.assertEqual(names(choose_uniform(times, "bcast", [TREE])), [None, None])


class Ranges(unittest.TestCase):
    def of(self, *pairs):
        return ranges([Choice("bcast", size, candidate) for size, candidate in pairs])

    def test_they_meet_between_the_sizes_and_end_half_a_step_outside(self):
        self.assertEqual(self.of((8, None), (128, RING), (2048, TREE)),
                         [Range(0, 32, None), Range(33, 512, RING), Range(513, 8192, TREE), Range(8193, None, None)])

    def test_equal_ones_are_one_and_what_is_short_begins_at_nothing(self):
        self.assertEqual(self.of((8, RING), (128, RING), (2048, None)), [Range(0, 512, RING), Range(513, None, None)])

    def test_long_ones_begin_half_a_step_before(self):
        self.assertEqual(self.of((1024, RING), (4096, RING)), [Range(0, 511, None), Range(512, 8192, RING), Range(8193, None, None)])

    def test_no_gap_and_no_overlap(self):
        found = self.of((8, RING), (64, TREE), (512, None), (4096, RING), (32768, RING))
        for one, following in zip(found, found[1:]):
            self.assertEqual(one.most + 1, following.least)
        self.assertEqual((found[0].least, found[-1].most), (0, None))

    def test_a_barrier_has_one(self):
        self.assertEqual(self.of((0, RING)), [Range(0, None, RING)])

    def test_nothing_chosen(self):
        self.assertEqual(self.of((8, None), (64, None)), [Range(0, None, None)])


class Mean(unittest.TestCase):
    def test_geometric(self):
        self.assertAlmostEqual(geometric_mean([1, 4]), 2)


if __name__ == "__main__":
    unittest.main()
