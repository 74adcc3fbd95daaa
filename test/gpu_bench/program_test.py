#!/usr/bin/env python3
"""tutti-gpu-bench from the outside, on simulated devices in real time: every part runs to its end with right results, its JSON and its drawing
can be read, and what cannot be measured is told in one line.

usage: program_test.py TUTTI_RUN TUTTI_GPU_BENCH WITH_DEVICE_CODE; TUTTI_CUDA_LIBRARY, TUTTI_NCCL_LIBRARY and TUTTI_SIM_KERNELS name the simulator.
No time is looked at: the machine may be busy.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

LAUNCHER, BENCH, WITH_CODE = sys.argv[1], sys.argv[2], sys.argv[3] == "true"
WITHOUT_DEVICES = {**os.environ, "TUTTI_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}


def bench(*words, ranks=1, env=None):
    start = [LAUNCHER, "-n", str(ranks), "--no-prefix", "--"] if ranks > 1 else []
    return subprocess.run([*start, BENCH, *words], capture_output=True, text=True, env=env, timeout=100)


class Parts(unittest.TestCase):
    def document(self, *words, ranks=1):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "rows.json")
            done = bench(*words, "--json", str(file), ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(file.read_text())
            self.assertEqual(found["part"], words[0])
            self.assertEqual(found["ranks"], ranks)
            return found, done.stdout

    @unittest.skipUnless(WITH_CODE, "built without nvcc")
    def test_latency(self):
        found, said = self.document("latency", "--lengths-us", "20,300", "--samples", "5")
        self.assertEqual([(row["mode"], row["work_us"]) for row in found["rows"]],
                         [(mode, work) for mode in ("adaptive", "spin", "timer", "host_function", "thread", "flag") for work in (20, 300)])
        for row in found["rows"]:
            self.assertEqual(row["samples"], 5)
            self.assertLessEqual(row["latency_us"]["p50"], row["latency_us"]["p99"])
            self.assertIn(row["mode"], said)
            self.assertGreater(row["launches_per_s"], 0)
            self.assertGreater(row["launches_per_s_alone"], 0)

    @unittest.skipUnless(WITH_CODE, "built without nvcc")
    def test_overlap_of_a_rank_with_a_device_and_one_without(self):
        with tempfile.TemporaryDirectory() as folder:
            drawing = pathlib.Path(folder, "step.svg")
            found, said = self.document("overlap", "--layers", "3", "--buckets", "64KiB,300000", "--chunk", "32KiB", "--steps", "2", "--matrix",
                                        "16", "--svg", str(drawing), ranks=2)
            svg = xml.etree.ElementTree.parse(drawing).getroot()
        self.assertEqual([row["bucket_bytes"] for row in found["rows"]], [65536, 300000])
        self.assertIn("rank 1", found["engine"])  # why it is staged
        for row in found["rows"]:
            self.assertEqual(row["wrong"], 0)
            for variant in ("computing", "communication", "serial", "overlapped", "ordered", "hand_written"):
                self.assertGreater(row[variant]["step_ms"]["least"], 0)
                self.assertIn(variant, said)
            self.assertEqual(len(row["trace"]["all_reduce"]), 3)
        titles = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual([text.split(":")[0] for text in titles], ["layer 0", "layer 1", "layer 2", "bucket 0", "bucket 1", "bucket 2"])

    def test_nccl(self):
        found, said = self.document("nccl", "--bytes", "4,4KiB", "--times", "20")
        self.assertIn("NCCL", found["engine"])
        self.assertEqual({(row["caller"], row["op"], row["bytes"], row["window"]) for row in found["rows"]},
                         {(who, op, size, window) for who in ("library", "blocking", "non_blocking") for op in ("avg", "premul_sum")
                          for size in (4, 4096) for window in (1, 16)})
        for row in found["rows"]:
            self.assertEqual(row["wrong"], 0)
        self.assertIn("ops/s", said)


class Refusals(unittest.TestCase):
    def told(self, done, code, words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_without_a_device(self):
        for part in ("latency", "nccl"):
            self.told(bench(part, env=WITHOUT_DEVICES), 3, "/nowhere/libcuda.so.1 cannot be loaded")
        done = bench("overlap", ranks=2, env=WITHOUT_DEVICES)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("rank 0: ", done.stderr)
        self.assertIn("/nowhere/libcuda.so.1 cannot be loaded", done.stderr)

    def test_a_device_that_is_not_there(self):
        self.told(bench("nccl", "--device", "7"), 3, "there is no device 7")

    @unittest.skipIf(WITH_CODE, "built with nvcc")
    def test_without_device_code(self):
        self.told(bench("latency"), 3, "built without nvcc")

    def test_wrong_options(self):
        for words, told in ((["latency", "--modes", "fast"], "not 'fast'"), (["overlap", "--buckets", "2"], "hold no number"),
                            (["overlap", "--launches", "many"], "'many' is neither"), (["latency", "--samples", "0"], "--samples"), ([], "subcommand")):
            done = bench(*words)
            self.told(done, 2, told)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        self.told(bench("overlap"), 2, "two ranks or more")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
