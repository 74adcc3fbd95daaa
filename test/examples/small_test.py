#!/usr/bin/env python3
"""Runs the small examples as their page says, and compares what every rank prints.

usage: small_test.py TUTTI_TEST_RUN HELLO GUEST
"""

import re
import subprocess
import sys


def lines(launcher, ranks, program):
    """What `ranks` ranks print, without its number, which the launcher puts before it, and without how long it took."""
    done = subprocess.run([launcher, "-n", str(ranks), "--", program], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} on {ranks} ranks ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return sorted(re.sub(r"^\[\d+\] |ticks.*", "", line) for line in done.stdout.splitlines())


def main(launcher, hello, guest):
    for ranks in (1, 2, 3):
        total = ranks * (ranks + 1) // 2
        rows = ((hello, [f"rank {me} of {ranks}: the sum is {total}" for me in range(ranks)]),
                (guest, [f"the average is {(ranks - 1) / 2:g}, "] * ranks))
        for program, expected in rows:
            found = lines(launcher, ranks, program)
            if found != expected:
                sys.exit(f"{program} on {ranks} ranks printed {found}, not {expected}")
            print(f"{program} on {ranks} ranks: {found[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
