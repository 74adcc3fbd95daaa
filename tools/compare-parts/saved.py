"""What was measured, in parts: kept in files, read again, put together."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import statistics

from contenders import Complaint, Timing


@dataclasses.dataclass
class Table:
    """Of one transport and number of ranks: what everybody took in every round, and who failed."""

    transport: str
    ranks: int
    rounds: dict = dataclasses.field(default_factory=dict)  # {name: [{bytes or way: Timing}, ...]}
    complaints: list = dataclasses.field(default_factory=list)

    def add(self, other):
        for name, rounds in other.rounds.items():
            self.rounds.setdefault(name, []).extend(rounds)
        self.complaints += [one for one in other.complaints if one not in self.complaints]

    def results(self):
        """{name: {bytes or way: Timing}}"""
        return {name: median_of(rounds) for name, rounds in self.rounds.items()}


@dataclasses.dataclass
class Measured:
    """Of one machine; `runs` says how and when."""

    machine: dict
    runs: list = dataclasses.field(default_factory=list)
    tables: dict = dataclasses.field(default_factory=dict)  # {(transport, ranks): Table}
    idle: list = dataclasses.field(default_factory=list)  # per cent of a core that a rank uses which waits for nothing
    control: str = ""  # of congestion, which plain sockets have and Tutti's links

    def add_table(self, table):
        self.tables.setdefault((table.transport, table.ranks), Table(table.transport, table.ranks)).add(table)

    def add(self, other, where):
        if other.machine != self.machine:
            raise Complaint(f"{where} is of another machine: {other.machine}, not {self.machine}")
        self.runs += other.runs
        for table in other.tables.values():
            self.add_table(table)
        self.idle += other.idle
        self.control = self.control or other.control


def median_of(rounds):
    """{what: Timing} of the medians; the least of the least."""
    found = {}
    for what in dict.fromkeys(what for times in rounds for what in times):
        all_of_it = [times[what] for times in rounds if what in times]
        found[what] = Timing(statistics.median(one.median_us for one in all_of_it), min(one.least_us for one in all_of_it),
                             statistics.median(one.cpu for one in all_of_it))
    return found


def this_machine():
    return {"processor": processor(), "cores": os.cpu_count() or 1, "kernel": re.match(r"[\d.]*", platform.release())[0], "congestion control": congestion_control()}


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def congestion_control():
    try:
        return pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    except OSError:
        return "unknown"


def to_text(measured):
    tables = [{"transport": table.transport, "ranks": table.ranks, "complaints": table.complaints,
               "rounds": {name: [{str(what): dataclasses.astuple(timing) for what, timing in times.items()} for times in rounds]
                          for name, rounds in table.rounds.items()}} for table in measured.tables.values()]
    return json.dumps({"machine": measured.machine, "runs": measured.runs, "tables": tables, "idle": measured.idle, "control": measured.control},
                      indent=1) + "\n"


def from_text(text, where):
    try:
        read = json.loads(text)
        measured = Measured(read["machine"], read["runs"], {}, read["idle"], read["control"])
        for table in read["tables"]:
            rounds = {name: [{int(what) if what.isdigit() else what: Timing(*timing) for what, timing in times.items()} for times in rounds]
                      for name, rounds in table["rounds"].items()}
            measured.add_table(Table(table["transport"], table["ranks"], rounds, table["complaints"]))
        return measured
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Complaint(f"{where} is not what --save writes: {error!r}") from error


def put_together(files):
    """All of them as one."""
    found = None
    for file in files:
        try:
            measured = from_text(file.read_text(), file)
        except OSError as error:
            raise Complaint(f"cannot read {file}: {error.strerror}") from error
        if found:
            found.add(measured, file)
        else:
            found = measured
    return found
