"""The tables of a comparison, as Markdown."""

import math

from contenders import WAYS

TRANSPORTS = {"tcp": "TCP", "shm": "shared memory"}


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


def markdown(head, rows, side="--:"):
    return "\n".join(["| " + " | ".join(head) + " |", f"|{side}" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)])


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


def title(transport, ranks):
    return f"{TRANSPORTS[transport]}, {ranks} ranks"


def section(title, results, cores):
    """`results`: {name: {what: Timing}}, what being bytes or ways."""
    lines = [f"## {title[:1].upper()}{title[1:]} on {cores} cores", ""]
    sizes = sorted({what for times in results.values() for what in times if isinstance(what, int)})
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


def preface(measured):
    machine = measured.machine
    means = {"tcp": "TCP on loopback", "shm": "shared memory"}
    over = " and ".join(text for transport, text in means.items() if any(transport == one for one, _ in measured.tables))
    rounds = {len(turns) for table in measured.tables.values() for turns in table.rounds.values() if turns}
    lines = [f"Float sum all-reduce in place, all ranks on one host, over {over}. {machine['processor']}, {machine['cores']} cores, Linux"
             f" {machine['kernel']}. Medians of rounds in which everybody has a turn. A batch of operations takes as long as its slowest rank;"
             " everybody's environment is the default one. Ranks of Tutti that share cores stay on them, as tutti-run has it; the others' may move."
             if rounds else "Nothing was compared.", ""]
    if any(transport == "tcp" for transport, _ in measured.tables):
        own = measured.control or "one that does not pace, where there is one"
        lines += [f"Congestion control on loopback: {own} for Tutti, which chooses it, and for plain sockets; {machine['congestion control']}, the system's,"
                  " for the others.", ""]
    lines += [f"- `{run['command']}`, {run['date']}, load {run['load']}, {run['seconds']} s; {run.get('turns', 'wherever the cores were')}" for run in measured.runs]
    return "\n".join(lines) + "\n"
