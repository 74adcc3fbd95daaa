"""tools/cliffs without measuring anything: what it makes of rows."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/cliffs"
loader = importlib.machinery.SourceFileLoader("cliffs", str(TOOL))
cliffs = importlib.util.module_from_spec(importlib.util.spec_from_loader("cliffs", loader))
loader.exec_module(cliffs)


def row(size, us, transport="tcp", ranks=2, algorithm="ring"):
    return {"op": "all_reduce", "bytes": size, "time_us_median": us, "transport": transport, "ranks": ranks, "algorithm": algorithm}


class Refusals(unittest.TestCase):
    def test_what_cannot_be_read_or_started_is_told_in_a_line(self):
        for words, told in ((["/nowhere/rows"], "cannot read /nowhere/rows: No such file"), ([__file__], "holds no rows of tutti-perf --json"),
                            (["--build", "/nowhere"], "/nowhere/tools/tutti-perf is not there")):
            done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(told, done.stderr.splitlines()[-1])


class Cliffs(unittest.TestCase):
    def found(self, rows, within=0.2):
        (sizes,) = cliffs.by_setting(rows).values()
        return [(less, more, round(growth, 3)) for less, more, growth, _ in cliffs.cliffs(sizes, within)]

    def test_only_a_byte_that_takes_longer_is_a_cliff(self):
        self.assertEqual(self.found([row(4, 10), row(8, 10), row(16, 20), row(32, 48)]), [])  # 20 % is not more than 20 %
        self.assertEqual(self.found([row(4, 10), row(8, 30), row(16, 30)]), [(4, 8, 0.5)])
        self.assertEqual(self.found([row(4, 10), row(8, 22)], within=0.05), [(4, 8, 0.1)])

    def test_rounds_count_by_their_median(self):
        rows = [row(4, 10), row(4, 10), row(4, 99), row(8, 20), row(8, 20), row(8, 900)]
        self.assertEqual(self.found(rows), [])
        self.assertEqual(self.found(rows + [row(8, 60), row(8, 60)]), [(4, 8, 2.0)])

    def test_the_spread_is_that_of_the_middle_half(self):
        self.assertEqual(cliffs.spread([10]), 0)
        self.assertEqual(cliffs.spread([10, 10, 10, 10, 1000]), 0)
        self.assertEqual(cliffs.spread([8, 9, 10, 11, 12]), 0.2)

    def test_settings_are_apart_and_every_cliff_is_told_with_its_algorithms(self):
        rows = [row(4, 10, algorithm="tree"), row(8, 40), row(4, 10, "shm"), row(8, 10, "shm"), row(4, 10, ranks=4), row(8, 20, ranks=4)]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(cliffs.tell(rows, 0.2), 1)
        lines = said.getvalue().splitlines()
        self.assertEqual(lines[1].split(), ["tcp", "2", "4", "8", "tree", "ring", "10.0", "40.0", "100%", "0%", "-"])
        self.assertEqual(lines[2], "1 of 3 steps cost more than 20% for a byte, 1 of them by so much more than memory's")

    def test_a_step_that_memory_takes_too_is_the_machines(self):
        hand = [dict(row(size, us, "memory"), op=cliffs.BY_HAND) for size, us in ((4, 10), (8, 32), (16, 32))]
        for us, steeper in ((38, 0), (39, 1)):  # 1.9 and 1.95 by 1.6
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(cliffs.tell([row(4, 10), row(8, us), row(16, 2 * us), *hand], 0.2), steeper)
            self.assertEqual(said.getvalue().splitlines()[1].split()[-1], "60%")
        with contextlib.redirect_stdout(io.StringIO()):  # what is quicker in memory excuses nothing, nor does what other ranks do
            self.assertEqual(cliffs.tell([row(8, 10), row(16, 25), *hand], 0.2), 1)
            self.assertEqual(cliffs.tell([row(4, 10, ranks=4), row(8, 38, ranks=4), *hand], 0.2), 1)


if __name__ == "__main__":
    unittest.main()
