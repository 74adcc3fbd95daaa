"""tools/fit-costs --confirm without measuring anything: what it measures again, and which rows count."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/fit-costs"
loader = importlib.machinery.SourceFileLoader("fit_costs", str(TOOL))
fit_costs = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit_costs", loader))
loader.exec_module(fit_costs)

KEY = "all_reduce", 4, 64


class RingIsChosen:
    """A plan with four algorithms, of which the model takes the ring."""

    tuning = None

    def algorithms(self, kind, ranks):
        return {name: name for name in ("ring", "star", "tree", "direct")}

    def chosen(self, transport, kind, ranks, size, costs, among):
        return "ring"


class Times:
    """A stopwatch that says `us` of an algorithm's turns, one after the other: the first and the second time of a size in each."""

    def __init__(self, **us):
        self.us, self.asked = {name: iter(turns) for name, turns in us.items()}, []

    def measure(self, kind, ranks, transport, sizes, algorithms):
        self.asked.append((kind, ranks, transport, sizes, algorithms))
        return [{"op": kind, "ranks": ranks, "bytes": int(size), "algorithm": name, "time_us_median": us, "time_us_min": us - 1}
                for name in algorithms for size, us in zip(sizes.split(","), next(self.us[name]))]


def again(stopwatch, measured, turns, least=False, passes=1):
    return fit_costs.measured_again(RingIsChosen(), stopwatch, "shm", measured, {}, 0.15, turns, least, passes)


class Confirm(unittest.TestCase):
    def test_the_chosen_one_and_all_that_seem_much_better_are_measured_again(self):
        stopwatch = Times(ring=[(9, 10)], star=[(9, 10)], tree=[(9, 10)])
        found = again(stopwatch, {KEY: {"ring": 12.0, "star": 10.0, "tree": 9.0, "direct": 11.0}}, 1)
        self.assertEqual(stopwatch.asked, [("all_reduce", 4, "shm", "64,64", ["ring", "star", "tree"])])
        self.assertEqual(list(found), [KEY])

    def test_of_two_times_in_a_turn_the_second_counts_and_of_turns_the_median(self):
        for least, ring, star in ((False, 12, 8), (True, 10, 6)):
            stopwatch = Times(ring=[(90, 11), (90, 12), (90, 30)], star=[(1, 8), (1, 7), (1, 9)])
            self.assertEqual(again(stopwatch, {KEY: {"ring": 12.0, "star": 10.0}}, 3, least), {KEY: {"ring": ring, "star": star}})

    def test_where_it_still_seems_so_more_turns_are_taken_and_all_of_them_count(self):
        stopwatch = Times(ring=[(9, 12), (9, 11), (9, 11)], star=[(9, 10), (9, 10), (9, 10)], tree=[(9, 12)])
        found = again(stopwatch, {KEY: {"ring": 12.0, "star": 10.0, "tree": 10.0}}, 1, passes=3)
        self.assertEqual([asked[-1] for asked in stopwatch.asked], [["ring", "star", "tree"], ["ring", "star"]])
        self.assertEqual(found, {KEY: {"ring": 11.5, "star": 10, "tree": 12}})

    def test_a_tuning_keeps_the_choice_and_then_that_of_the_size_before_where_nothing_is_much_quicker(self):
        sizes = {4: (10, 10.4), 16: (11, 10), 64: (10.4, 10), 256: (20, 10), 1024: (20, 10)}
        measured = {("all_reduce", 4, size): {"ring": ring, "star": star} for size, (ring, star) in sizes.items()}
        plan = RingIsChosen()
        self.assertEqual(list(fit_costs.tuning_lines(plan, "shm", measured, {}, 0.05)), ["shm all_reduce 4: 8 star, 32 auto, 128 star"])
        self.assertEqual(list(fit_costs.tuning_lines(plan, "shm", measured, {}, 1.5)), [])
        plan.tuning = "an older one"
        self.assertEqual(list(fit_costs.tuning_lines(plan, "shm", measured, {}, 0.05)), ["shm all_reduce 4: 0 ring, 8 star, 32 ring, 128 star"])

    def test_where_little_seems_to_be_lost_nothing_is_measured_again(self):
        stopwatch = Times()
        self.assertEqual(again(stopwatch, {KEY: {"ring": 11.5, "star": 10.0}, ("gather", 4, 64): {"ring": 10.0}}, 3), {})
        self.assertEqual(stopwatch.asked, [])


if __name__ == "__main__":
    unittest.main()
