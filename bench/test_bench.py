# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic and the tables of the bench, on made-up rounds: nothing is measured here."""

import unittest

import figures
import rounds
import rows
import sampling
import stats
import table
import turns
import values
from columns import Bare, Column, Library, Memtraced
from lines import Line
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

    def test_the_interval_of_a_median_leaves_out_what_chance_may_bring(self):
        # Ranks by a table of the sign test: 6 values all, 15 the 4th to the 12th.
        cases = [([1.0] * 5, None), (range(1, 7), (1, 6)), (range(1, 16), (4, 12)),
                 (range(1, 22), (6, 16))]
        for given, expected in cases:
            self.assertEqual(stats.median_interval(given), expected, given)

    def test_ratios_pair_the_rounds_that_both_have(self):
        # Round 1 was slow for both: the ratio does not see it.
        found = stats.ratio({0: 2.0, 1: 20.0, 2: 2.2}, {0: 1.0, 1: 10.0})
        self.assertEqual((found.median, found.low, found.high, found.count), (2.0, 2.0, 2.0, 2))
        self.assertIsNone(stats.ratio({0: 1.0}, {0: 0.0}))

    def test_excess_ratio_is_of_what_is_added_to_bare(self):
        found = stats.excess_ratio({0: 4.0}, {0: 3.0}, {0: 1.0})
        self.assertEqual(found.median, 1.5)
        self.assertIsNone(stats.excess_ratio({0: 4.0}, {0: 1.0}, {0: 1.0}))


    def test_a_hit_is_a_mean_over_programs_without_the_count_itself(self):
        self.assertEqual(sampling.ns_of_hits([(1400, 10), (600, 0), (12000, 90)]), 100)
        self.assertIsNone(sampling.ns_of_hits([(0, 0)]))
        self.assertIsNone(sampling.ns_of_hits([]))


    def test_what_the_library_takes_is_beside_its_blocks_and_a_part_of_its_own(self):
        class Medians:
            def median(self, row, key, name):
                return {("small", "bare"): 1100, ("small", "library"): 1700,
                        ("blocks", "bare"): 20000, ("blocks", "library"): 30000,
                        ("peak_blocks", "small"): 0, ("peak_blocks", "blocks"): 128000}[
                            (name, row.name) if name == "peak_blocks" else (row.name, key)]

        found = figures.Figures(Medians(), [rows.Row(name, [name]) for name in ("small", "blocks")],
                                [], {"emulated_ns": 600})
        self.assertEqual([found.beyond_blocks(row) for row in found.programs], [545, 1000])
        reached = found.memory_of_library()
        self.assertEqual((reached.reached, reached.verdict),
                         ("1 of 2; the worst: blocks 1,000", "no"))

    def test_a_histogram_is_shown_beside_an_empty_program(self):
        def reached(**ns):
            found = figures.Figures(None, [], [Line(key.replace("_", "."), key, [value], "ns")
                                               for key, value in ns.items()],
                                    {"emulated_ns": 600}).histogram()
            return found.reached, found.verdict

        self.assertEqual(reached(syscall_read_hist=130.0, syscall_read_bpftrace=200.0,
                                 tracepoint_read=110.0),
                         ("0.65; an empty program 0.55", "no"))
        self.assertEqual(reached(syscall_read_hist=90.0, syscall_read_bpftrace=200.0),
                         ("0.45", "yes"))
        self.assertEqual(reached(syscall_read_hist=90.0)[1], "not measured")


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


class Counts(unittest.TestCase):
    def test_the_librarys_column_takes_no_program_that_probes_counted(self):
        alloc = {"allocs": 1, "frees": 1, "unknown_frees": 0, "bytes": 8, "by_library": False}
        report = {"processes": [{"comm": "jq", "alloc": alloc, "sites": []}]}
        with self.assertRaisesRegex(Failed, "counted by probes: jq"):
            Library.take_counts(Sample(cpu_s=1, wall_s=1, rss_kib=1), report)


class Rounds(unittest.TestCase):
    LIMITS = rounds.Limits(rounds=3, slow_rounds=2, peers_s=float("inf"),
                           end_s=float("inf"))

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

    def test_when_time_has_run_out_a_row_gets_the_least_rounds_and_no_slow_peer(self):
        self.LIMITS = rounds.Limits(rounds=7, slow_rounds=3, peers_s=0, end_s=0)
        results = self.measure(Fake("a", [1] * 7, self.order),
                               Fake("s", [1] * 7, self.order, slow=True))
        self.assertEqual(len(results.cell("r", "a").samples), 3)
        self.assertEqual(results.cut, {"r": 3})
        self.assertEqual(results.cell("r", "s").note, "not measured: out of time")

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

    def test_rounds_say_where_the_median_of_what_samples_add_lies(self):
        results = rounds.Results()
        for number, heard in enumerate([1.01, 1.02, 1.03, 1.04, 1.05, 1.06]):
            results.cell("jq", "bare").samples[number] = Sample(1.0, 1, 1)
            results.cell("jq", "sampled").samples[number] = Sample(heard, 1, 1)
        results.cell("jq", "jemalloc").samples[0] = Sample(1.0, 1, 1)
        results.cell("jq", "jemalloc_prof").samples[0] = Sample(1.1, 1, 1)
        notes = {line.key: line.note
                 for line in sampling.program_lines(results, rows.Row("jq", ["jq"]))}
        self.assertEqual(notes["sampling.sampled.jq"],
                         "calls/s not known; 95 %: 1.00 to 6.00; 6 rounds")
        self.assertEqual(notes["sampling.jemalloc.jq"], "")

    def test_samples_say_how_busy_an_allocator_is_by_the_bare_programs_time(self):
        def line(**counts):
            results = rounds.Results()
            for number, (bare, heard) in enumerate([(0.5, 0.51), (0.4, 0.42), (0.6, 0.6)] * 2):
                results.cell("jq", "bare").samples[number] = Sample(bare, 1, 1)
                results.cell("jq", "sampled").samples[number] = Sample(heard, 1, 1)
            if counts:
                results.cell("jq", "counted").samples[0] = Sample(0.7, 1, 1, **counts)
            return next(line for line in sampling.program_lines(results, rows.Row("jq", ["jq"]))
                        if line.key == "sampling.sampled.jq")

        chance = "; 95 %: 0.00 to 5.00; 6 rounds"
        found = line(allocs=800_000, frees=600_000, bytes=360 << 20)
        self.assertEqual(found.note, "2.8 M calls/s, 720 MiB/s (estimates)" + chance)
        self.assertEqual(found.facts, {"calls_per_s": 2.8e6, "bytes_per_s": float(720 << 20)})
        for counts in ({}, {"allocs": 0, "frees": 0, "bytes": 0}):
            found = line(**counts)
            self.assertEqual((found.note, found.facts), ("calls/s not known" + chance, {}))

    def test_a_row_of_more_pairs_keeps_all_else(self):
        row = rows.Row("loop", ["pairs", "4", "1", "1000"], pairs=1000)
        self.assertEqual(row.times(5).command, ["pairs", "4", "1", "5000"])
        self.assertEqual(row.times(5).pairs, 5000)
        one = rows.Row("jq", ["jq", "."])
        self.assertIs(one.times(5), one)


class Reached(unittest.TestCase):
    """Figures from made-up medians: nothing measured is no yes."""

    def figures(self, emulated_ns=600, single=(), rows_and_costs=()):
        every = [Bare("bare", "bare"), Memtraced("floor", "floor"), Memtraced("exact", "exact"),
                 Memtraced("bpftrace", "bpftrace")]
        results = rounds.Results()
        all_rows = []
        for name, costs in rows_and_costs:
            all_rows.append(rows.Row(name, [name]))
            for key, cpu in costs.items():
                results.cell(name, key).samples[0] = Sample(cpu, cpu, 1000, allocs=10**6,
                                                            frees=10**6, exact=True)
        lines = [Line(key, key, [value], "ms") for key, value in single]
        made = figures.Figures(values.Values(results, every), all_rows, lines,
                               {"emulated_ns": emulated_ns}).all()
        return {figure.title: figure for figure in made}

    def test_a_stack_is_held_against_the_kernels_of_the_same_depth(self):
        every = [Memtraced("floor", "floor"), Memtraced("nostack", "nostack"),
                 Memtraced("exact", "exact")]
        results = rounds.Results()
        row = rows.Row("20 frames, 1 thread", ["pairs"], pairs=1000, depth=20)
        for key, cpu in (("floor", 0.002), ("nostack", 0.0022), ("exact", 0.0026)):
            results.cell(rows.ONE_PAIR, key).samples[0] = Sample(0, 1, 1)
            results.cell(row.name, key).samples[0] = Sample(cpu, 1, 1, complete=1)
        made = figures.Figures(values.Values(results, every), [row],
                               [Line("stackid.20", "", [2000.0], "ns")], {"emulated_ns": 600})
        lines = [[cell.strip() for cell in line.split("|")[1:-1]]
                 for line in made.stacks_table().splitlines()]
        self.assertIn(["20", "400", "2,000", "0.20", "1.10", "1.30", "100 %"], lines)
        self.assertIn(["50", "–", "–", "–", "–", "–", "–"], lines)

    def test_what_was_taken_in_turns_is_shown_with_where_its_median_lies(self):
        cases = [([1.02, 1.03, 1.04, 1.05, 1.06, 1.07], "1.04 (1.02 to 1.07)", "yes"),
                 ([1.02, 1.03, 1.04, 1.05, 1.06, 1.27], "1.04 (1.02 to 1.27)",
                  "yes, not certain"),
                 ([1.2, 1.3, 1.4, 1.5, 1.6, 1.7], "1.45 (1.20 to 1.70)", "no")]
        for ratios, reached, verdict in cases:
            made = figures.Figures(values.Values(rounds.Results(), []), [],
                                   [Line("turns.nostack.4", "", ratios, "")],
                                   {"emulated_ns": 600})
            figure = next(made.pair_figures())
            self.assertEqual((figure.reached, figure.verdict), (reached, verdict))

    def test_turns_are_compared_within_a_turn(self):
        # The second turn was slow for all: a difference does not see it.
        found = {"floor": [1000, 2000] * 3, "nostack": [1100, 2200] * 3,
                 "exact": [1300, 2400] * 3, "one": [750, 1500] * 3, "stackid": [1000.0] * 6}
        made = {line.key: line.spread.median
                for line in turns.lines_of(20, found, Sample(0, 0, 0, complete=1))}
        self.assertEqual((made["turns.adds.20"], made["turns.share.20"]), (200, 0.2))
        self.assertAlmostEqual(made["turns.nostack.20"], 1.1)
        self.assertAlmostEqual(made["turns.one.20"], 0.75)

    def test_the_largest_share_of_rows_is_named(self):
        found = self.figures(single=[("rows.libc.share", 1.06), ("rows.node.share", 0.12)])
        self.assertEqual(found["unwind rows for return addresses, as a share of the file"].reached,
                         "1 of 2; the worst: libc 1.06")

    def test_what_was_not_measured_is_not_reached(self):
        self.assertEqual({figure.verdict.split(":")[0] for figure in self.figures().values()},
                         {"not measured"})

    def test_limits_lie_between_those_of_the_two_machines(self):
        title = "pair loop, 4 frames, complete stack: exact / floor"
        cases = [(100, "≤ 1.8"), (180, "≤ 1.8"), (390, "≤ 1.55"), (600, "≤ 1.3"), (900, "≤ 1.3")]
        for emulated_ns, expected in cases:
            self.assertEqual(self.figures(emulated_ns)[title].to_reach, expected, emulated_ns)

    def test_single_figures_are_held_against_their_limits(self):
        found = self.figures(single=[("memory.block", 122.0), ("daemon.cpu", 2.5),
                                     ("start.memtraced", 60.0), ("start.none", 1.0)])
        self.assertEqual(found["kernel memory for a live block"].verdict, "yes")
        self.assertEqual(found["daemon's CPU at 10^6 events/s"].verdict, "no")
        self.assertEqual(found["start-up: until the program's main"].reached, "59.0 ms")

    def test_growth_depth_is_shown_where_chance_cannot_have_made_it(self):
        cases = [([0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "0.45 % (0.20 to 0.70)", "yes"),
                 ([0.2, 0.3, 0.4, 0.5, 0.6, 1.7], "0.45 % (0.20 to 1.70)", "yes, not certain"),
                 ([1.2, 1.3, 1.4, 1.5, 1.6, 1.7], "1.45 % (1.20 to 1.70)", "no"),
                 ([0.1, 0.2], "0.15 %", "yes, not certain")]
        for added, reached, verdict in cases:
            made = figures.Figures(values.Values(rounds.Results(), []), [],
                                   [Line("growth.redis", "", added, "%")], {"emulated_ns": 600})
            figure = made.growth("growth.redis", "redis-benchmark")
            self.assertEqual((figure.reached, figure.verdict), (reached, verdict))

    def sampled(self, **programs):
        """programs: (calls/s or None, percents added); by figure what was reached, and verdicts"""
        lines = [Line(f"sampling.sampled.{name.replace('_', ' ')}", name, added, "%",
                      facts={} if calls is None else {"calls_per_s": calls})
                 for name, (calls, added) in programs.items()]
        made = figures.Figures(values.Values(rounds.Results(), []), [], lines,
                               {"emulated_ns": 600})
        return [(figure.reached, figure.verdict) for figure in made.sampling_figures()
                if figure.title.startswith("--sample adds")]

    def test_samples_may_cost_more_where_an_allocator_is_known_to_do_more(self):
        added, nothing = [3.0, 3.1, 3.2, 3.3, 3.4, 3.5], ("–", "not measured")
        cases = [("clang", 2.0e6, 0), ("clang", 2.1e6, 1), ("clang", None, 0),
                 ("Rust_trees", 1e6, 1), ("Rust_trees", None, 1), ("C++_stress", 12e6, 1)]
        for name, calls, which in cases:
            what = name.replace("_", " ")
            expected = [nothing, nothing]
            expected[which] = (f"{which} of 1; the worst: {what} 3.25 % (3.00 to 3.50)",
                               ("no", "yes")[which])
            self.assertEqual(self.sampled(**{name: (calls, added)}), expected, (name, calls))

    def test_what_samples_cost_is_certain_where_chance_cannot_have_made_it(self):
        below, above = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.1, 2.2, 2.3, 2.4, 2.5, 2.6]
        low, high = [1.0, 1.1, 1.2, 1.3, 1.4, 2.6], [1.0, 2.2, 2.3, 2.4, 2.5, 2.6]
        cases = [({"jq": below}, "1 of 1; the worst: jq 1.25 % (1.00 to 1.50)", "yes"),
                 ({"jq": low}, "1 of 1; the worst: jq 1.25 % (1.00 to 2.60)",
                  "yes, not certain"),
                 ({"jq": below, "perl": low}, "2 of 2; the worst: jq 1.25 % (1.00 to 1.50)",
                  "yes, not certain"),
                 ({"jq": below, "perl": high}, "1 of 2; the worst: perl 2.35 % (1.00 to 2.60)",
                  "no, not certain"),
                 ({"jq": low, "perl": above}, "1 of 2; the worst: perl 2.35 % (2.10 to 2.60)",
                  "no"),
                 ({"jq": [0.1, 0.2]}, "1 of 1; the worst: jq 0.15 %", "yes, not certain"),
                 ({"jq": [5.1, 5.2]}, "0 of 1; the worst: jq 5.15 %", "no, not certain")]
        for programs, reached, verdict in cases:
            found = self.sampled(**{name: (1e6, added) for name, added in programs.items()})
            self.assertEqual(found[0], (reached, verdict), programs)

    def test_one_program_over_its_limit_is_named(self):
        found = self.figures(rows_and_costs=[
            ("jq", {"bare": 1.0, "floor": 3.0, "exact": 3.4, "bpftrace": 20.0}),
            ("perl", {"bare": 1.0, "floor": 3.0, "exact": 5.0, "bpftrace": 9.0})])
        busy = found["programs above 0.5 M calls/s: exact − bare / floor − bare"]
        self.assertEqual((busy.reached, busy.verdict), ("1 of 2; the worst: perl 2.00", "no"))
        peer = found["the same programs: bpftrace − bare / exact − bare"]
        self.assertEqual((peer.reached, peer.verdict), ("1 of 2; the worst: perl 2.00", "no"))


if __name__ == "__main__":
    unittest.main()
