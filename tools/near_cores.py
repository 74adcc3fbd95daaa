"""Turns of a measurement that count: those before and after which two cores were near each other.

The cores of a virtual machine move about its host. Where two of them share no cache, a line takes several times as long from one to the other,
and so does every copy between two ranks: whoever has such a turn seems slow. So a turn is taken again, until it began and ended with near
cores, or patience is at an end."""

import pathlib
import subprocess
import time

NEAR_NS = 150  # from one core to another and back, at best: 50 to 100 where they share a cache, 300 and more where they do not
PATIENCE_SECONDS = 120  # for one turn
PAUSE_SECONDS = 0.5


def distance_ns(build):
    """Nanoseconds; None where the build has no such program."""
    program = pathlib.Path(build) / "bench/core-distance"
    return float(subprocess.run([program], text=True, capture_output=True, check=True).stdout) if program.exists() else None


class Turns:
    def __init__(self, build, distance=distance_ns, clock=time.monotonic, pause=time.sleep):
        self.build, self.distance, self.clock, self.pause = build, distance, clock, pause
        self.again = self.far = 0  # turns that were taken again; turns that count although cores were far

    def near(self):
        """True too where nobody can tell."""
        found = self.distance(self.build)
        return found is None or found <= NEAR_NS

    def take(self, run):
        """What run() returns in a turn that counts."""
        until = self.clock() + PATIENCE_SECONDS
        while True:
            near = self.near()
            while not near and self.clock() < until:
                self.pause(PAUSE_SECONDS)
                near = self.near()
            result = run()
            if near and self.near():
                return result
            if self.clock() >= until:
                self.far += 1
                return result
            self.again += 1

    def told(self):
        return f"{self.again} turns taken again, {self.far} that count although two cores were far from each other"
