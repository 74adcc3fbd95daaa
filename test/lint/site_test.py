#!/usr/bin/env python3
"""The site of the manual: this tree's has no mistakes, and mistakes are found."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import build  # noqa: E402

INDEX = "# Manual\n\n## Guides\n\n| page | for |\n|---|---|\n| [One](one.md) | all |\n\n## Reference\n\n| [Headers](../include/tutti/one.hpp) | all |\n"
HEADER = """// A header.
#pragma once

namespace tutti {{

{}

}}  // namespace tutti
"""
GOOD_HEADER = HEADER.format("""/// A class.
class one {
public:
    one(int start);
    bool empty() const;
    /// Adds.
    void add(int what);
    void add(long what);

    // Functions that end it. They do not wait.

    void close();
    void abort();

    int least = 0;  // of all that were added
};""")

GOOD = {"README.md": "# Tutti\n\n[One](docs/one.md#two)\n", "docs/README.md": INDEX, "include/tutti/one.hpp": GOOD_HEADER,
        "docs/one.md": "# One\n\n## Two\n\n`a%b`, `c('d')` and `e` <a name=\"two-1\"></a>\n\n## Two\n\n[Mark](#two-1), [again](#two-2)\n"}

# file, its text, a part of what is said about it; all of them are one tree, so that Doxygen runs once
BAD = [
    ("include/tutti/a.hpp", HEADER.format("class a {\npublic:\n    int one;\n};"), "a.hpp:6: warning: Compound tutti::a is not documented"),
    ("include/tutti/b.hpp", HEADER.format("/// One.\nvoid one();\n\nvoid b(int);"), "b.hpp:9: warning: Member b(int)"),
    ("include/tutti/c.hpp", HEADER.format("/// A class.\nclass c {\npublic:\n    void run();\n};"), "c.hpp:9: warning: Member run()"),
    ("include/tutti/d.hpp", HEADER.format("/// See \\ref nothing.\nvoid d();"), "d.hpp:6: warning: unable to resolve reference to 'nothing'"),
    ("include/tutti/e.hpp", HEADER.format("/// \\param that Not its name.\nvoid e(int what);"), "argument 'that' of command @param is not found"),
    ("include/tutti/f.hpp", HEADER.format("/// An <b>open tag.\nvoid f();"), "warning: end of comment block while expecting command </b>"),
    ("docs/g.md", "# G\n\n[nowhere](nothing.md)\n\n[there](#nowhere)\n", "g.html: g.html has no g_nowhere"),
    ("docs/h.md", "# H\n\n![a picture](nowhere.svg)\n", "nowhere.svg"),
]


def mistakes(folder, changes):
    root = pathlib.Path(folder, "tree")
    shutil.rmtree(root, ignore_errors=True)
    for name, text in {**GOOD, **changes}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    output = pathlib.Path(folder, "site")
    output.mkdir(exist_ok=True)
    return build.Site(root, output, "1.0").build()


class the_site(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_this_tree_has_no_mistakes(self):
        site = build.Site(ROOT, pathlib.Path(self.folder.name), "1.0")
        self.assertEqual([], site.build())

    def test_mistakes_are_found(self):
        found = "\n".join(mistakes(self.folder.name, {name: text for name, text, _ in BAD}))
        for _, _, said in BAD:
            with self.subTest(said=said):
                self.assertIn(said, found)

    def test_pages_and_headers_read_as_they_are_meant(self):
        self.assertEqual([], mistakes(self.folder.name, {}))
        site = pathlib.Path(self.folder.name, "site/html")
        self.assertIn('href="one.html#one_two"', (site / "index.html").read_text())
        self.assertIn("<code>a%b</code>, <code>c('d')</code> and <code>e</code>", (site / "one.html").read_text())
        members = (site / "classtutti_1_1one.html").read_text()
        self.assertIn("Functions that end it", members)
        self.assertIn("of all that were added", members)
        self.assertIn("A header.", (site / "one_8hpp.html").read_text())

    def test_the_navigation_is_that_of_the_index(self):
        mistakes(self.folder.name, {})
        tree = pathlib.Path(self.folder.name, "site/html/navtreedata.js").read_text()
        parts = [tree.index(text) for text in ('"Guides"', '"One", "one.html"', '"Reference"', '"Classes"', '"Headers"')]
        self.assertEqual(sorted(parts), parts)


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("skipped: doxygen was not found; tools/install-dependencies --docs installs it")
        sys.exit(77)
    unittest.main()
