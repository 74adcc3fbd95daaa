"""The picture of tools/compare: which lines it has, that they can be told apart, and that docs/speed.svg is the picture of docs/speed.md."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/compare-parts"), str(ROOT / "tools")]

import plot  # noqa: E402
import tables  # noqa: E402
from contenders import Complaint, Timing  # noqa: E402

SIZES = (4, 1024, 65536, 2**20)


def times(*medians):
    return {size: Timing(median, median, 1) for size, median in zip(SIZES, medians)}


RESULTS = {"Tutti": {**times(10, 20, 40, 80), "fused": Timing(1, 1, 1)}, "Tutti, arena": times(1, 1, 1, 1), "raw sockets, asleep": times(9, 9, 99, 99),
           "raw sockets, spinning": times(8, 10, 20, 40), "streams, no reduction": times(1, 1, 1, 1), "Open MPI": times(20, 80, 80, 160),
           "MPICH": times(30, 40, 120, 80), "Gloo ring": times(100, 200, 400, 800), "a & <b>": times(11, 22, 44)}


def drawn(*arguments):
    return xml.etree.ElementTree.fromstring(plot.svg(*arguments))


def parts(root, tag):
    return [each for each in root.iter() if each.tag.endswith(tag)]


def texts(root, kind=None):
    return [each.text for each in parts(root, "text") if kind is None or each.get("class") == kind]


class Picture(unittest.TestCase):
    def test_the_fastest_of_a_kind_counts(self):
        lines = plot.lines_of(RESULTS, "ratio")
        self.assertEqual(list(lines), ["Tutti", "raw sockets", "MPI", "Gloo", "a & <b>"])
        self.assertEqual([value for _, value in lines["MPI"]], [2, 2, 2, 1])
        self.assertEqual([value for _, value in lines["raw sockets"]], [0.8, 0.45, 0.5, 0.5])
        self.assertEqual([size for size, _ in lines["a & <b>"]], [4, 1024, 65536])
        self.assertEqual(plot.lines_of(RESULTS, "algbw")["Tutti"][3], (2**20, 2**20 / 80 / 1e3))

    def test_there_are_three_panels_at_most_and_those_are_lines(self):
        few = {name: {4: found[4]} for name, found in RESULTS.items()}
        root = drawn({"few": few, **{f"{number} ranks": RESULTS for number in (2, 3, 4, 5)}}, "ratio", "")
        self.assertEqual(texts(root, "panel"), ["2 ranks", "3 ranks", "4 ranks"])
        self.assertEqual(texts(drawn({"few": few}, "ratio", ""), "panel"), ["Few"])

    def test_every_line_has_a_label_of_its_colour_within_the_picture(self):
        root = drawn({"2 ranks": RESULTS, "4 ranks": RESULTS}, "ratio", "a <note>")
        labels = [each for each in parts(root, "text") if each.get("class") == "label"]
        self.assertEqual([each.text for each in labels[:5]], ["Tutti", "raw sockets", "MPI 1.0x", "Gloo 10x", "a & <b> 1.1x"])
        colours = [each.get("stroke") for each in reversed(parts(root, "polyline")[:5])]
        self.assertEqual([each.get("style") for each in labels[:5]], [f"fill: {colour}" for colour in colours])
        self.assertEqual(len(set(colours)), 5)
        for each in labels:
            self.assertLess(float(each.get("x")) + 8 * len(each.text), float(root.get("width")))

    def test_labels_do_not_lie_on_each_other(self):
        placed = plot.apart({"a": 100, "b": 101, "c": 99, "d": 300, "e": 305}, 80, 304)
        self.assertEqual(sorted(placed, key=placed.get), ["c", "a", "b", "d", "e"])
        heights = sorted(placed.values())
        self.assertGreaterEqual(min(below - above for above, below in zip(heights, heights[1:])), plot.LINE)
        self.assertLessEqual(heights[-1], 304)

    def test_it_is_well_formed_whatever_is_missing(self):
        for plotted in ("algbw", "ratio"):
            for all_results in ({"a & b": {"Tutti": {"fused": Timing(1, 1, 1)}}}, {"a & b": {"Tutti": {4: Timing(1, 1, 1)}, "other": {}}}, {}):
                self.assertTrue(drawn(all_results, plotted, "a <note>").tag.endswith("svg"))

    def test_a_logarithmic_axis_puts_the_middle_in_the_middle(self):
        self.assertAlmostEqual(plot.Axis(1, 100, 0, 10).at(10), 5)


class Tables(unittest.TestCase):
    def test_tables_are_read_again(self):
        found, note = tables.read((ROOT / "docs/speed.md").read_text(), "speed.md")
        self.assertEqual(found["TCP, 2 ranks"]["MPICH"][65536].median_us, 63.4)
        self.assertNotIn(16384, found["Shared memory, 2 ranks"]["Tutti, spun for"])
        self.assertRegex(note, r"^AMD EPYC; \d{4}-\d\d-\d\d")
        self.assertRaises(Complaint, tables.read, "# Speed\n", "speed.md")

    def test_the_picture_in_the_manual_is_that_of_its_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "speed.svg")
            subprocess.run([ROOT / "tools/compare", "--redraw", ROOT / "docs/speed.md", "--svg", made], check=True)
            self.assertEqual(made.read_text(), (ROOT / "docs/speed.svg").read_text())


if __name__ == "__main__":
    unittest.main()
