#!/usr/bin/env python3
"""The pages that list something list all of it: environment variables, tools, element types and operators."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# For the build and for this project's tests; no user calls them.
PARTS = {"count-tests", "netns-relay", "page-program", "seal-archive", "compare-parts", "hooks"}


class the_lists(unittest.TestCase):
    def test_every_variable_is_listed_and_no_other(self):
        source = (ROOT / "src/communicator/environment.cpp").read_text()
        known = re.search(r"known = \{(.*?)\};", source, re.S)[1]
        listed = re.findall(r"^\| (.*?) \|", (ROOT / "docs/environment.md").read_text(), re.M)
        self.assertEqual(set(re.findall(r'"(TUTTI_\w+)"', known)), {name for cell in listed for name in re.findall(r"`(TUTTI_\w+)`", cell)})

    def test_every_tool_is_listed_and_no_other(self):
        there = {path.name for path in (ROOT / "tools").iterdir() if not re.search(r"\.\w+$|^__", path.name)}
        listed = re.findall(r"^\| `(?:tools/)?([\w-]+)` \|", (ROOT / "docs/tools.md").read_text(), re.M)
        self.assertEqual(there - PARTS, set(listed))

    def test_every_type_and_operator_is_in_the_table(self):
        header = (ROOT / "include/tutti/types.hpp").read_text()
        head, *rows = re.findall(r"^\|.*", re.search(r"## Types and operators(.*?)\n## ", (ROOT / "docs/numerics.md").read_text(), re.S)[1], re.M)
        types = set(re.findall(r"`(\w+)`", " ".join(re.sub(r"\(.*?\)", "", row.split("|")[1]) for row in rows)))
        operators = {name.removesuffix("_sum").removesuffix("_op") for name in re.findall(r"`(\w+)`", head)}
        for enum, listed in {"data_type": types, "reduce_op": operators - {"untyped"}}.items():
            names = re.search(rf"enum class {enum} : .*?\{{(.*?)\}};", header, re.S)[1]
            self.assertEqual(set(re.findall(r"(\w+) =", names)), listed)


if __name__ == "__main__":
    unittest.main()
