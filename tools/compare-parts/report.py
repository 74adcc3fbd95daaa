"""The tables of a comparison, as Markdown."""

import math
import os
import pathlib
import platform
import statistics

from contenders import WAYS, Timing


TRANSPORTS = {"tcp": "TCP", "shm": "shared memory"}


def median_of(rounds):
    """{what: Timing} of the medians; the least of the least."""
    found = {}
    for what in dict.fromkeys(what for times in rounds for what in times):
        all_of_it = [times[what] for times in rounds if what in times]
        found[what] = Timing(statistics.median(one.median_us for one in all_of_it), min(one.least_us for one in all_of_it),
                             statistics.median(one.cpu for one in all_of_it))
    return found


def amount(size):
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def number(value):
    """Three digits that say something, and no exponent."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def markdown(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|--:" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)])


def with_ratio(theirs, mine, unit):
    """Their time, and how many times as long as Tutti's it is."""
    if theirs is None:
        return "-"
    return f"{number(theirs.median_us / unit)} ({number(theirs.median_us / mine.median_us)})" if mine else number(theirs.median_us / unit)


def ratios(results, keys, label, unit=1.0):
    """`results`: {name: {what: Timing}}, Tutti first; `label` names a row."""
    names = list(results)
    mine = results[names[0]]
    rows = []
    for key in keys:
        own = mine.get(key)
        rows.append([label(key), number(own.median_us / unit if own else None), *(with_ratio(results[name].get(key), own, unit) for name in names[1:])])
    return markdown(["", *names], rows)


def cpu(results, keys, label):
    return markdown(["", *results], [[label(key), *(number(times[key].cpu if key in times else None) for times in results.values())] for key in keys])


def section(title, results, sizes):
    """`results`: {name: {what: Timing}}, what being bytes or ways."""
    lines = [f"## {title[:1].upper()}{title[1:]} on {os.cpu_count() or 1} cores", ""]
    if sizes:
        lines += ["Microseconds of one operation; in brackets how many times as long as Tutti: above 1, Tutti is quicker.", "",
                  ratios(results, sizes, amount), ""]
        large = [size for size in sizes if size >= 64 * 1024]
        if large:
            lines += ["CPU seconds that a rank uses for one GB of the vector, on all cores:", "", cpu(results, large, amount), ""]
    ways = [way for way in WAYS if any(way in times for times in results.values())]
    if ways:
        lines += ["ResNet-50's gradients (161 tensors, 102 MB), milliseconds for all of them:", "",
                  ratios(results, ways, lambda way: WAYS[way][1], 1000), "",
                  "CPU seconds that a rank uses for one GB of them:", "", cpu(results, ways, lambda way: WAYS[way][1]), ""]
    return "\n".join(lines)


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


def preface(transports, rounds, command, when):
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    means = {"tcp": f"TCP on loopback (the system's congestion control is {congestion_control()})", "shm": "shared memory"}
    over = " and ".join(text for transport, text in means.items() if transport in transports)
    return (f"Float sum all-reduce in place, all ranks on one host, over {over}. {processor()}, {os.cpu_count()} cores, Linux {platform.release()},"
            f" load {load}; {when}.\n`{command}`: medians of {rounds} round{'s' * (rounds != 1)} in turns. A batch of operations takes as long as its slowest"
            " rank; everybody's environment is the default one.\n")
