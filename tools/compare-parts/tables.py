"""Reads the tables of a comparison again, to draw the picture of what a page says."""

import math
import re

from contenders import Complaint, Timing
from report import amount

SECTION = re.compile(r"^## (?P<title>.*, \d+ ranks) on \d+ cores$")
SIZES = {amount(2**power): 2**power for power in range(2, 41)}


def read(text, where):
    """{title: {name: {bytes: Timing}}} of the medians, which have three digits there; and where and when they were measured."""
    found, title, names = {}, None, []
    for line in text.split("\n"):
        section = SECTION.match(line)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if section:
            title, names = section["title"], []
        elif title and not names and line.startswith("|"):
            names = cells[1:]
            found[title] = {name: {} for name in names}
        elif title and names and not line.startswith("|"):
            title = None  # the section's other tables are of processor time, and of lists
        elif title and cells[0] in SIZES:
            for name, cell in zip(names, cells[1:], strict=True):
                if cell != "-":
                    found[title][name][SIZES[cells[0]]] = Timing(float(cell.split()[0]), math.nan, math.nan)
    machine = re.search(r"\. ([^.]*), \d+ cores, Linux", text)
    dates = re.findall(r"^- `tools/compare .*?`, ([\d-]+ [\d:]+ UTC)", text, re.M)
    if not found or not machine or not dates:
        raise Complaint(f"{where} has no tables of tools/compare")
    return found, f"{machine[1]}; {dates[-1]}"
