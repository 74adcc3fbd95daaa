#!/usr/bin/env python3
"""Builds the manual as a site: the pages, and the reference of the public headers, by Doxygen, without a network.

The navigation has the order of docs/README.md. These are mistakes: each warning of Doxygen, a link that leads nowhere, and a class or a function
without a comment. A comment stands for all declarations below it up to the next empty line, and that of a group for the group. None is asked of
values, constructors, operators, and functions without parameters that change nothing.

usage: build.py OUTPUT [--root ROOT] [--version VERSION]; the site is in OUTPUT/html. Prints the mistakes, and exits with 1 if there are any.
"""

import argparse
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
from xml.sax.saxutils import escape, quoteattr

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]

import headers  # noqa: E402
import pages  # noqa: E402

PAGES = ["README.md", "docs/*.md", "examples/README.md", "CONTRIBUTING.md", "SECURITY.md"]
UNDOCUMENTED = re.compile(r"(?P<place>\S+:\d+): warning: "
                          r"(?:Member (?P<member>.*) \((?P<kind>[^)]*)\) of \S+ (?P<scope>.*)|Compound (?P<compound>.*)) is not documented\.")
FUNCTION = re.compile(r"(?P<name>[~\w]+|operator.*?)\((?P<parameters>.*?)\)(?P<after>[^()]*)$")


class Anchors(html.parser.HTMLParser):
    """What a page offers and where it leads."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values[key] for key in ("id", "name") if values.get(key)}
        self.links |= {values[key] for key in ("href", "src", "data") if values.get(key)}


class Site:
    def __init__(self, root, output, version):
        self.root, self.output, self.version = root, output, version
        self.staged = output / "staged"
        self.headers = sorted(path.relative_to(root / "include").as_posix().removesuffix(".in") for path in (root / "include/tutti").rglob("*.hpp*")
                              if "detail" not in path.relative_to(root).parts)
        self.pages = [path.relative_to(root).as_posix() for pattern in PAGES for path in sorted(root.glob(pattern))]

    def build(self):
        """Returns the mistakes."""
        for old in (self.staged, self.output / "html"):
            shutil.rmtree(old, ignore_errors=True)
        self.stage()
        self.write_layout()
        self.run_doxygen()
        return [*self.complaints(), *self.dead_links()]

    def stage(self):
        for header in self.headers:
            source = self.root / "include" / header
            self.write(f"include/{header}", headers.described((source if source.exists() else source.with_suffix(".hpp.in")).read_text()))
        for page in self.pages:
            self.write(page, pages.staged(page, (self.root / page).read_text(), self.pages, self.headers))

    def write(self, name, text):
        target = self.staged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def write_layout(self):
        """Doxygen's own, but for the navigation."""
        layout = self.output / "layout.xml"
        subprocess.run(["doxygen", "-l", str(layout)], check=True, capture_output=True)
        groups = "".join(f'<tab type="usergroup" title={quoteattr(title)}>{"".join(map(self.tab, entries))}{self.listings(title)}</tab>'
                         for title, entries in pages.sections((self.root / "docs/README.md").read_text()))
        navigation = f'<navindex><tab type="mainpage" visible="yes" title="Tutti"/><tab type="user" title="Contents" url="manual.html"/>{groups}</navindex>'
        layout.write_text(re.sub(r"<navindex>.*</navindex>", lambda _: navigation, layout.read_text(), flags=re.S))

    def tab(self, entry):
        title, target, anchor = entry
        if target not in self.pages:
            return ""  # the headers, which Doxygen lists
        address = pages.name_of(target) + ".html" + (f"#{pages.label(target, anchor)}" if anchor else "")
        return f'<tab type="user" title={quoteattr(title)} url={quoteattr(address)}/>'

    def listings(self, title):
        kinds = {"classlist": "Classes", "namespacemembers": "Functions, types and values", "filelist": "Headers"}
        return "".join(f'<tab type="{kind}" visible="yes" title="{escape(name)}"/>' for kind, name in kinds.items()) if title == "Reference" else ""

    def run_doxygen(self):
        words = {"VERSION": self.version, "INPUT": " ".join(str(self.staged / name) for name in ["include", *self.pages]),
                 "MAIN_PAGE": self.staged / pages.MAIN, "IMAGES": self.root / "docs", "STYLE": HERE / "site.css", "OUTPUT": self.output,
                 "LAYOUT": self.output / "layout.xml", "WARNINGS": self.output / "warnings.txt", "STAGED": self.staged}
        file = self.output / "Doxyfile"
        file.write_text(re.sub(r"@(\w+)@", lambda word: str(words[word[1]]), (HERE / "Doxyfile.in").read_text()))
        subprocess.run(["doxygen", str(file)], check=True, cwd=self.output)

    def complaints(self):
        """What Doxygen says, without what needs no comment, about the source rather than what is staged."""
        for line in (self.output / "warnings.txt").read_text().split("\n"):
            match = UNDOCUMENTED.match(line)
            if line and "tutti::detail::" not in line and not (match and (self.needs_none(match) or self.below_comment(match))):
                yield line.replace(f"{self.staged}/", "")

    def needs_none(self, match):
        if match["compound"]:
            return "detail::" in match["compound"]
        function = FUNCTION.match(match["member"]) if match["kind"] == "function" else None
        if not function or "detail" in match["scope"] or function["name"].startswith("operator"):
            return True
        scope = re.sub(r"<.*", "", match["scope"]).split("::")[-1].strip()
        return function["name"].lstrip("~") == scope or (not function["parameters"] and "const" in function["after"])

    def below_comment(self, match):
        """Whether only other declarations are between a comment, or the beginning of a group, and this one."""
        file, _, line = match["place"].rpartition(":")
        above = pathlib.Path(file).read_text().split("\n")[:int(line) - 1]
        while above and above[-1].strip() and above[-1].strip() not in ("public:", "protected:"):
            if above[-1].strip().startswith("///"):
                return not match["compound"] and "\\file" not in above[-1]
            if above[-1].strip() == "/**@{*/":
                return True
            above.pop()
        return False

    def dead_links(self):
        """Of the pages; those of the reference are Doxygen's own matter."""
        site = self.output / "html"
        read = {path.name: Anchors(path.read_text(errors="replace")) for path in site.glob("*.html")}
        for name in sorted(f"{pages.name_of(page)}.html" for page in self.pages):
            for link in sorted(read[name].links):
                file, _, anchor = link.partition("#")
                if re.match(r"[A-Za-z][\w+.-]*:", link):
                    continue
                target = file or name
                if not (site / target).exists():
                    yield f"{name}: the link to {link} leads nowhere"
                elif anchor and target in read and anchor not in read[target].names:
                    yield f"{name}: {target} has no {anchor}"


def main():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("output", type=pathlib.Path, help="the folder that gets the site")
    made.add_argument("--root", type=pathlib.Path, default=HERE.parents[1], help="the tree that it is about")
    made.add_argument("--version", default="", help="what it says beside the name")
    options = made.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    site = Site(options.root.resolve(), options.output.resolve(), options.version)
    mistakes = site.build()
    print(*mistakes, f"{len(site.pages)} pages and {len(site.headers)} headers in {options.output}/html; {len(mistakes)} mistakes", sep="\n")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
