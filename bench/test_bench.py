# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic and the tables of the bench, on made-up rounds: nothing is measured here."""

import unittest

import rounds
import rows
import stats
import table
import values
from columns import Bare, Column, Memtraced
from measure import Failed, Sample


class Statistics(unittest.TestCase):
    def test_spread_is_the_median_and_the_quartiles(self):
        cases = [
            ([5.0], stats.Spread(5.0, 5.0, 5.0, 1)),
            ([1.0, 2.0, 3.0], stats.Spread(2.0, 1.5, 2.5, 3)),
            ([4.0, 1.0, None, 3.0, 2.0], stats.Spread(2.5, 1.75, 3.25, 4)),
        ]
        for given, expected in cases:
            self.assertEqual(stats.spread(given), expected, given)
        self.assertIsNone(stats.spread([None]))

    def test_ratios_pair_the_rounds_that_both_have(self):
        # Round 1 was slow for both: the ratio does not see it.
        found = stats.ratio({0: 2.0, 1: 20.0, 2: 2.2}, {0: 1.0, 1: 10.0})
        self.assertEqual((found.median, found.low, found.high, found.count), (2.0, 2.0, 2.0, 2))
        self.assertIsNone(stats.ratio({0: 1.0}, {0: 0.0}))

    def test_excess_ratio_is_of_what_is_added_to_bare(self):
        found = stats.excess_ratio({0: 4.0}, {0: 3.0}, {0: 1.0})
        self.assertEqual(found.median, 1.5)
        self.assertIsNone(stats.excess_ratio({0: 4.0}, {0: 1.0}, {0: 1.0}))


class Tables(unittest.TestCase):
    def test_numbers_have_the_digits_that_say_something(self):
        cases = [(None, "–"), (0, "0"), (1234.5, "1,234"), (12.34, "12.3"), (1.234, "1.23")]
        for given, expected in cases:
            self.assertEqual(table.number(given), expected, given)
        self.assertEqual([table.amount(n) for n in (950, 4200, 1.34e6, 123e6)],
                         ["950", "4.2 k", "1.3 M", "123 M"])

    def test_a_spread_shows_its_quartiles_only_if_they_differ(self):
        self.assertEqual(table.spread(stats.Spread(2.0, 2.0, 2.0, 3)), "2.00")
        self.assertEqual(table.spread(stats.Spread(2.0, 1.5, 2.5, 3)), "2.00 (1.50–2.50)")

    def test_markdown_is_padded_and_escaped(self):
        self.assertEqual(table.markdown(["a", "b"], [["x|y", 1]]),
                         "| a    | b |\n|------|--:|\n| x\\|y | 1 |")


class Fake(Column):
    """Takes the seconds it is told; None fails."""

    def __init__(self, key, seconds, order, slow=False):
        super().__init__(key, key, slow=slow)
        self.seconds, self.order = list(seconds), order

    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        self.order.append(self.key)
        seconds = self.seconds.pop(0)
        if seconds is None:
            raise Failed("broken")
        return Sample(cpu_s=seconds, wall_s=seconds, rss_kib=1)


class Rounds(unittest.TestCase):
    LIMITS = rounds.Limits(rounds=3, slow_rounds=2, total_s=float("inf"))

    def measure(self, *columns):
        return rounds.measure_all(None, [rows.Row("r", ["r"])], list(columns), self.LIMITS, 0)

    def setUp(self):
        self.order = []
        self.kept = rounds.progress, rounds.kernelside.probes_of_others
        rounds.progress = lambda _: None
        rounds.kernelside.probes_of_others = lambda: 0

    def tearDown(self):
        rounds.progress, rounds.kernelside.probes_of_others = self.kept

    def test_each_round_begins_with_another_column(self):
        rounds_of = [Fake(key, [1, 1, 1], self.order) for key in "abc"]
        self.measure(*rounds_of)
        self.assertEqual("".join(self.order), "abc" "bca" "cab")

    def test_a_slow_column_gets_fewer_rounds(self):
        results = self.measure(Fake("a", [1] * 3, self.order),
                               Fake("s", [1] * 2, self.order, slow=True))
        self.assertEqual(len(results.cell("r", "s").samples), 2)

    def test_a_peer_over_its_limit_is_measured_once_and_marked(self):
        results = self.measure(Fake("s", [61], self.order, slow=True))
        cell = results.cell("r", "s")
        self.assertEqual((len(cell.samples), cell.note), (1, "took 61 s: measured once"))

    def test_a_column_that_fails_is_not_run_again_and_says_why(self):
        results = self.measure(Fake("a", [1, None], self.order))
        cell = results.cell("r", "a")
        self.assertEqual((len(cell.samples), cell.note), (1, "broken"))


class Computed(unittest.TestCase):
    def test_a_pair_is_what_is_left_without_start_and_end(self):
        every = [Bare("bare", "bare", pairs=10), Memtraced("exact", "exact")]
        results = rounds.Results()
        row = rows.Row("loop", ["pairs", "4", "2", "1000"], threads=2, pairs=1000)
        for key, start, cpu in (("bare", 0.5, 0.5002), ("exact", 0.5, 0.504)):
            results.cell(rows.ONE_PAIR, key).samples[0] = Sample(start, 1, 1)
            results.cell("loop", key).samples[0] = Sample(cpu, 1, 1, allocs=2000, frees=2000,
                                                          exact=True)
        computed = values.Values(results, every)
        self.assertAlmostEqual(computed.pair_ns(row, "bare")[0], 10)
        self.assertAlmostEqual(computed.pair_ns(row, "exact")[0], 2000)
        self.assertAlmostEqual(computed.ratio(row, "exact").median, 200)
        self.assertEqual(computed.calls(row), 4000)

    def test_a_row_of_more_pairs_keeps_all_else(self):
        row = rows.Row("loop", ["pairs", "4", "1", "1000"], pairs=1000)
        self.assertEqual(row.times(5).command, ["pairs", "4", "1", "5000"])
        self.assertEqual(row.times(5).pairs, 5000)
        one = rows.Row("jq", ["jq", "."])
        self.assertIs(one.times(5), one)


if __name__ == "__main__":
    unittest.main()
