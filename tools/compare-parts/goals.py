"""What Tutti wants to reach, and whether it does: a row for each goal."""

import dataclasses
import math
from collections.abc import Callable

from contenders import ARENA, RAW, SPUN, WAYS
from report import amount, markdown, number

KIB, MIB = 1024, 1024**2
VECTOR_LIMIT, SPINNING = RAW["vector_limit"][0], RAW["raw_spin"][0]
FROM_64K = tuple(64 * KIB * 4**power for power in range(7))  # to 256 MiB
EACH_WAY = ("one_by_one", "in_flight", "25MiB_buckets")


def libraries(results):
    own = {name for name, _ in RAW.values()}
    return [name for name in results if not name.startswith("Tutti") and name not in own]


def timing(results, name, what):
    return results.get(name, {}).get(what)


def by(upper, lower):
    return upper / lower if upper is not None and lower else None


def quickest(results, what):
    """(name, microseconds) of the quickest library."""
    found = [(timing(results, name, what).median_us, name) for name in libraries(results) if timing(results, name, what)]
    return min(found)[::-1] if found else ("", None)


def us(results, name, what):
    return timing(results, name, what).median_us if timing(results, name, what) else None


def library_by(name):
    def value(results, what):
        whose, best = quickest(results, what)
        return by(best, us(results, name, what)), whose
    return value


def by_library(name):
    def value(results, what):
        whose, best = quickest(results, what)
        return by(us(results, name, what), best), whose
    return value


def share_of(limit):
    return lambda results, what: (by(us(results, limit, what), us(results, "Tutti", what)), "")


def mine_by_spinning(results, what):
    return by(us(results, "Tutti", what), us(results, SPINNING, what)), ""


def in_flight_by_fused(results, what):
    return by(us(results, "Tutti", what), us(results, "Tutti", "fused")), ""


def cpu_by_mine(results, what):
    found = [(timing(results, name, what).cpu, name) for name in libraries(results) if timing(results, name, what)]
    found = [one for one in found if not math.isnan(one[0])]
    least, whose = min(found) if found else (None, "")
    mine = timing(results, "Tutti", what)
    return by(least, mine.cpu if mine else None), whose


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    table: tuple  # (transport, ranks)
    cases: tuple  # sizes or ways
    value: Callable  # (results, what) -> (ratio or None, against whom)
    least: float | None = None  # the ratio is wanted to be this at least,
    most: float | None = None  # or this at most
    above: bool = False  # or more than `least`
    percent: bool = False

    def reached(self, ratio):
        if self.most is not None:
            return ratio <= self.most
        return ratio > self.least if self.above else ratio >= self.least

    def shown(self, ratio):
        return f"{100 * ratio:.0f} %" if self.percent else number(ratio)

    def wanted(self):
        sign = "<=" if self.most is not None else ">" if self.above else ">="
        bound = self.most if self.most is not None else self.least
        return f"{sign} {100 * bound:.0f} %" if self.percent else f"{sign} {bound:g}"

    def values(self, results):
        """[(what, ratio or None, against whom)]"""
        return [(what, *self.value(results, what)) for what in self.cases]

    def worst(self, results):
        ratios = [ratio for _, ratio, _ in self.values(results) if ratio is not None]
        return (max if self.most is not None else min)(ratios, default=None)

    def row(self, results):
        """None when nothing of it was measured."""
        worst = self.worst(results)
        if worst is None:
            return None
        cells, complete = [], True
        for what, ratio, whose in self.values(results):
            label = amount(what) if isinstance(what, int) else WAYS[what][1]
            complete &= ratio is not None
            cells.append(f"{label}: -" if ratio is None else f"{label}: {self.shown(ratio)}" + f" ({whose})" * bool(whose))
        met = "**no**" if not self.reached(worst) else "yes" if complete else "not all measured"
        return [self.text, self.wanted(), self.shown(worst), met, self.shown(self.worst(with_least(results))), "; ".join(cells)]


def with_least(results):
    """As if the least batch of each were its median."""
    return {name: {what: dataclasses.replace(one, median_us=one.least_us) for what, one in times.items()} for name, times in results.items()}


def tcp_goals():
    two, four, eight = (("tcp", ranks) for ranks in (2, 4, 8))
    library = library_by("Tutti")
    large = (16 * MIB, 64 * MIB, 256 * MIB)
    goals = [
        Goal("2 ranks, up to 1 KiB: the quickest library by Tutti", two, (4, KIB), library, least=1),
        Goal("2 ranks, up to 1 KiB: Tutti by spinning raw sockets", two, (4, KIB), mine_by_spinning, most=1.5),
        Goal("2 ranks, 16 KiB to 4 MiB: the quickest library by Tutti", two, (16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB), library, least=1, above=True),
        Goal("2 ranks, from 16 MiB: the quickest library by Tutti", two, large, library, least=2),
        Goal("2 ranks, from 16 MiB: share of the limit through the vector", two, large, share_of(VECTOR_LIMIT), least=0.8, percent=True),
        Goal("4 ranks, up to 16 KiB: Open MPI by Tutti", four, (4, KIB, 16 * KIB), open_mpi_by_mine, least=1),
        Goal("4 ranks, from 64 KiB: the quickest library by Tutti", four, FROM_64K, library, least=1.5),
        Goal("8 ranks: the quickest library by Tutti", eight, (4, 64 * KIB, 16 * MIB), library, least=1, above=True),
    ]
    for table in (two, four):
        goals += [Goal(f"ResNet-50, {table[1]} ranks: the quickest library by Tutti", table, EACH_WAY, library, least=1, above=True),
                  Goal(f"ResNet-50, {table[1]} ranks: Tutti, all in flight by one vector", table, ("in_flight",), in_flight_by_fused, most=1.2)]
    goals += [Goal(f"CPU, {table[1]} ranks, from 1 MiB: that of the library with least by Tutti's", table, cases, cpu_by_mine, least=1)
              for table, cases in ((two, FROM_64K[2:]), (four, FROM_64K[2:]), (eight, (16 * MIB,)))]
    return goals


def open_mpi_by_mine(results, what):
    return by(us(results, "Open MPI", what), us(results, "Tutti", what)), ""


def shared_memory_goals():
    goals = []
    for ranks in (2, 4):
        table, name = ("shm", ranks), f"shared memory, {ranks} ranks"
        goals += [
            Goal(f"{name}, from 64 KiB: the quickest library by Tutti", table, FROM_64K, library_by("Tutti"), least=2),
            Goal(f"{name}, 64 MiB: the quickest library by Tutti", table, (64 * MIB,), library_by("Tutti"), least=3),
            Goal(f"{name}, from 64 KiB: the quickest library by Tutti in the arena", table, FROM_64K, library_by(ARENA), least=4),
            Goal(f"{name}, 4 B: Tutti, awaited, by the quickest library", table, (4,), by_library("Tutti"), most=2),
        ]
    return [*goals, Goal("shared memory, 2 ranks, 4 B: Tutti, spun for, by the quickest library", ("shm", 2), (4,), by_library(SPUN), most=2)]


IDLE = "a rank that waits for nothing: of a core"


def idle_row(idle):
    if not idle:
        return None
    return [IDLE, "0.0 %", f"{max(idle):.1f} %", "yes" if max(idle) < 0.05 else "**no**", f"{min(idle):.1f} %",
            ", ".join(f"{one:.2f} %" for one in idle)]


EXPLAINED = """Ratios of medians over all rounds; the worst counts, and in brackets stands whom it is against. Libraries are all others but plain
sockets, and MPICH over TCP with more ranks than cores, where its ranks spin without giving the core away.
An all-reduce of S bytes on 2 ranks moves at least S bytes each way: the streams move exactly these, both ways at once, over sockets
with the congestion control of Tutti's links, and reduce nothing. Through the vector they send one half of it and receive the other: every byte
is touched once, where an all-reduce has to read and to write it. That is the limit, and the share of it is their time by Tutti's. The tables
also have streams that send the same 1 MiB again and again and so stay in cache, as no all-reduce of more can. `worst of least` is the worst ratio where everybody's least batch of all rounds counts in place of the median: what other work disturbed is not in it."""


def section(results, idle):
    """`results`: {(transport, ranks): {name: {what: Timing}}}."""
    rows = {goal.text: goal.row(results.get(goal.table, {})) for goal in (*tcp_goals(), *shared_memory_goals())} | {IDLE: idle_row(idle)}
    measured = [row for row in rows.values() if row]
    missing = [text for text, row in rows.items() if not row]
    lines = ["## Goals", "", EXPLAINED, ""]
    if measured:
        lines += [markdown(["goal", "wanted", "worst", "met", "worst of least", "all"], measured, ":--"), ""]
    if missing:
        lines += ["Not measured: " + "; ".join(missing) + ".", ""]
    return "\n".join(lines)
