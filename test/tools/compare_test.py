"""tools/compare without anybody to compare: what it reads, what it computes, what it writes."""

import importlib.machinery
import importlib.util
import math
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/compare"
loader = importlib.machinery.SourceFileLoader("compare", str(TOOL))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)

import c10d  # noqa: E402  (tools/compare knows where it is)
import contenders  # noqa: E402
import goals  # noqa: E402
import near_cores  # noqa: E402
import report  # noqa: E402
import saved  # noqa: E402
from contenders import Complaint, Task, Timing  # noqa: E402

NOWHERE = near_cores.Turns("/nowhere")  # every turn counts
CSV = """some words before
#tag,what,bytes,us_min,us_med,cpu_ns_per_byte_per_rank
x,allreduce,4,1.5,2.5,100
x,allreduce,65536,10,20,0.5
x,rn50_one_by_one,102228128,900,1000,0.25
x,rn50_fused25_nocopy,102228128,700,800,0.2
x,rn50_fused25_async,102228128,500,600,0.3
x,rn50_fused25_copy,102228128,1,1,0.1
"""


class Options(unittest.TestCase):
    def test_sizes_are_a_list_or_a_range_in_powers_of_four(self):
        self.assertEqual(compare.sizes_in("4,64KiB,1MiB"), (4, 65536, 1048576))
        self.assertEqual(compare.sizes_in("64kB,1Mi"), (64000, 1048576))
        self.assertEqual(compare.sizes_in("4..64"), (4, 16, 64))
        self.assertEqual(compare.sizes_in("4..100"), (4, 16, 64))
        self.assertEqual(len(compare.sizes_in("4..256MiB")), 14)
        self.assertEqual(compare.sizes_in("1,2,4,5"), (4, 8))  # whole floats
        self.assertEqual(compare.sizes_in(""), ())

    def test_what_is_no_size_or_number_of_ranks_is_refused(self):
        for text in ("x", "4,", "0", "-4", "4x", "4..", "..4"):
            with self.subTest(text), self.assertRaises(Complaint):
                compare.sizes_in(text)
        for text in ("", "x", "0", "2,-1", "2;4"):
            with self.subTest(text), self.assertRaises(Complaint):
                compare.ranks_in(text)

    def test_quick_changes_the_defaults_but_not_what_was_said(self):
        options = compare.options_in(["--quick", "--ranks", "3"])
        self.assertEqual((options.ranks, options.rounds), ([3], compare.QUICK["rounds"]))
        self.assertEqual(compare.options_in([]).ranks, [2, 4, 8])

    def test_everything_has_the_parts_that_the_goals_are_about(self):
        for words, rounds in ((["--everything"], 3), (["--everything", "--quick"], 1), (["--everything", "--rounds", "5"], 5)):
            options = compare.options_in(words)
            self.assertEqual(len(options.parts), len(compare.parts_of_everything(False)))
            self.assertEqual(options.rounds, rounds)
        measured = {}
        for part in compare.options_in(["--everything"]).parts:
            measured.setdefault((part.transport, part.ranks), set()).update(part.sizes, goals.WAYS if part.list else ())
        for goal in (*goals.tcp_goals(), *goals.shared_memory_goals()):
            self.assertLessEqual(set(goal.cases), measured[goal.table], goal.text)
        for words in (["--everything", "--ranks", "2"], ["--part", "tcp2", "--bytes", "4"]):
            with self.subTest(words), self.assertRaisesRegex(Complaint, "have their own"):
                compare.options_in(words)

    def test_parts_are_chosen_by_name(self):
        parts = compare.options_in(["--part", "shm4,list2"]).parts
        self.assertEqual([(part.transport, part.ranks, part.list) for part in parts], [("shm", 4, False), ("tcp", 2, True)])
        with self.assertRaisesRegex(Complaint, "no part 'tcp3'"):
            compare.options_in(["--part", "tcp3"])

    def test_nothing_to_measure_is_refused(self):
        for words in (["--bytes", "", "--no-list"], ["--rounds", "0"], ["--seconds", "0"]):
            with self.subTest(words), self.assertRaises(Complaint):
                compare.options_in(words)


class Reading(unittest.TestCase):
    def test_csv_gives_sizes_and_ways(self):
        found = contenders.times_in_csv(CSV, "x")
        self.assertEqual(found[4], Timing(2.5, 1.5, 100))
        self.assertEqual(found[65536], Timing(20, 10, 0.5))
        self.assertEqual(found["one_by_one"], Timing(1000, 900, 0.25))
        self.assertEqual(found["25MiB_buckets"], Timing(600, 500, 0.3))  # the quicker of two; the one with copies is another matter
        self.assertEqual(len(found), 4)

    def test_csv_needs_no_more_than_bytes_and_times(self):
        found = contenders.times_in_csv("#bytes,us_min,us_med\n4,1,2\n", "x")
        self.assertEqual((found[4].median_us, found[4].least_us), (2, 1))
        self.assertTrue(math.isnan(found[4].cpu))

    def test_csv_that_cannot_be_read_is_told(self):
        for text in ("", "bytes,us_med\n4,1\n", "#bytes,us_min,us_med\n4,1,x\n", "#us_min,us_med\n1,2\n"):
            with self.subTest(text), self.assertRaisesRegex(Complaint, "x: its output"):
                contenders.times_in_csv(text, "x")

    def test_json_is_by_bytes_or_by_way(self):
        text = '[{"bytes": 4, "algorithm": "fused", "time_us_median": 2, "time_us_min": 1, "cpu_s_per_GB": 0.5}]'
        self.assertEqual(contenders.times_in_json(text, by_way=False), {4: Timing(2, 1, 0.5)})
        self.assertEqual(contenders.times_in_json(text, by_way=True), {"fused": Timing(2, 1, 0.5)})


class Contenders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        file = self.folder / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    def test_a_driver_is_asked_for_ranks_bytes_seconds_and_word(self):
        driver = self.script("driver", 'echo "#bytes,us_min,us_med"; [ "$1 $2 $3 $4 $MODE" = "2 4,16 0.5 gloo_ring sweep" ] && echo 4,1,2')
        found = contenders.Driven(driver, "gloo_ring", "Gloo").times(Task(2, (4, 16), 0.5))
        self.assertEqual(found[4].median_us, 2)

    def test_a_command_is_filled_in_and_sees_no_variable_that_tunes_tutti(self):
        script = self.script("peer", 'env | grep -q ^TUTTI_ && exit 3; echo "#bytes,us_min,us_med"; echo "$2,1,$1"')
        with unittest.mock.patch.dict("os.environ", {"TUTTI_ANYTHING": "1"}):
            found = contenders.Command("x", script + " {ranks} {bytes}").times(Task(3, (4,), 0.5))
        self.assertEqual(found[4].median_us, 3)

    def test_a_command_without_mode_is_not_asked_for_lists(self):
        self.assertEqual(contenders.Command("x", "/nonexistent").times(Task(2, (), 1)), {})

    def test_who_fails_is_told_and_the_others_stay(self):
        good = contenders.Command("good", self.script("good", 'echo "#bytes,us_min,us_med"; echo 4,1,2'))
        bad = contenders.Command("bad", self.script("bad", "echo went wrong >&2; exit 7"))
        results, wrong = compare.measure([good, bad], Task(2, (4,), 1), 2, NOWHERE)
        self.assertEqual([times[4].median_us for times in results["good"]], [2, 2])
        self.assertEqual(results["bad"], [])
        self.assertRegex(wrong["bad"], "ended with code 7: went wrong")
        with self.assertRaises(Complaint):
            compare.measure([bad, good], Task(2, (4,), 1), 1, NOWHERE)  # without the first there is nothing to compare

    def test_everybody_has_a_turn_in_every_round_and_nobody_is_always_first(self):
        log = self.folder / "log"
        both = [contenders.Command(name, self.script(name, f'echo {name} >>{log}; echo "#bytes,us_min,us_med"; echo 4,1,2')) for name in "ab"]
        compare.measure(both, Task(2, (4,), 1), 3, NOWHERE)
        self.assertEqual(log.read_text().split(), list("abbaab"))

    def own_program(self, transport, **limits):
        rows = f'[{{"bytes": 4, "algorithm": "x", "transport": "{transport}", "time_us_median": 2, "time_us_min": 1, "cpu_s_per_GB": 0.5}}]'
        text = f'echo "$*" >>{self.folder}/asked; while [ "$1" != --json ]; do shift; done; echo \'{rows}\' >"$2"'
        script = self.script("own", text)
        return contenders.OwnProgram("own", lambda ranks: [script], **limits)

    def test_own_programs_are_asked_for_sizes_that_fit_and_say_their_congestion_control(self):
        own = self.own_program("sockets, reno", fits=lambda ranks, size: size <= 64)
        self.assertEqual(own.times(Task(2, (4, 128), 1))[4].median_us, 2)
        self.assertIn("--bytes 4 ", (self.folder / "asked").read_text())
        self.assertEqual(own.control, "reno")
        self.assertEqual(own.times(Task(2, (128,), 1)), {})
        self.assertEqual(list(own.times(Task(2, (), 1))), ["x"])
        self.assertEqual(self.own_program("tcp", lists=False).times(Task(2, (), 1)), {})

    def test_how_busy_an_idle_rank_is_stands_in_what_it_prints(self):
        (self.folder / "tools").mkdir()
        self.script("tools/tutti-run", 'echo "    2 joined 0.01"; echo "    2 idle     1.00 seconds, 0.25 % of a core"')
        self.assertEqual(contenders.idle_percent(self.folder), 0.25)
        self.script("tools/tutti-run", "echo nothing")
        with self.assertRaisesRegex(Complaint, "says nothing of idle"):
            contenders.idle_percent(self.folder)

    def test_unknown_peers_and_missing_drivers_are_refused(self):
        for program in contenders.PROGRAMS:
            (self.folder / program).parent.mkdir(exist_ok=True)
            (self.folder / program).write_text("")
        names = [each.name for each in contenders.everybody(self.folder, "tcp", None, None, ["Mine=./mine"])]
        self.assertEqual(names, ["Tutti", *(name for name, _ in contenders.RAW.values()), "Mine"])
        self.assertEqual([each.name for each in contenders.everybody(self.folder, "tcp", "./driver", [], [])], ["Tutti"])
        self.assertEqual([each.name for each in contenders.everybody(self.folder, "shm", "./driver", ["ompi_shm"], [])],
                         ["Tutti", "Tutti, arena", "Tutti, spun for", "Open MPI"])
        for transport, driver, chosen, commands, complaint in (
                ("tcp", None, ["nccl"], [], "no 'nccl' over tcp"), ("tcp", None, ["ompi_tcp"], [], "needs a --driver"),
                ("shm", "./driver", ["ompi_tcp"], [], "no 'ompi_tcp' over shm"), ("tcp", None, [], ["nothing"], "NAME=COMMAND")):
            with self.subTest(complaint), self.assertRaisesRegex(Complaint, complaint):
                contenders.everybody(self.folder, transport, driver, chosen, commands)
        with self.assertRaisesRegex(Complaint, "is not there"):
            contenders.everybody(self.folder / "other", "tcp", None, None, [])


class Gradient:
    def __init__(self, elements):
        self.elements = elements

    def numel(self):
        return self.elements


class C10d(unittest.TestCase):
    def test_the_gradients_are_those_of_the_model_the_last_layer_first(self):
        counts = c10d.resnet50()
        self.assertEqual((len(counts), 4 * sum(counts)), (161, 102228128))
        self.assertEqual((counts[:2], counts[-1]), ([1000, 2048000], 64 * 3 * 49))

    def test_a_bucket_is_full_before_it_is_too_large_and_never_empty(self):
        mib = 1024**2 // 4
        for sizes, wanted in (([], [[]]), ([30], [[30]]), ([10, 15, 1], [[10, 15], [1]]), ([1, 30, 1], [[1], [30], [1]])):
            with self.subTest(sizes):
                found = c10d.buckets_of([Gradient(each * mib) for each in sizes])
                self.assertEqual([[each.numel() // mib for each in bucket] for bucket in found], wanted)

    def test_without_pytorch_it_says_so(self):
        with unittest.mock.patch.dict(sys.modules, {"torch": None}), unittest.mock.patch.object(sys, "argv", ["c10d.py", "2", "4", "1"]):
            with self.assertRaisesRegex(SystemExit, "PyTorch is not there"):
                c10d.main()


class Saved(unittest.TestCase):
    def measured(self, cores=2, median=10):
        made = saved.Measured({"processor": "p", "cores": cores, "kernel": "k", "congestion control": "bbr"},
                              [{"command": "c", "date": "d", "load": "0", "seconds": 3, "turns": "t"}], {}, [0.01], "cubic")
        made.add_table(saved.Table("tcp", 2, {"Tutti": [{4: Timing(median, 9, 1), "fused": Timing(20, 19, 2)}], "x": []}, ["x: failed"]))
        return made

    def file(self, text):
        file = tempfile.NamedTemporaryFile("w", delete=False)
        self.addCleanup(pathlib.Path(file.name).unlink)
        with file:
            file.write(text)
        return pathlib.Path(file.name)

    def test_what_is_saved_is_read_again(self):
        self.assertEqual(saved.from_text(saved.to_text(self.measured()), "here"), self.measured())

    def test_rounds_of_several_files_count_together(self):
        files = [self.file(saved.to_text(self.measured(median=median))) for median in (10, 50, 12)]
        found = saved.put_together(files)
        table = found.tables["tcp", 2]
        self.assertEqual(table.results()["Tutti"][4], Timing(12, 9, 1))
        self.assertEqual((table.complaints, len(found.runs), found.idle), (["x: failed"], 3, [0.01] * 3))

    def test_what_cannot_be_put_together_is_refused(self):
        with self.assertRaisesRegex(Complaint, "another machine"):
            saved.put_together([self.file(saved.to_text(self.measured())), self.file(saved.to_text(self.measured(cores=4)))])
        for text in ("", "[]", "{}", '{"machine": {}, "runs": [], "tables": [1], "idle": [], "control": ""}'):
            with self.subTest(text), self.assertRaisesRegex(Complaint, "not what --save writes"):
                saved.put_together([self.file(text)])
        with self.assertRaisesRegex(Complaint, "cannot read"):
            saved.put_together([pathlib.Path("/nonexistent")])


def timings(**by_name):
    """{name: {what: Timing}} with these medians, and as many CPU seconds."""
    return {name: {what: Timing(value, value, value) for what, value in values.items()} for name, values in by_name.items()}


class Goals(unittest.TestCase):
    mib = 1024**2
    sizes = (4, 1024)

    def row(self, value, results, cases, **wanted):
        return goals.Goal("text", ("tcp", 2), cases, value, **wanted).row(results)

    def test_the_worst_ratio_to_the_quickest_library_counts(self):
        results = timings(Tutti={4: 10, 1024: 10}, A={4: 20, 1024: 40}, B={4: 30, 1024: 15}) | {goals.VECTOR_LIMIT: {4: Timing(1, 1, 1)}}
        row = self.row(goals.library_by("Tutti"), results, self.sizes, least=1.5)
        self.assertEqual(row, ["text", ">= 1.5", "1.50", "yes", "1.50", "4 B: 2.00 (A); 1 KiB: 1.50 (B)"])
        self.assertEqual(self.row(goals.library_by("Tutti"), results, self.sizes, least=1.5, above=True)[1:4], ["> 1.5", "1.50", "**no**"])
        self.assertEqual(self.row(goals.by_library("Tutti"), results, self.sizes, most=0.5)[1:4], ["<= 0.5", "0.667", "**no**"])

    def test_what_is_missing_is_told(self):
        results = timings(Tutti={4: 10, 1024: 10}, A={4: 20})
        self.assertEqual(self.row(goals.library_by("Tutti"), results, self.sizes, least=1)[2:], ["2.00", "not all measured", "2.00", "4 B: 2.00 (A); 1 KiB: -"])
        self.assertEqual(self.row(goals.library_by("Tutti"), results, self.sizes, least=3)[3], "**no**")
        self.assertIsNone(self.row(goals.library_by("Tutti"), timings(Tutti={4: 10}), self.sizes, least=1))
        self.assertIsNone(self.row(goals.share_of(goals.VECTOR_LIMIT), {}, self.sizes, least=1))
        text = goals.section({}, [])
        self.assertIn("Not measured: 2 ranks, up to 1 KiB", text)
        self.assertNotIn("| goal |", text)

    def test_the_share_of_the_limit_is_the_streams_time_by_tuttis(self):
        results = timings(Tutti={16 * self.mib: 10, 64 * self.mib: 40, 256 * self.mib: 160}) | {
            goals.VECTOR_LIMIT: {16 * self.mib: Timing(9, 9, 9), 64 * self.mib: Timing(30, 1, 1), 256 * self.mib: Timing(160, 1, 1)}}
        self.assertIn("| 2 ranks, from 16 MiB: share of the limit through the vector | >= 80 % | 75 % | **no** | 1 % | 16 MiB: 90 %; 64 MiB: 75 %; 256 MiB: 100 % |",
                      goals.section({("tcp", 2): results}, []))

    def test_processor_time_is_held_against_the_library_with_least(self):
        results = timings(Tutti={self.mib: 0.5}, A={self.mib: 0.25}, B={self.mib: math.nan})
        self.assertEqual(self.row(goals.cpu_by_mine, results, (self.mib,), least=1)[2:], ["0.500", "**no**", "0.500", "1 MiB: 0.500 (A)"])

    def test_an_idle_rank_uses_no_processor_time(self):
        self.assertEqual(goals.idle_row([0.01, 0.04])[2:4], ["0.0 %", "yes"])
        self.assertEqual(goals.idle_row([0.01, 0.06])[2:4], ["0.1 %", "**no**"])


class Report(unittest.TestCase):
    results = {"Tutti": {4: Timing(10, 9, 1), 65536: Timing(100, 90, 0.5), "fused": Timing(20000, 19000, 0.3)},
               "A & <B>": {4: Timing(5, 4, 2), 65536: Timing(250, 240, 0.25)}}

    def test_the_median_is_over_rounds(self):
        found = saved.median_of([{4: Timing(1, 1, 1)}, {4: Timing(9, 2, 5)}, {4: Timing(3, 3, 3), 8: Timing(7, 7, 7)}])
        self.assertEqual(found, {4: Timing(3, 1, 3), 8: Timing(7, 7, 7)})
        self.assertEqual(saved.median_of([]), {})

    def test_numbers_have_three_digits_that_say_something(self):
        for value, text in ((0.001234, "0.00123"), (1.236, "1.24"), (12.36, "12.4"), (123.6, "124"), (12345.6, "12346"), (0, "0"), (None, "-"),
                            (math.nan, "-")):
            self.assertEqual(report.number(value), text)

    def test_a_section_has_times_ratios_and_processor_time(self):
        text = report.section("shared memory, 2 ranks", self.results, 2)
        self.assertTrue(text.startswith("## Shared memory, 2 ranks on 2 cores"))
        self.assertIn("| 4 B | 10.0 | 5.00 (0.500) |", text)
        self.assertIn("| 64 KiB | 100 | 250 (2.50) |", text)
        self.assertIn("| 64 KiB | 0.500 | 0.250 |", text)
        self.assertIn("| one vector | 20.0 | - |", text)
        self.assertNotIn("| one by one |", text)
        for line in text.splitlines():
            if line.startswith("|"):
                self.assertEqual(line.count("|"), 4)

    def test_the_preface_says_how_and_when_and_with_which_congestion_control(self):
        text = report.preface(Saved().measured())
        self.assertIn("Float sum all-reduce in place, all ranks on one host, over TCP on loopback.", text)
        self.assertIn("cubic for Tutti, which chooses it, and for plain sockets; bbr, the system's, for the others", text)
        self.assertIn("- `c`, d, load 0, 3 s", text)


if __name__ == "__main__":
    unittest.main()
