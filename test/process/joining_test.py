#!/usr/bin/env python3
"""A rank that dies while the ranks join is named by all others at once, whenever that is. Takes the path of rank-program."""

import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

RANKS = 4
LIMIT_S = 30
AT_ONCE_S = 1.0


class Joining(unittest.TestCase):
    def meeting_place(self):
        """Where rank 0 will listen for the others. Nobody else can take the port meanwhile."""
        door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(door.close)
        return door

    def start(self, which, door, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TUTTI_", "OMPI_", "PMI_", "SLURM_"))}
        environment |= {"RANK": str(which), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(door.getsockname()[1])}
        passed = (door.fileno(),) if which == 0 else ()
        environment |= {"TUTTI_STORE_FD": str(each) for each in passed} | more
        started = subprocess.Popen([PROGRAM, "idle"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   pass_fds=passed)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(started):
        started.kill()
        started.communicate()

    def expect_named(self, dead, others, within):
        died = time.monotonic()
        told = [each.communicate(timeout=LIMIT_S) for each in others]
        took = time.monotonic() - died
        for each, (_, err) in zip(others, told):
            self.assertEqual(each.returncode, 1, err)
            self.assertRegex(err, rf"^tutti: rank \d: .*rank {dead}\b")
        self.assertLess(took, within)

    def test_a_rank_that_dies_while_others_are_awaited_is_named(self):
        for dead in (0, 2):
            door = self.meeting_place()
            ranks = {which: self.start(which, door) for which in range(RANKS - 1)}  # one is missing
            time.sleep(2)
            ranks[dead].send_signal(signal.SIGKILL)
            self.expect_named(dead, [each for which, each in ranks.items() if which != dead], AT_ONCE_S)

    def test_a_rank_that_dies_at_any_time_is_named(self):
        seed = int(os.environ.get("TUTTI_SEED", time.time_ns()))
        chance = random.Random(seed)
        for _ in range(12):
            door, dead = self.meeting_place(), chance.randrange(1, RANKS)
            with self.subTest(seed=seed, dead=dead):
                ranks = [self.start(which, door) for which in range(RANKS)]
                time.sleep(chance.uniform(0.01, 0.3))
                ranks[dead].send_signal(signal.SIGKILL)
                try:
                    code = ranks[0].wait(timeout=3)
                except subprocess.TimeoutExpired:
                    continue  # it died before it could say who it was
                self.assertEqual(code, 1)
                self.expect_named(dead, [each for which, each in enumerate(ranks) if which != dead], LIMIT_S)

    def test_a_rank_that_fails_to_join_tells_why(self):
        door = self.meeting_place()
        ranks = [self.start(which, door) for which in range(RANKS - 1)]
        time.sleep(0.5)
        ranks.append(self.start(RANKS - 1, door, TUTTI_TRANSPORT="tcp", TUTTI_TEST_LANES="99"))
        for each in ranks:
            _, err = each.communicate(timeout=LIMIT_S)
            self.assertEqual(each.returncode, 2)
            self.assertTrue(re.search(r"lanes are 1 to \d+, these are 99", err), err)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
