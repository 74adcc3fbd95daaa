#!/usr/bin/env python3
"""digits --device with the simulator for a driver and a library, and without: what is trained there is what is trained on the host, and
who cannot train says why."""

import json
import os
import subprocess
import sys
import tempfile

TUTTI_TEST_RUN, DIGITS, HAS_CODE, HAS_GPU = sys.argv[1], sys.argv[2], sys.argv[3] == "true", sys.argv[4] == "true"


def run(ranks, arguments, **environment):
    command = ([TUTTI_TEST_RUN, "-n", str(ranks), "--"] if ranks > 1 else []) + [DIGITS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False)


def expect(claim, seen):
    if not claim:
        sys.exit(f"unexpected:\n{seen}")


def curve(ranks, *arguments, **environment):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "curve.json")
        done = run(ranks, ["--epochs", "2", "--json", file, *arguments], **environment)
        expect(done.returncode == 0, done)
        with open(file, encoding="utf-8") as text:
            return json.load(text), done.stdout


def check_alike(one, other):
    for mine, theirs in zip(one["epochs"], other["epochs"], strict=True):
        expect(abs(mine["loss"] - theirs["loss"]) < 1e-3 * theirs["loss"], (mine, theirs))
        expect(abs(mine["accuracy"] - theirs["accuracy"]) < 0.02, (mine, theirs))
    expect(one["identical"] is True, one)


def check_reason(done, words):
    expect(done.returncode == 3, done)
    expect("digits: " in done.stderr + done.stdout and words in done.stderr + done.stdout, done)


def main():
    if not HAS_GPU:
        check_reason(run(1, ["--device"]), "there is no device to train on: this program was built without the headers of CUDA and NCCL")
        return
    nothing = {"TUTTI_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}
    check_reason(run(1, ["--device"], **nothing), "there is no device to train on: ")
    check_reason(run(1, ["--device"], **nothing), "/nowhere/libcuda.so.1")
    if not HAS_CODE:
        check_reason(run(1, ["--device"]), "there is no code for the device: network.cu is not in this program: it was built without nvcc")
        return
    on_host, _ = curve(1)
    on_device, said = curve(1, "--device")
    check_alike(on_device, on_host)
    expect("over NCCL " in said, said)
    # Simulated ranks of several processes share no NCCL.
    staged, said = curve(2, "--device", TUTTI_SIM_DEVICES="2", TUTTI_NCCL_LIBRARY="/nowhere/libnccl.so.2")
    check_alike(staged, on_host)
    expect("over staged through memory of the hosts" in said, said)


main()
