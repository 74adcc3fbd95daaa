#!/usr/bin/env python3
"""The programs of docs/embedding.md, run as the page says.

usage: embedding_test.py TUTTI_RUN PAGE_PROGRAM PAGE SERVER FORK
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

RUN, PAGE_PROGRAM, PAGE, SERVER, FORK = sys.argv[1:6]
TRANSPORTS = ("tcp", "shm", "auto")
PATIENCE = 60


class job:
    """Two ranks, whose processes and ports are known from what they print."""

    def __init__(self, transport):
        shell = f"echo pid $$; exec {SERVER}"
        self.process = subprocess.Popen([RUN, "-n", "2", "--", "/bin/sh", "-c", shell], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env={**os.environ, "TUTTI_TRANSPORT": transport})
        self.pids, self.ports, self.out = {}, {}, ""
        while len(self.ports) < 2:
            line = self.process.stdout.readline()
            self.out += line
            if not line:
                raise RuntimeError(self.out)
            if found := re.match(r"\[(\d)\] pid (\d+)", line):
                self.pids[int(found[1])] = int(found[2])
            if found := re.match(r"\[(\d)\] listening at port (\d+)", line):
                self.ports[int(found[1])] = int(found[2])

    def ask(self, rank):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[rank]}/", timeout=PATIENCE) as answer:
            return answer.read().decode()

    def until_it_computes(self):
        end = time.monotonic() + PATIENCE
        while True:
            told = [self.ask(rank) for rank in (0, 1)]
            if all(re.fullmatch(r"step [1-9]\d*, average 0\.500000\n", each) for each in told):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{told}")

    def end(self):
        self.out += self.process.communicate(timeout=PATIENCE)[0]
        return self.process.returncode


class what_the_page_promises(unittest.TestCase):
    def test_every_program_of_the_page_is_run_here(self):
        self.assertEqual("2\n", subprocess.run([PAGE_PROGRAM, "--count", PAGE], capture_output=True, text=True, check=True).stdout)

    def test_the_server_answers_while_it_computes_and_all_ranks_stop_well_when_one_is_interrupted(self):
        for transport in TRANSPORTS:
            for interrupted in ((0,), (1,), (0, 1)):
                with self.subTest(transport=transport, interrupted=interrupted):
                    server = job(transport)
                    server.until_it_computes()
                    for what in (signal.SIGSTOP, signal.SIGINT, signal.SIGCONT):  # at the same time, as by a terminal
                        for rank in interrupted:
                            os.kill(server.pids[rank], what)
                    self.assertEqual(0, server.end(), server.out)
                    steps = re.findall(r"rank \d stopped after (\d+) steps", server.out)
                    self.assertEqual(2, len(steps), server.out)
                    self.assertEqual(steps[0], steps[1])

    def test_a_rank_that_is_interrupted_twice_ends_at_once_and_the_other_says_why_it_ends(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                server = job(transport)
                server.until_it_computes()
                os.kill(server.pids[1], signal.SIGSTOP)  # so that rank 0 cannot stop well
                time.sleep(0.05)
                for _ in range(2):
                    os.kill(server.pids[0], signal.SIGINT)
                    time.sleep(0.2)
                os.kill(server.pids[1], signal.SIGCONT)
                self.assertEqual(1, server.end(), server.out)
                self.assertRegex(server.out, r"\[1\] rank 1: .*rank 0 (dropped|left|died)")

    def test_a_forked_helper_is_refused_and_the_job_goes_on(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                done = subprocess.run([RUN, "-n", "2", "--", FORK], capture_output=True, text=True, timeout=PATIENCE,
                                      env={**os.environ, "TUTTI_TRANSPORT": transport})
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertEqual(["[0] rank 0: the sum is 4", "[0] the helper's call is refused at once", "[1] rank 1: the sum is 4"],
                                 sorted(done.stdout.splitlines()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
