"""Who is compared: how each is started, and how its numbers are read."""

import csv
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import time

PROGRAMS = ("tools/tutti-run", "tools/tutti-perf", "bench/raw-sockets")
TIME_LIMIT = 600  # seconds, of one command
ARENA, SPUN = "Tutti, arena", "Tutti, spun for"
SPUN_BYTES = 1024  # up to here; who waits longer has better to do than to spin

# Of a list of tensors, in the order in which reports show them: Tutti's and raw sockets' word, the drivers' words, the report's.
WAYS = {
    "one_by_one": (("rn50_one_by_one",), "one by one"),
    "in_flight": (("rn50_all_async",), "all in flight"),
    "25MiB_buckets": (("rn50_fused25_nocopy", "rn50_fused25_async"), "25 MiB buckets"),
    "fused": ((), "one vector"),
}

# What a driver is asked for, by transport.
DRIVEN = {
    "tcp": {"ompi_tcp": "Open MPI", "mpich_tcp": "MPICH", "gloo_ring": "Gloo ring", "gloo_hd": "Gloo halving-doubling"},
    "shm": {"ompi_shm": "Open MPI", "mpich_shm": "MPICH"},
}
RAW = {
    "raw_poll": ("raw sockets, asleep", ["--wait", "poll"]),
    "raw_spin": ("raw sockets, spinning", ["--wait", "spin"]),
    "cache_limit": ("streams, no reduction", ["--wait", "spin", "--stream"]),
    "vector_limit": ("streams through the vector", ["--wait", "spin", "--stream", "--over-vector"]),
}


class Complaint(Exception):
    """One line for the caller."""


@dataclasses.dataclass(frozen=True)
class Timing:
    """Of one operation, on the slowest rank."""

    median_us: float
    least_us: float
    cpu: float  # seconds of all cores that a rank uses for one GB


@dataclasses.dataclass(frozen=True)
class Task:
    """What one command measures: vectors of these bytes, or ResNet-50's gradients when there are none."""

    ranks: int
    sizes: tuple
    seconds: float


def output_of(command, name, environment=None):
    # A comparison is about what a user gets: nothing that tunes Tutti comes in from outside.
    usual = {key: value for key, value in os.environ.items() if not key.startswith("TUTTI_")} | (environment or {})
    try:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=usual,
                                   start_new_session=True)
    except OSError as error:
        raise Complaint(f"{name}: {error}") from error
    try:
        out, err = running.communicate(timeout=TIME_LIMIT)
    except BaseException as error:
        os.killpg(running.pid, signal.SIGKILL)  # with all that it has started: nothing runs beside what is measured next
        running.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Complaint(f"{name}: {error}") from error
        raise
    if running.returncode != 0:
        said = (err.strip() or out.strip()).splitlines()
        raise Complaint(f"{name}: {shlex.join(command)} ended with code {running.returncode}" + (f": {said[-1]}" if said else ""))
    return out


def times_in_csv(text, name):
    """{bytes or way: Timing}. The first line that begins with # and has us_med names the columns; of two ways with buckets the quicker
    counts."""
    lines = text.splitlines()
    while lines and not (lines[0].startswith("#") and "us_med" in lines[0]):
        del lines[0]
    if not lines:
        raise Complaint(f"{name}: its output has no line such as '#bytes,us_min,us_med'")
    found = {}
    try:
        for row in csv.DictReader([lines[0].lstrip("# "), *(line for line in lines[1:] if line and not line.startswith("#"))]):
            timing = Timing(float(row["us_med"]), float(row["us_min"]), float(row.get("cpu_ns_per_byte_per_rank") or "nan"))
            what = row.get("what") or "allreduce"
            ways = [way for way, (words, _) in WAYS.items() if what in words]
            if ways and (ways[0] not in found or timing.median_us < found[ways[0]].median_us):
                found[ways[0]] = timing
            elif what == "allreduce":
                found[int(row["bytes"])] = timing
    except (KeyError, TypeError, ValueError) as error:
        raise Complaint(f"{name}: its output cannot be read: {error!r}") from error
    return found


def times_in_json(text, by_way):
    return {row["algorithm"] if by_way else row["bytes"]: Timing(row["time_us_median"], row["time_us_min"], row["cpu_s_per_GB"])
            for row in json.loads(text)}


class OwnProgram:
    """One of the programs of this build, which write JSON. `command` makes the words before the common options, from a number of ranks;
    `fits` says which sizes are measured at all."""

    def __init__(self, name, command, lists=True, fits=lambda ranks, size: True):
        self.name, self.command, self.lists, self.fits = name, command, lists, fits
        self.control = ""  # of congestion, when it is known

    def times(self, task):
        sizes = [size for size in task.sizes if self.fits(task.ranks, size)]
        if not sizes and (task.sizes or not self.lists):
            return {}
        what = ["--bytes", ",".join(map(str, sizes))] if sizes else ["--list", "resnet50"]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "times.json"
            output_of([*self.command(task.ranks), *what, "--seconds", str(task.seconds), "--json", str(file)], self.name)
            text = file.read_text()
        self.control = json.loads(text)[0]["transport"].partition("sockets, ")[2]  # what plain sockets say
        return times_in_json(text, by_way=not sizes)


class Command:
    """A command that prints CSV. One without {mode} is not asked for lists."""

    def __init__(self, name, text):
        self.name, self.text = name, text

    def times(self, task):
        if not task.sizes and "{mode}" not in self.text:
            return {}
        filled = self.text.replace("{ranks}", str(task.ranks)).replace("{bytes}", ",".join(map(str, task.sizes or (4,))))
        filled = filled.replace("{seconds}", str(task.seconds)).replace("{mode}", "sweep" if task.sizes else "resnet")
        return times_in_csv(output_of(shlex.split(filled), self.name), self.name)


class Driven:
    """One of the libraries that a driver knows."""

    def __init__(self, driver, word, name):
        self.driver, self.word, self.name = driver, word, name

    def times(self, task):
        sizes = ",".join(map(str, task.sizes or (4,)))
        mode = {"MODE": "sweep" if task.sizes else "resnet"}
        return times_in_csv(output_of([self.driver, str(task.ranks), sizes, str(task.seconds), self.word], self.name, mode), self.name)


def tutti(build, transport, name="Tutti", more=(), **limits):
    def command(ranks):
        return [str(build / "tools/tutti-run"), "-n", str(ranks), "--no-prefix", "--", str(build / "tools/tutti-perf"), "all_reduce", "--in-place",
                "--transport", transport, *more]
    return OwnProgram(name, command, **limits)


def idle_percent(build):
    """Of a core, that a rank uses which waits for nothing; of two the busier one."""
    began = str(time.time_ns())
    text = output_of([str(build / "tools/tutti-run"), "-n", "2", "--no-prefix", "--", str(build / "bench/footprint-rank"), began], "footprint-rank")
    found = re.search(r"idle.*?([0-9.]+) %", text)
    if not found:
        raise Complaint(f"footprint-rank says nothing of idle ranks: {text.strip()}")
    return float(found[1])


def raw(build, word):
    name, words = RAW[word]
    return OwnProgram(name, lambda ranks: [str(build / "bench/raw-sockets"), "-n", str(ranks), *words], lists="--stream" not in words)


def everybody(build, transport, driver, chosen, commands):
    """Tutti first; over shared memory also with buffers from its arena, and spun for. `chosen`: words, or None for all there are. `commands`: texts NAME=COMMAND."""
    for program in PROGRAMS:
        if not (build / program).exists():
            raise Complaint(f"{build / program} is not there; tools/build makes it, and --build names another folder")
    own = RAW if transport == "tcp" else {}
    driven = DRIVEN[transport]
    for word in chosen or []:
        if word not in own and word not in driven:
            raise Complaint(f"--peers: there is no '{word}' over {transport}; there are {', '.join([*own, *driven])}")
        if word in driven and not driver:
            raise Complaint(f"--peers {word} needs a --driver")
    words = [*own, *(driven if driver else [])] if chosen is None else chosen
    peers = [raw(build, word) if word in own else Driven(driver, word, driven[word]) for word in words]
    for text in commands:
        name, equals, command = text.partition("=")
        if not (name and equals and command):
            raise Complaint(f"--peer takes NAME=COMMAND, not '{text}'")
        peers.append(Command(name, command))
    more = []
    if transport == "shm":
        cores = os.cpu_count() or 1  # more ranks than that must not spin without giving their core away
        more = [tutti(build, transport, ARENA, ["--arena"], lists=False),
                tutti(build, transport, SPUN, ["--spin"], lists=False, fits=lambda ranks, size: ranks <= cores and size <= SPUN_BYTES)]
    return [tutti(build, transport), *more, *peers]
